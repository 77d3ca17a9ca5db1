/**
 * Tools from an MCP server that runs as a child process. The server is shown and pinned, and each call asks until
 * the server is trusted. Once for one agent, and once as a plugin for all agents of an engine.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createAgent, createEngine } from "pawl";
import { createScriptedModel } from "pawl/testing";
import { connectMcpServer, createMcpPlugin, type McpServerOptions } from "pawl/tools/mcp";

writeFileSync("note.txt", "The rent is due on Friday.");
const program = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-filesystem/dist/index.js");
const server: McpServerOptions = {
  name: "files",
  transport: { type: "stdio", command: process.execPath, args: [program, process.cwd()] },
};

// The first time: somebody looks at the server's command and its tools. Every call asks.
const first = await connectMcpServer(server);
console.log("the server is", first.command);
console.log("it offers", first.tools.map((tool) => tool.name).join(", "));
const pins = first.pins();
await first.close();

// From then on the server is trusted, as long as its command and tools do not change.
const trusted = await connectMcpServer({ ...server, trust: "all", pins });
assert.deepEqual(trusted.changed(), []);
const model = createScriptedModel([
  { calls: [{ name: "files_read_text_file", input: { path: `${process.cwd()}/note.txt` } }] },
  { text: "It is due on Friday." },
]);
const result = await createAgent({ model, tools: trusted.tools }).run("When is the rent due?");
console.log(result.status, "-", result.text);
assert.equal(result.status, "completed");
assert.match(JSON.stringify(model.requests.at(-1)?.messages), /The rent is due on Friday/);
await trusted.close();

// The same for all agents of an engine. The engine connects the servers, and closes them at its shutdown.
const engine = await createEngine({
  plugins: [
    createMcpPlugin({
      servers: [{ ...server, trust: "hints", pins }],
      onConnect: ({ command, problems }) => console.log("connected", command, problems),
    }),
  ],
  agents: [
    {
      name: "writer",
      model: createScriptedModel([
        { calls: [{ name: "files_read_text_file", input: { path: `${process.cwd()}/note.txt` } }] },
        { calls: [{ name: "files_write_file", input: { path: `${process.cwd()}/note.txt`, content: "Paid." } }] },
      ]),
    },
  ],
});
// The server calls one tool read-only, but not the other: a call of the other asks a person.
const asking = await engine.agent("writer").run("Pay the rent.");
assert.equal(asking.status === "awaiting_human" && asking.approvals[0]?.name, "files_write_file");
await engine.shutdown();
