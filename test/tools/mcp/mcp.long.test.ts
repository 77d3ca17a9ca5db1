/**
 * Published MCP servers, and one that behaves badly, as real child processes.
 */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type AnyTool, createAgent, createMemoryStore } from "../../../src/index.js";
import { createScriptedModel, type ScriptedCall } from "../../../src/testing/scripted-model.js";
import { connectMcpServer, type McpServer, type McpServerOptions } from "../../../src/tools/mcp/index.js";
import { resolveCheckTool } from "../../support/check-tools.js";
import { verifies } from "../../verifies.js";
import { createTempFolder } from "../folder.js";
import { startEverythingServer } from "./mcp-servers.js";

const node = process.execPath;
const published = (name: string) => resolveCheckTool(`@modelcontextprotocol/server-${name}/dist/index.js`);
const badServer = resolve("test/fixtures/mcp-server.mjs");

async function connect(options: Partial<McpServerOptions> & Pick<McpServerOptions, "transport">): Promise<McpServer> {
  const server = await connectMcpServer({ name: "s", trust: "all", ...options });
  onTestFinished(server.close);
  return server;
}

const started = (script: string, ...args: readonly string[]) =>
  ({ type: "stdio", command: node, args: [script, ...args] }) as const;
const bad = (options: Partial<McpServerOptions> = {}, ...args: readonly string[]) =>
  connect({ name: "bad", transport: started(badServer, ...args), ...options });

/** What a model is shown of calls, one a step. */
async function callAll(tools: readonly AnyTool[], calls: readonly ScriptedCall[], store = createMemoryStore()) {
  const model = createScriptedModel([...calls.map((call) => ({ calls: [call] })), { text: "Done." }]);
  const result = await createAgent({ model, tools, store }).run("Go", { sessionId: "s" });
  const shown = (model.requests.at(-1)?.messages ?? []).flatMap((message) =>
    message.role === "tool" ? message.parts.map(({ output }) => output) : [],
  );
  return { result, shown };
}

async function textOf(
  tools: readonly AnyTool[],
  name: string,
  input: NonNullable<ScriptedCall["input"]> = {},
): Promise<string> {
  const { shown } = await callAll(tools, [{ name, input }]);
  const [output] = shown;
  return output?.type === "text" ? output.text : JSON.stringify(output);
}

test("what a program writes to its standard error is told, and no character is cut", verifies("PLUG-3"), async () => {
  const heard = join(createTempFolder(), "heard");
  const inHalves = `import { existsSync } from "node:fs";
    process.stderr.write(Buffer.from("naïve").subarray(0, 3));
    while (!existsSync(${JSON.stringify(heard)})) await new Promise((done) => setTimeout(done, 5));
    process.stderr.write(Buffer.from("naïve").subarray(3));
    await import(${JSON.stringify(badServer)});`;
  let written = "";
  await connect({
    transport: { type: "stdio", command: node, args: ["--input-type=module", "--eval", inHalves] },
    onStderr(text) {
      written += text;
      writeFileSync(heard, "");
    },
  });
  await expect.poll(() => written).toBe("naïve");
});

