/**
 * Schemas of an MCP server, which is a stranger: a tool that cannot be used is left out, and costs no other tool.
 */
import { resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createAgent, createEngine } from "../../../src/index.js";
import { createScriptedModel } from "../../../src/testing/scripted-model.js";
import { connectMcpServer, createMcpPlugin, type McpServerOptions } from "../../../src/tools/mcp/index.js";
import { verifies } from "../../verifies.js";

const hostile: McpServerOptions = {
  name: "s",
  transport: { type: "stdio", command: process.execPath, args: [resolve("test/fixtures/mcp-server.mjs"), "hostile"] },
  trust: "all",
};

const leftOut = [
  /"deep" is left out: .*nested deeper than 64 levels/,
  /"bottomless" is left out: .*nested deeper than 64 levels/,
  /"large" is left out: .*(larger than|out of bounds)/,
  /"list" is left out: .*not that of an object/,
  /"none" is left out: .*input schema/,
  /"odd" is left out: its description is no text/,
  /"" is left out: it has no name/,
  /"" is left out: it has no name/,
];

test("only the tools that cannot be used are left out", verifies("SEC-10", "SEC-15"), async () => {
  const server = await connectMcpServer(hostile);
  onTestFinished(server.close);
  expect(server.problems).toEqual(leftOut.map((problem) => expect.stringMatching(problem)));
  expect(server.tools.map(({ name }) => name)).toEqual(["s_doubling", "s_output", "s_echo"]);
  const model = createScriptedModel([
    {
      calls: [
        { name: "s_doubling", input: { a: 1 } },
        { name: "s_output", input: {} },
        { name: "s_echo", input: { a: 1 } },
      ],
    },
    { text: "Done." },
  ]);
  expect(await createAgent({ model, tools: server.tools }).run("Go")).toMatchObject({ status: "completed" });
  expect(model.requests[1]?.messages.at(-1)).toMatchObject({
    parts: [
      { isError: true, output: { text: expect.stringContaining("took longer than") } },
      { output: { text: "{}" } },
      { output: { text: '{"a":1}' } },
    ],
  });
});

test("a plugin warns of them, by name", verifies("SEC-10"), async () => {
  const warnings: string[] = [];
  const hear = (warning: Error) => warnings.push(warning.message);
  process.on("warning", hear);
  onTestFinished(() => void process.off("warning", hear));
  const engine = await createEngine({ plugins: [createMcpPlugin({ servers: [hostile] })], agents: [] });
  onTestFinished(() => engine.shutdown());
  await new Promise(setImmediate);
  expect(warnings.filter((warning) => warning.startsWith('The MCP server "s":'))).toHaveLength(leftOut.length);
});
