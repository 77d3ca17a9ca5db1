/**
 * Several MCP servers, as a service uses them: listed in a file, looked at once, pinned in another file, and asked about
 * again when one of them changes.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createAgent, createEngine } from "pawl";
import { createScriptedModel } from "pawl/testing";
import { connectMcpServer, createMcpPlugin, type McpPins, type McpServerOptions } from "pawl/tools/mcp";

type Pins = { readonly [server: string]: McpPins };

async function readJson<T>(path: string, otherwise: T): Promise<T> {
  return existsSync(path) ? JSON.parse(await readFile(path, "utf8")) : otherwise;
}

/**
 * A command of its own, for a person: it shows each server and what it offers, and pins what was seen. The file of the
 * pins belongs into your repository, where its changes are reviewed.
 */
async function pinServers(servers: readonly McpServerOptions[], path: string): Promise<void> {
  const pins: Record<string, McpPins> = {};
  for (const options of servers) {
    const server = await connectMcpServer(options);
    console.log(`${server.name}: ${server.command}`);
    for (const { name, readOnly } of server.tools) console.log(`  ${name}${readOnly === true ? ", reads only" : ""}`);
    for (const problem of server.problems) console.log(`  left out: ${problem}`);
    pins[options.name] = server.pins();
    await server.close();
  }
  await writeFile(path, JSON.stringify(pins, null, 2));
}

/** What the service starts with. A server without pins asks before each call, as one does whose tools have changed. */
function pinned(servers: readonly McpServerOptions[], pins: Pins): readonly McpServerOptions[] {
  return servers.map((server) => {
    const known = pins[server.name];
    return known === undefined ? { ...server, trust: "ask" } : { ...server, pins: known };
  });
}

// The service: one plugin for all agents. A server that dies in a call is started again for the next one.
async function createService(servers: readonly McpServerOptions[], pins: Pins, model: ReturnType<typeof readsNote>) {
  const warnings: string[] = [];
  const plugin = createMcpPlugin({
    servers: pinned(servers, pins),
    onConnect(server) {
      warnings.push(...server.problems, ...server.changed().map((tool) => `${server.name} has changed ${tool}`));
    },
  });
  const engine = await createEngine({ plugins: [plugin], agents: [{ name: "office", model }] });
  return { engine, warnings };
}

const readsNote = (folder: string) =>
  createScriptedModel(({ messages }) =>
    messages.at(-1)?.role === "tool"
      ? { text: "The rent is due on Friday." }
      : { calls: [{ name: "notes_read_text_file", input: { path: `${folder}/note.txt` } }] },
  );

// The check, with a published server. In your service the list is a file, too.
const folder = `${process.cwd()}/notes`;
await mkdir(folder);
await writeFile(`${folder}/note.txt`, "The rent is due on Friday.");
const program = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-filesystem/dist/index.js");
const servers: readonly McpServerOptions[] = [
  {
    name: "notes",
    transport: { type: "stdio", command: process.execPath, args: [program, folder] },
    trust: "hints", // tools that the server calls read-only run without a question
    tools: ["read_text_file", "list_directory", "write_file"],
  },
];
await pinServers(servers, "mcp-pins.json");
const pins = await readJson<Pins>("mcp-pins.json", {});

const { engine, warnings } = await createService(servers, pins, readsNote(folder));
const result = await engine.agent("office").run("When is the rent due?");
assert.deepEqual([result.status, warnings], ["completed", []]);
console.log(result.text);
await engine.shutdown();

// The server has another description than the one that somebody has looked at: its call asks.
const others = { ...pins.notes, tools: { ...pins.notes?.tools, read_text_file: "another hash" } };
const changed = await createService(servers, { notes: others as McpPins }, readsNote(folder));
const asking = await changed.engine.agent("office").run("When is the rent due?");
assert.equal(asking.status, "awaiting_human");
console.log(changed.warnings.join("\n"));
assert.equal(changed.warnings.length, 1);
await changed.engine.shutdown();

// Another command is refused: nobody has looked at that program.
const swapped = servers.map((server) => ({
  ...server,
  transport: { type: "stdio" as const, command: process.execPath, args: [program, process.cwd()] },
}));
await assert.rejects(createService(swapped, pins, readsNote(folder)), { code: "mcp_server_changed" });

// One server for one agent needs no engine.
const server = await connectMcpServer({ ...pinned(servers, pins)[0], name: "notes" } as McpServerOptions);
const one = await createAgent({ model: readsNote(folder), tools: server.tools }).run("When is the rent due?");
assert.equal(one.status, "completed");
await server.close();
