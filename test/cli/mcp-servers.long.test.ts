/**
 * Published MCP servers in the command line: added, listed, tested, trusted with a folder, and used by the model.
 */
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { detectSandbox } from "../../src/tools/sandbox/sandbox.js";
import { startProviderServer } from "../models/provider-server.js";
import { resolveCheckTool } from "../support/check-tools.js";
import { openPawl } from "../terminal/pseudo-terminal.js";
import { startLoginServer, visit } from "../tools/login-server.js";
import { startEverythingServer } from "../tools/mcp/mcp-servers.js";
import { verifies } from "../verifies.js";
import { createWorld, parseJsonLines } from "./pawl.js";

const published = (name: string) => resolveCheckTool(`@modelcontextprotocol/server-${name}/dist/index.js`);
/** As a file of servers names it. */
const variable = ["$", "{NOTES}"].join("");
const secret = "hunter2hunter2";

test("pawl mcp adds, lists, tests and removes servers of one's own", verifies("CHAT-4#servers"), async () => {
  const world = createWorld();
  const file = join(world.base, ".config/pawl/mcp.json");
  const memory = ["memory", "--env", `TOKEN=${secret}`, "--", process.execPath, published("memory")];
  expect(await world.pawl(["mcp", "add", ...memory])).toMatchObject({
    code: 0,
    stdout: `Added memory to ${file}.\nTry it: pawl mcp test memory\n`,
  });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect((await world.pawl(["mcp", "add", ...memory])).stderr).toContain("has a server memory already");
  expect((await world.pawl(["mcp", "add", "a b", "--", "x"])).stderr).toContain("cannot be named");
  expect((await world.pawl(["mcp", "add", "broken", "--", "no-such-program"])).code).toBe(0);
  expect((await world.pawl(["mcp", "add", "web", await startEverythingServer()])).code).toBe(0);
  const listed = await world.pawl(["mcp", "list"]);
  expect(listed.stdout).toContain(`memory  ${process.execPath} ${published("memory")} (with TOKEN)  (${file})`);
  const config = await world.pawl(["config"]);
  expect(config.stdout).toContain("mcp  web  http://127.0.0.1:");
  expect(`${listed.stdout}${config.stdout}`).not.toContain(secret);
  const tested = await world.pawl(["mcp", "test", "memory"]);
  expect(tested).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^memory works: \d tools\.\n {2}create_entities/),
  });
  const [web] = parseJsonLines((await world.pawl(["mcp", "test", "web", "--json"])).stdout);
  expect(web).toMatchObject({ ok: true, tools: expect.arrayContaining([expect.objectContaining({ name: "echo" })]) });
  const failed = await world.pawl(["mcp", "test", "broken"]);
  expect(failed).toMatchObject({
    code: 5,
    stderr: expect.stringMatching(/cannot be reached.*Is no-such-program installed.*It runs: no-such-program/s),
  });
  expect((await world.pawl(["mcp", "test", "memry"])).stderr).toContain("Known servers: memory, broken, web");
  expect((await world.pawl(["mcp", "remove", "broken"])).stdout).toContain("Removed broken");
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
    mcpServers: {
      memory: { command: process.execPath, args: [published("memory")], env: { TOKEN: secret } },
      web: { type: "http", url: expect.stringContaining("http") },
    },
  });
});

test("the model finds the tools of servers that take more than a tenth of its window", verifies("COST-5"), async () => {
  const server = await startProviderServer("openai-chat", (_, turn) =>
    turn === 1
      ? { type: "answer", calls: [{ name: "find_tools", input: { query: "read the graph" } }] }
      : { type: "answer", text: "Done." },
  );
  onTestFinished(() => server.close());
  const world = createWorld();
  await world.pawl(["mcp", "add", "memory", "--", process.execPath, published("memory")]);
  const env = { OPENAI_BASE_URL: server.baseURL };
  const run = (window: string) =>
    world.pawl(["run", "--model", "openai-compatible/test", "--context-window", window, "Look"], { env });
  expect(await run("8000")).toMatchObject({ code: 0 });
  expect(await run("200000")).toMatchObject({ code: 0 });
  const [first, second, wide] = server.requests.map(({ body }) => body);
  const namesIn = (body: typeof first) =>
    ((body?.tools ?? []) as readonly { readonly function: { readonly name: string } }[]).map(
      (tool) => tool.function.name,
    );
  expect(namesIn(first)).toContain("find_tools");
  expect(namesIn(first)).not.toContain("mcp__memory__read_graph");
  expect(namesIn(second)).toEqual(namesIn(first));
  expect(JSON.stringify(second?.messages)).toContain("mcp__memory__read_graph");
  expect(namesIn(wide)).toContain("mcp__memory__read_graph");
  expect(namesIn(wide)).not.toContain("find_tools");
});

/** A server of the folder that leaves a trace as soon as it is started. */
const traced = (path: string) =>
  `import { writeFileSync } from "node:fs"; writeFileSync("started", "x"); await import(${JSON.stringify(path)});`;