test(
  "an attempt to connect ends with its signal, and so does the program that was started for it",
  verifies("PLUG-3"),
  async () => {
    const silent = `process.stdin.resume(); console.error(process.pid);`;
    const stop = new AbortController();
    let pid = 0;
    const attempt = connect({
      transport: { type: "stdio", command: node, args: ["--eval", silent] },
      signal: stop.signal,
      onStderr(text) {
        pid = Number(text);
        stop.abort(new Error("nobody waits any more"));
      },
    });
    await expect(attempt).rejects.toThrow('The MCP server "s" cannot be reached (nobody waits any more)');
    await expect.poll(() => isAlive(pid)).toBe(false);
  },
);

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("published servers", () => {
  test("server-filesystem reads and writes in its folder", verifies("PLUG-3"), async () => {
    const folder = createTempFolder();
    writeFileSync(join(folder, "a.txt"), "one\ntwo\n");
    const { tools, problems } = await connect({ transport: started(published("filesystem"), folder) });
    expect(problems).toEqual([]);
    expect(await textOf(tools, "s_read_text_file", { path: join(folder, "a.txt") })).toBe("one\ntwo\n");
    await textOf(tools, "s_write_file", { path: join(folder, "b.txt"), content: "three" });
    expect(readFileSync(join(folder, "b.txt"), "utf8")).toBe("three");
    expect(await textOf(tools, "s_read_text_file", { path: "/etc/passwd" })).toMatch(/^Error: .*denied/);
  });

  test("what a server gives in megabytes is cut, kept whole, and read further", verifies("TOOL-9"), async () => {
    const folder = createTempFolder();
    const lines = Array.from({ length: 100_000 }, (_, n) => `entry ${n} of the log, größer`);
    const text = lines.join("\n");
    writeFileSync(join(folder, "log.txt"), text);
    const { tools } = await connect({ transport: started(published("filesystem"), folder) });
    const output = 6;
    const store = createMemoryStore();
    const calls = [
      { name: "s_read_text_file", input: { path: join(folder, "log.txt") } },
      { name: "search_output", input: { output, text: "entry 77777 " } },
      { name: "read_output", input: { output, fromLine: 77_777, toLine: 77_779 } },
    ];
    const { result, shown } = await callAll(tools, calls, store);
    expect(result).toMatchObject({ status: "completed" });
    const whole = await store.getBlob("s", createHash("sha256").update(text).digest("hex"));
    expect(whole).toHaveLength(Buffer.byteLength(text));
    const [cut = "", found, read] = shown.map((one) => (one.type === "text" ? one.text : ""));
    expect(cut.length).toBeLessThan(52_000);
    expect(cut.startsWith(`${lines[0]}\n${lines[1]}\n`)).toBe(true);
    expect(cut).toContain(`\n${lines.at(-1)}\n[The whole is kept as output ${output}:`);
    expect(found).toContain(`line 77778: ${lines[77_777]}`);
    expect(read?.split("\n").slice(1, 4)).toEqual(lines.slice(77_776, 77_779));
  });

  test("server-memory remembers within its file", verifies("PLUG-3"), async () => {
    const file = join(createTempFolder(), "memory.jsonl");
    const transport = { ...started(published("memory")), env: { MEMORY_FILE_PATH: file } };
    const { tools, command } = await connect({ transport });
    expect(command).toContain("MEMORY_FILE_PATH");
    expect(command).not.toContain(file);
    const entities = [{ name: "Ada", entityType: "person", observations: ["wrote the first program"] }];
    await callAll(tools, [{ name: "s_create_entities", input: { entities } }]);
    expect(await textOf(tools, "s_search_nodes", { query: "program" })).toContain("Ada");
  });

  test("server-everything gives text, images, resources and structures", verifies("PLUG-3"), async () => {
    const { tools } = await connect({ transport: started(published("everything")) });
    const { shown } = await callAll(tools, [
      { name: "s_echo", input: { message: "hi" } },
      { name: "s_get-tiny-image" },
      { name: "s_get-resource-reference", input: { resourceType: "Text", resourceId: 1 } },
      { name: "s_get-structured-content", input: { location: "New York" } },
    ]);
    expect(shown[0]).toEqual({ type: "text", text: "Echo: hi" });
    const image = { type: "file", mediaType: "image/png", data: expect.stringMatching(/^iVBOR/) };
    expect(shown[1]).toMatchObject({ type: "content", parts: expect.arrayContaining([image]) });
    expect(JSON.stringify(shown[2])).toContain("Resource 1");
    expect(JSON.stringify(shown[3])).toContain("conditions");
  });

  test("server-everything over HTTP", verifies("PLUG-3"), async () => {
    const url = await startEverythingServer();
    const { tools, command } = await connect({ transport: { type: "http", url } });
    expect(command).toBe(url);
    expect(await textOf(tools, "s_get-sum", { a: 2, b: 40 })).toContain("42");
  });

  test("a call that is aborted ends at the server too", async () => {
    const { tools } = await connect({ transport: started(published("everything")) });
    const controller = new AbortController();
    const model = createScriptedModel([
      { calls: [{ name: "s_trigger-long-running-operation", input: { duration: 600, steps: 6_000 } }] },
    ]);
    const run = createAgent({ model, tools }).runStream("Go", { signal: controller.signal });
    for await (const item of run) if (item.type === "progress") controller.abort();
    expect(await run.result).toMatchObject({ status: "aborted" });
  });
});

