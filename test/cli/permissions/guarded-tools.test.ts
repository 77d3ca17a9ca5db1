/**
 * Tools that are held to what was permitted while they work, and the rule that the log keeps.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createGuardedTools } from "../../../src/cli/permissions/guarded-tools.js";
import { createPermissions, type Permissions } from "../../../src/cli/permissions/permissions.js";
import { createTopSessions } from "../../../src/cli/permissions/top-sessions.js";
import { createAgent, createMemoryStore, defineTool, type Json, type Permission } from "../../../src/index.js";
import { createScriptedModel } from "../../../src/testing/index.js";
import { createFetchTool } from "../../../src/tools/index.js";
import { createDeferred } from "../../support/agents.js";
import { verifies } from "../../verifies.js";

function folder() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "pawl-guarded-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const root = join(base, "root");
  mkdirSync(join(root, "src"), { recursive: true });
  mkdirSync(join(root, "hooks"));
  return { base, root };
}

function createTools(permissions: Permissions) {
  const store = createMemoryStore();
  const topSessions = createTopSessions(store);
  const { tools, createPermissionCheck } = createGuardedTools({ permissions, protect: [], store, topSessions });
  return { tools, canExecuteTool: createPermissionCheck("ask") };
}

async function runWith(
  root: string,
  base: string,
  calls: readonly { name: string; input: Json }[],
  between: () => void,
) {
  const permissions = createPermissions({
    allowAll: false,
    root,
    home: join(base, "home"),
    environment: { XDG_CONFIG_HOME: join(base, "config") },
    allow: ["write_file(src/**)"],
    deny: ["read_file(hooks/**)"],
  });
  const { tools, canExecuteTool } = createTools(permissions);
  const agent = createAgent({
    name: "a",
    store: createMemoryStore(),
    model: createScriptedModel([{ calls: [...calls] }, { text: "Done." }]),
    tools,
    canExecuteTool: async (call, context) => {
      const decided = await canExecuteTool(call, context);
      between();
      return decided;
    },
  });
  const stream = agent.runStream("go", { interactive: false });
  const outputs: string[] = [];
  for await (const item of stream) if (item.type === "tool_result") outputs.push(JSON.stringify(item.output));
  return outputs;
}

test("a link that is put in a file's place after the decision ends the call", verifies("CHAT-2#rules"), async () => {
  const { base, root } = folder();
  mkdirSync(join(root, "other"));
  const write = { name: "write_file", input: { path: "src/a.txt", content: "new" } };
  const swap = () => {
    renameSync(join(root, "src"), join(root, "old"));
    symlinkSync(join(root, "other"), join(root, "src"));
  };
  const [output] = await runWith(root, base, [write], swap);
  expect(output).toContain("may not be used");
  expect(() => readFileSync(join(root, "other/a.txt"))).toThrow("ENOENT");
});

test("sessions whose runs have the same id keep the decided paths of their calls apart", async () => {
  const { base, root } = folder();
  const permissions = createPermissions({
    allowAll: false,
    root,
    home: join(base, "home"),
    environment: { XDG_CONFIG_HOME: join(base, "config") },
    allow: ["write_file(src/**)"],
  });
  const { tools, canExecuteTool } = createTools(permissions);
  const bothDecided = createDeferred();
  let decisions = 0;
  const agent = createAgent({
    name: "a",
    store: createMemoryStore(),
    model: createScriptedModel(({ sessionId, modelCallIndex }) =>
      modelCallIndex > 1
        ? { text: "Done." }
        : { calls: [{ name: "write_file", input: { path: `src/${sessionId}.txt`, content: sessionId } }] },
    ),
    tools,
    canExecuteTool: async (call, context) => {
      const decided = await canExecuteTool(call, context);
      decisions += 1;
      if (decisions === 2) bothDecided.resolve();
      await bothDecided.promise;
      return decided;
    },
  });
  await Promise.all(["ann", "bob"].map((sessionId) => agent.run("go", { sessionId, runId: "1", interactive: false })));
  expect(["ann", "bob"].map((name) => readFileSync(join(root, `src/${name}.txt`), "utf8"))).toEqual(["ann", "bob"]);
});

test(
  "a call whose path a person has changed writes the file that the person named",
  verifies("CHAT-2#rules"),
  async () => {
    const { base, root } = folder();
    const permissions = createPermissions({
      ...{ allowAll: false, root, home: join(base, "home") },
      environment: { XDG_CONFIG_HOME: join(base, "config") },
      deny: ["write_file(hooks/**)"],
    });
    const { tools, canExecuteTool } = createTools(permissions);
    const call = { name: "write_file", input: { path: "src/a.txt", content: "new" } };
    const agent = createAgent({
      ...{ name: "a", store: createMemoryStore(), tools, canExecuteTool },
      model: createScriptedModel([{ calls: [call, call] }, { text: "Done." }]),
    });
    expect(await agent.run("go", { sessionId: "s" })).toMatchObject({ status: "awaiting_human" });
    const session = agent.session("s");
    const [first, second] = await session.pendingApprovals();
    const change = (callKey = "", path: string) =>
      session.answer(callKey, { type: "modify", input: { path, content: "new" } });
    await change(first?.callKey, "src/b.txt");
    await change(second?.callKey, "hooks/c.txt");
    expect(await session.resume()).toMatchObject({ status: "completed" });
    expect([readdirSync(join(root, "src")), readdirSync(join(root, "hooks"))]).toEqual([["b.txt"], []]);
  },
);

test("what may not be read is left out of searches and listings", verifies("CHAT-2#rules"), async () => {
  const { base, root } = folder();
  writeFileSync(join(root, "hooks/secret.txt"), "needle");
  writeFileSync(join(root, "src/open.txt"), "needle");
  const calls = [
    { name: "search_files", input: { text: "needle" } },
    { name: "list_files", input: {} },
    { name: "read_file", input: { path: "src/../hooks/secret.txt" } },
  ];
  const outputs = await runWith(root, base, calls, () => {});
  expect(outputs.join("\n")).toContain("src/open.txt");
  expect(outputs.join("\n")).not.toContain("secret");
  expect(outputs.filter((output) => output.includes("denies this"))).toHaveLength(1);
});

test("a redirect that may not be followed names the address", verifies("CHAT-2#rules"), async () => {
  const server = createServer((_, response) => response.writeHead(302, { location: "http://127.0.0.2:1/x" }).end());
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  const asked: string[] = [];
  const fetch = createFetchTool({
    allowAddresses: ["127.0.0.0/8"],
    mayRedirect: ({ to }) => {
      asked.push(to.href);
      return false;
    },
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const agent = createAgent({
    name: "a",
    store: createMemoryStore(),
    model: createScriptedModel([{ calls: [{ name: "fetch_url", input: { url } }] }, { text: "Done." }]),
    tools: [{ ...fetch, needsApproval: false }],
  });
  const outputs: string[] = [];
  for await (const item of agent.runStream("go"))
    if (item.type === "tool_result") outputs.push(JSON.stringify(item.output));
  expect(outputs[0]).toContain("redirects to http://127.0.0.2:1/x, which needs its own permission");
  expect(asked).toEqual(["http://127.0.0.2:1/x"]);
});

const rule = { verdict: "allow", kind: "tool", pattern: "pay", scope: "user" } as const;

test.each([
  ["allow", { verdict: "allow", rule }, { verdict: "allow", rule }],
  [
    "deny",
    { verdict: "deny", reason: "no", rule: { ...rule, verdict: "deny" } },
    { verdict: "deny", rule: { ...rule, verdict: "deny" } },
  ],
  ["a rule of another shape", { verdict: "allow", rule: { ...rule, scope: "moon" } }, { verdict: "deny" }],
] as const)("the log keeps the rule by which a check decides: %s", async (_, given, expected) => {
  const store = createMemoryStore();
  const agent = createAgent({
    name: "a",
    store,
    model: createScriptedModel([{ calls: [{ name: "pay", input: {} }] }, { text: "Done." }]),
    tools: [defineTool({ name: "pay", description: "Pays.", input: { type: "object" }, execute: () => "paid" })],
    canExecuteTool: () => given as Permission,
  });
  await agent.run("go", { sessionId: "s" });
  const decisions = (await store.read("s", 0, 100)).flatMap(({ event }) =>
    event.type === "tool_decided" ? [event.decision] : [],
  );
  expect(decisions).toMatchObject([expected]);
  if (expected.verdict === "deny" && !("rule" in expected)) expect(decisions[0]).not.toHaveProperty("rule");
});

test("a rule for a folder lets nothing be written elsewhere while another process swaps it with a link", {
  timeout: 60_000,
}, async () => {
  const { base, root } = folder();
  mkdirSync(join(root, "lib"));
  const permissions = createPermissions({
    allowAll: false,
    root,
    home: join(base, "home"),
    environment: { XDG_CONFIG_HOME: join(base, "config") },
    allow: ["write_file(src/**)"],
  });
  const { tools, canExecuteTool } = createTools(permissions);
  const tool = tools.find(({ name }) => name === "write_file");
  // Another process: what is done in one turn of this one cannot be interrupted from within.
  const script =
    "const fs = require('fs'); fs.symlinkSync('lib', 'link');" +
    "const stay = () => { const t = performance.now() + Math.random() * 0.3; while (performance.now() < t); };" +
    "for (;;) { stay(); try { fs.renameSync('src', 'real'); fs.renameSync('link', 'src'); stay(); fs.renameSync('src', 'link'); fs.renameSync('real', 'src'); } catch (e) { try { fs.rmSync('src', { recursive: true, force: true }); fs.renameSync('real', 'src'); } catch {} } }";
  const swapping = spawn(process.execPath, ["-e", script], { cwd: root, stdio: "ignore" });
  try {
    while (!existsSync(join(root, "real"))) await new Promise((resolve) => setImmediate(resolve));
    for (let at = 0; at < 400; at += 1) {
      const input = { path: `src/${at}.txt`, content: "new" };
      const call = { tool: { name: "write_file", readOnly: false }, input, callKey: `r/0/${at}` } as never;
      const data = { get: () => undefined, all: () => ({}) };
      const decided = await canExecuteTool(call, { sessionId: "s", data } as never);
      const verdict = typeof decided === "string" ? decided : decided.verdict;
      const context = { callKey: `r/0/${at}`, sessionId: "s", data, signal: AbortSignal.timeout(100) };
      if (verdict === "allow") await Promise.resolve(tool?.execute?.(input, context as never)).catch(() => {});
    }
  } finally {
    const ended = once(swapping, "exit");
    swapping.kill("SIGKILL");
    await ended;
  }
  expect(readdirSync(join(root, "lib"))).toEqual([]);
});
