/**
 * MCP servers as a plugin of an engine: published servers as real child processes, over standard input and output and over HTTP.
 */
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createEngine, type Engine, type EngineAgent, type Plugin } from "../../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../../src/testing/scripted-model.js";
import { createMcpPlugin, type McpPins, type McpServer } from "../../../src/tools/mcp/index.js";
import { resolveCheckTool } from "../../support/check-tools.js";
import { verifies } from "../../verifies.js";
import { createTempFolder } from "../folder.js";
import { startEverythingServer } from "./mcp-servers.js";

const published = (name: string) => resolveCheckTool(`@modelcontextprotocol/server-${name}/dist/index.js`);
const started = (script: string, ...args: readonly string[]) =>
  ({ type: "stdio", command: process.execPath, args: [script, ...args] }) as const;
const badServer = resolve("test/fixtures/mcp-server.mjs");

async function open(plugin: Plugin, agents: readonly EngineAgent[]): Promise<Engine> {
  const engine = await createEngine({ plugins: [plugin], agents });
  onTestFinished(() => engine.shutdown());
  return engine;
}

const calling = (name: string, input = {}): readonly ScriptedStep[] => [
  { calls: [{ name, input }] },
  { text: "Done." },
];

const isOpen = (server: McpServer | undefined) =>
  Promise.resolve(server?.tools[0]?.execute?.({}, { progress: () => {} } as never)).then(
    () => true,
    (error: Error) => !error.message.includes("was closed"),
  );

test(
  "servers over standard input and HTTP give their tools to every agent, each trusted by itself",
  verifies("PLUG-3"),
  async () => {
    const folder = createTempFolder();
    const note = join(folder, "note.txt");
    writeFileSync(note, "The rent is due.");
    const shown: string[] = [];
    const reader = createScriptedModel(calling("files_read_text_file", { path: note }));
    const adder = createScriptedModel(calling("all_get-sum", { a: 2, b: 40 }));
    const engine = await open(
      createMcpPlugin({
        servers: [
          { name: "files", transport: started(published("filesystem"), folder), trust: "all" },
          { name: "all", transport: { type: "http", url: await startEverythingServer() }, trust: "ask" },
        ],
        onConnect: ({ command }) => void shown.push(command),
      }),
      [
        { name: "reader", model: reader },
        { name: "adder", model: adder },
      ],
    );
    expect(shown).toEqual([expect.stringContaining("server-filesystem"), expect.stringMatching(/^http:.*\/mcp$/)]);

    expect(await engine.agent("reader").run("Read it.")).toMatchObject({ status: "completed" });
    expect(JSON.stringify(reader.requests.at(-1)?.messages)).toContain("The rent is due.");

    const asked = await engine.agent("adder").run("Add.", { sessionId: "s" });
    if (asked.status !== "awaiting_human") throw new Error(asked.status);
    const [approval] = asked.approvals;
    if (approval === undefined) throw new Error("nothing is asked");
    const session = engine.agent("adder").session("s");
    await session.answer(approval.callKey, { type: "approve" });
    expect(await session.resume()).toMatchObject({ status: "completed" });
    expect(JSON.stringify(adder.requests.at(-1)?.messages)).toContain("42");
  },
);

test("servers are closed at the shutdown", verifies("PLUG-3"), async () => {
  const servers: McpServer[] = [];
  const plugin = createMcpPlugin({
    servers: ["one", "two"].map((name) => ({ name, transport: started(badServer) })),
    onConnect: (server) => void servers.push(server),
  });
  const engine = await open(plugin, []);
  expect(await Promise.all(servers.map(isOpen))).toEqual([true, true]);
  await engine.shutdown();
  expect(await Promise.all(servers.map(isOpen))).toEqual([false, false]);
});

test(
  "one that cannot be reached, that changed or that nobody wants closes the others, and there is no engine",
  verifies("PLUG-3"),
  async () => {
    const servers: McpServer[] = [];
    const good = { name: "good", transport: started(badServer) } as const;
    const onConnect = (server: McpServer) => void servers.push(server);
    const missing = { name: "missing", transport: { type: "stdio", command: "/no/such/program" } } as const;
    await expect(open(createMcpPlugin({ servers: [good, missing], onConnect }), [])).rejects.toMatchObject({
      code: "plugin_failed",
      message: expect.stringMatching(
        /The plugin "mcp" could not be set up: The MCP server "missing" cannot be reached/,
      ),
    });
    expect(servers).toEqual([]);

    const pins: McpPins = { server: "another", tools: {} };
    await expect(
      open(createMcpPlugin({ servers: [good, { ...good, name: "pinned", pins }] }), []),
    ).rejects.toMatchObject({
      code: "mcp_server_changed",
    });

    const refusing = createMcpPlugin({
      servers: [good, { ...good, name: "other" }],
      onConnect(server) {
        servers.push(server);
        if (server.name === "other") throw new Error("nobody has looked at it");
      },
    });
    await expect(open(refusing, [])).rejects.toMatchObject({
      code: "plugin_failed",
      message: expect.stringContaining("nobody has looked at it"),
    });
    expect(await Promise.all(servers.map(isOpen))).toEqual([false, false]);
  },
);

test("pins are kept by whoever looks at a server, and hold the next time", verifies("PLUG-3", "SEC-10"), async () => {
  const kept = new Map<string, McpPins>();
  const first = createMcpPlugin({
    servers: [{ name: "bad", transport: started(badServer), trust: "all" }],
    onConnect: (server) => void kept.set(server.name, server.pins()),
  });
  await (await open(first, [])).shutdown();

  const pins = kept.get("bad");
  if (pins === undefined) throw new Error("nothing was kept");
  const { echo: _, ...others } = pins.tools;
  const second = createMcpPlugin({
    servers: [{ name: "bad", transport: started(badServer), trust: "all", pins: { ...pins, tools: others } }],
  });
  const agents = ["bad_echo", "bad_look"].map((name) => ({ name, model: createScriptedModel(calling(name)) }));
  const engine = await open(second, agents);
  expect((await engine.agent("bad_echo").run("Go")).status).toBe("awaiting_human");
  expect((await engine.agent("bad_look").run("Go")).status).toBe("completed");
});

test("two servers of one name are refused", async () => {
  const server = { name: "a", transport: started(badServer) } as const;
  expect(() => createMcpPlugin({ servers: [server, server] })).toThrow('Two MCP servers are named "a"');
});