describe("a server that behaves badly", () => {
  test("dies in a call: an error result with its last words, and the next call starts it again", async () => {
    const { tools } = await bad();
    const { result, shown } = await callAll(tools, [
      { name: "bad_die" },
      { name: "bad_echo", input: { text: "still here" } },
    ]);
    expect(result).toMatchObject({ status: "completed", text: "Done." });
    expect(JSON.stringify(shown[0])).toMatch(/Error: .*"bad\\".* gave no result.*outcome is unknown.*out of memory/);
    expect(shown[1]).toEqual({ type: "text", text: '{"text":"still here"}' });
  });

  test("floods: an error result, and the next call works", async () => {
    const { tools } = await bad();
    const { shown } = await callAll(tools, [{ name: "bad_flood" }, { name: "bad_echo", input: { n: 1 } }]);
    expect(JSON.stringify(shown[0])).toMatch(/Error: /);
    expect(shown[1]).toEqual({ type: "text", text: '{"n":1}' });
  });

  test("answers nonsense: an error result", async () => {
    const { tools } = await bad();
    const { shown } = await callAll(tools, [{ name: "bad_nonsense" }, { name: "bad_garbage" }]);
    expect(JSON.stringify(shown[0])).toMatch(/Error: /);
    expect(shown[1]).toEqual({ type: "text", text: "after all" });
  });

  test("lists what cannot be used: it is left out and named, the rest has names that providers take", async () => {
    const { tools, problems } = await bad({}, "odd");
    const names = tools.map((tool) => tool.name);
    expect(names).toHaveLength(5);
    for (const name of names) expect(name).toMatch(/^bad_[a-zA-Z0-9_-]{1,60}$/);
    expect(problems.join("\n")).toMatch(/"proto" is left out.*"huge" is left out.*"twice" is left out/s);
    expect(tools.find((tool) => tool.name === "bad_long")?.description.length).toBeLessThan(20_000);
    expect(JSON.stringify(tools.map((tool) => tool.input))).not.toContain("__proto__");
    expect(await textOf(tools, names[0] ?? "")).toBe("{}");
  });

  test("lists a thousand tools: the first 256 are taken, or those that are named", async () => {
    const first = await bad({}, "many");
    expect(first.tools).toHaveLength(256);
    expect(first.problems.join()).toContain("1000 tools");
    const chosen = await bad({ tools: ["tool999", "none"] }, "many");
    expect(chosen.tools.map((tool) => tool.name)).toEqual(["bad_tool999"]);
    expect(chosen.problems).toEqual(['The server has no tool "none".']);
  });

  test("is not there, or is no server", async () => {
    await expect(connect({ transport: { type: "stdio", command: "/no/such/program" } })).rejects.toThrow(
      /"s" cannot be reached .*ENOENT/,
    );
    const silent = {
      type: "stdio",
      command: node,
      args: ["-e", "console.error('wrong door'); process.exit(3)"],
    } as const;
    await expect(connect({ transport: silent })).rejects.toThrow(/cannot be reached.*wrong door/s);
  });
});

describe("a server is a stranger", () => {
  const isAsked = async (server: McpServer, name: string) => {
    const { result } = await callAll(server.tools, [{ name }]);
    return result.status === "awaiting_human";
  };

  test("its calls are asked for, unless the user says that it is trusted", verifies("SEC-10"), async () => {
    const distrusted = await bad({ trust: "ask" });
    expect(await isAsked(distrusted, "bad_look")).toBe(true);
    const hinted = await bad({ trust: "hints" });
    expect(await isAsked(hinted, "bad_look")).toBe(false);
    expect(await isAsked(hinted, "bad_echo")).toBe(true);
    expect(await isAsked(await bad(), "bad_echo")).toBe(false);
  });

  test("a tool that changes is asked for again, in mid-connection", verifies("SEC-10"), async () => {
    const server = await bad();
    expect(await isAsked(server, "bad_echo")).toBe(false);
    await callAll(server.tools, [{ name: "bad_change" }]);
    await vi.waitFor(() => expect(server.changed()).toEqual(["echo"]));
    expect(await isAsked(server, "bad_echo")).toBe(true);
    expect(await isAsked(server, "bad_environment")).toBe(false);
  });

  test(
    "a tool that has changed since it was pinned is asked for, and one that is new",
    verifies("SEC-10"),
    async () => {
      const pins = (await bad()).pins();
      const { echo: _echo, look, ...others } = pins.tools;
      const known = { ...others, look: look ?? "" };
      const same = await bad({ pins });
      expect(same.changed()).toEqual([]);
      const changed = await bad({ pins: { ...pins, tools: known } });
      expect(changed.changed()).toEqual(["echo"]);
      expect(await isAsked(changed, "bad_echo")).toBe(true);
      expect(await isAsked(changed, "bad_look")).toBe(false);
    },
  );

  test("the whole command is shown, and another one than was pinned is refused", verifies("SEC-10"), async () => {
    const server = await bad({}, "odd", "a b", "\u202egnp.exe\n");
    expect(server.command).toBe(`${node} ${badServer} odd "a b" "\\u{202e}gnp.exe\\n"`);
    const pins = server.pins();
    await expect(bad({ pins }, "odd", "a b", "other")).rejects.toMatchObject({
      code: "mcp_server_changed",
      message: expect.stringContaining('odd "a b" other'),
    });
  });

  test("it gets no more of the environment than it needs", verifies("SEC-10"), async () => {
    vi.stubEnv("A_SECRET_KEY", "secret");
    onTestFinished(() => void vi.unstubAllEnvs());
    const { tools } = await bad({ transport: { ...started(badServer), env: { GIVEN: "1" } } });
    const names = (await textOf(tools, "bad_environment")).split(" ");
    expect(names).toContain("GIVEN");
    expect(names).not.toContain("A_SECRET_KEY");
  });

  test("a name or an address that cannot be used is refused", async () => {
    const refused = { code: "bad_configuration" };
    await expect(connect({ name: "a b", transport: started(badServer) })).rejects.toMatchObject(refused);
    await expect(connect({ transport: { type: "http", url: "file:///etc/passwd" } })).rejects.toMatchObject(refused);
  });
});