test(
  "a server of a folder is started once the folder is trusted, and a rule decides about its calls",
  verifies("CHAT-4#servers", "SEC-17#servers"),
  async () => {
    const call = { name: "mcp__notes__create_entities", input: { entities: [] } };
    const server = await startProviderServer("openai-chat", [
      { type: "answer", text: "Nothing to do." },
      { type: "answer", calls: [call] },
      { type: "answer", text: "Denied." },
      { type: "answer", calls: [call] },
      { type: "answer", text: "Kept." },
    ]);
    onTestFinished(() => server.close());
    const world = createWorld({
      "serve.mjs": traced(published("memory")),
      ".mcp.json": JSON.stringify({
        mcpServers: {
          notes: { command: process.execPath, args: ["serve.mjs"], env: { MEMORY_FILE_PATH: variable } },
        },
      }),
    });
    const env = { OPENAI_BASE_URL: server.baseURL, NOTES: join(world.base, "notes.jsonl") };
    const run = (words: readonly string[]) =>
      world.pawl(["run", "--model", "openai-compatible/test", ...words, "go"], { env });
    const isStarted = () => existsSync(join(world.root, "started"));
    const before = await run(["--yes"]);
    expect(before).toMatchObject({ code: 0, stderr: expect.stringContaining("starts the MCP server notes") });
    expect(isStarted()).toBe(false);
    expect(JSON.stringify(server.requests[0]?.body)).not.toContain("mcp__notes");
    expect((await world.pawl(["mcp", "test", "notes"])).stderr).toContain("its file is not trusted: pawl trust");
    const [shown] = parseJsonLines((await world.pawl(["trust", "--show", "--json"])).stdout);
    expect((await world.pawl(["trust", "--hash", shown.hash])).code).toBe(0);
    const asked = await run([]);
    expect(asked.stderr).toContain("denied because nobody could be asked");
    expect(isStarted()).toBe(true);
    expect(JSON.stringify(server.requests[1]?.body)).toContain("mcp__notes__search_nodes");
    const allowed = await run(["--allow", "mcp__notes__*"]);
    expect(allowed).toMatchObject({ code: 0, stdout: expect.stringContaining("Kept.") });
    writeFileSync(join(world.root, "serve.mjs"), `${traced(published("memory"))}//`);
    expect((await world.pawl(["config"])).stderr).toContain("has changed since it was trusted");
  },
);

test(
  "a conversation asks at its start whether to trust a folder, begins without, and takes no key for an answer",
  verifies("SEC-17#servers", "CHAT-4#servers"),
  async () => {
    const server = await startProviderServer("openai-chat", [{ type: "answer", text: "Done." }]);
    onTestFinished(() => server.close());
    const world = createWorld({
      "serve.mjs": traced(published("memory")),
      // Trust ends with any change of the folder's files that Git does not ignore.
      ".gitignore": "started\n",
      ".mcp.json": JSON.stringify({ mcpServers: { notes: { command: process.execPath, args: ["serve.mjs"] } } }),
    });
    const env = { OPENAI_BASE_URL: server.baseURL };
    const isStarted = () => existsSync(join(world.root, "started"));
    const words = ["--model", "openai-compatible/test", "do it"];
    const first = openPawl(world, words, { env });
    await first.sees(/starts the MCP server notes[\s\S]*trust ›[\s\S]*› not now/);
    first.type("\r");
    await first.sees(/Not trusted, so it is off[\s\S]*Done\.[\s\S]*ready/);
    expect(isStarted()).toBe(false);
    first.type("/mcp\r");
    await first.sees("its file is not trusted: pawl trust");
    first.type("/quit\r");
    await first.ended;
    const second = openPawl(world, words.slice(0, 2), { env });
    await second.sees(/› not now/);
    // The server needs a file outside of the folder, so it cannot run in the sandbox, which is offered first.
    const isOffered = detectSandbox() === "bubblewrap";
    if (isOffered)
      await second.sees(/with its MCP servers in the sandbox[\s\S]*with its MCP servers outside of the sandbox/);
    second.type(`${"\x1b[B".repeat(isOffered ? 2 : 1)}\r`);
    await second.sees(/new session[\s\S]*new session[\s\S]*ready/);
    expect(isStarted()).toBe(true);
    second.type("/mcp\r");
    await second.sees(/✓ \d tools[\s\S]*mcp__notes__read_graph/);
    second.type("/quit\r");
    await second.ended;
    const third = openPawl(world, words.slice(0, 2), { env });
    await third.sees("ready");
    third.type("/quit\r");
    await third.ended;
  },
);

test(
  "pawl mcp login prints a page, waits for a person, and is found by later commands",
  verifies("PROT-6#login"),
  async () => {
    const login = await startLoginServer();
    const world = createWorld();
    await world.pawl(["mcp", "add", "web", login.url]);
    const before = await world.pawl(["mcp", "test", "web"]);
    expect(before).toMatchObject({ code: 5, stderr: expect.stringContaining("Log in: pawl mcp login web") });
    expect(login.counts.registrations).toBe(0);
    const running = world.start(["mcp", "login", "web"], { input: "" });
    let shown = "";
    running.child.stderr?.on("data", (bytes) => {
      shown += bytes;
    });
    await running.said(/http:\S+\/authorize\S+/);
    await visit(new URL(/http:\S+\/authorize\S+/.exec(shown)?.[0] ?? ""));
    expect(await running.ended).toMatchObject({ code: 0, stdout: "Logged in to web.\n" });
    const file = join(world.home, "mcp-logins.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await world.pawl(["mcp", "test", "web"])).stdout).toContain("web works: 1 tool.");
    expect((await world.pawl(["mcp", "list"])).stdout).toContain("logged in");
    expect((await world.pawl(["mcp", "logout", "web"])).stdout).toBe("Logged out of web.\n");
    expect((await world.pawl(["mcp", "test", "web"])).code).toBe(5);
    const program = await world
      .pawl(["mcp", "add", "files", "--", "x"])
      .then(() => world.pawl(["mcp", "login", "files"]));
    expect(program.stderr).toContain("nothing to log in to");
  },
);
