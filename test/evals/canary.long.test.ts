/**
 * A world that counts: tools, an MCP server, observers and hooks that would leave traces outside. The session is recorded with all
 * of them, and then played in a sandbox that has no network and can write only where evals write.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { createWorld, parseJsonLines, pawlProgram } from "../cli/pawl.js";
import { verifies } from "../verifies.js";

const dist = pathToFileURL(fileURLToPath(new URL("../../dist/", import.meta.url))).href;
const calendar = fileURLToPath(new URL("../../bench/evals/calendar-server.mjs", import.meta.url));

/** An agent that touches everything: a file, an address, a program, a server, and who observes it. */
const toucher = `
import { execFileSync } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createAgent, defineTool } from "${dist}index.js";

const steps = ["write", "fetch", "spawn", "ask_helper", "calendar_find_slots"];
const model = (names) => ({
  id: "scripted",
  async *stream({ messages }) {
    const name = names[messages.filter(({ role }) => role === "assistant").length];
    const input = name === "calendar_find_slots" ? '{"date":"2026-11-28"}' : name === "ask_helper" ? '{"task":"Help."}' : "{}";
    if (name === undefined) {
      yield { kind: "text-start", id: "1" };
      yield { kind: "text-delta", id: "1", text: "Touched." };
      yield { kind: "text-end", id: "1" };
    } else yield { kind: "tool-call", id: "c" + messages.length, name, input };
    yield { kind: "done", finishReason: { unified: name === undefined ? "stop" : "tool-calls" }, usage: { inputTokens: 1, outputTokens: 1 } };
  },
});
const touch = (name) => appendFileSync("touched.txt", name + "\\n");
const tool = (name, execute) =>
  defineTool({ name, description: name, input: { type: "object", properties: {} }, execute });
const observer = { name: "exporter", onEvent: ({ type }) => touch("observed " + type) };

export function createToucher({ store, calendar = [] } = {}) {
  const helper = createAgent({
    name: "helper",
    model: model(["write"]),
    tools: [tool("write", () => touch("helper"))],
    observers: [observer],
    onResponse: () => touch("called back"),
  });
  return createAgent({
    name: "toucher",
    model: model(steps),
    tools: [
      tool("write", () => touch("write")),
      tool("fetch", async () => (await fetch(process.env.CANARY)).status),
      tool("spawn", () => execFileSync(process.execPath, ["-e", "require('fs').appendFileSync('touched.txt', 'spawn\\\\n')"]).length),
      helper.asTool({ name: "ask_helper", description: "Helps." }),
      ...calendar,
    ],
    observers: [observer],
    ...(store && { store }),
  });
}
`;

const record = `
import { connectMcpServer } from "${dist}tools/mcp/index.js";
import { openSqliteStore } from "${dist}stores/sqlite/index.js";
import { createToucher } from "./toucher.mjs";
const server = await connectMcpServer({
  name: "calendar",
  trust: "hints",
  transport: { type: "stdio", command: process.execPath, args: [${JSON.stringify(calendar)}, "calendar.log", "usual"] },
});
const store = await openSqliteStore({ path: process.argv[2] });
const agent = createToucher({ store, calendar: server.tools });
const result = await agent.run("Touch it all.", { sessionId: "canary" });
await agent.shutdown();
await server.close();
await store.close();
if (result.status !== "completed") throw new Error(JSON.stringify(result));
`;

const evalFile = `
import { costs, defineEval, inRecord, sameAnswer, sameCalls, sameEnd, sameHooks } from "${dist}evals/index.js";
import { createToucher } from "../toucher.mjs";
export default defineEval({
  name: "canary",
  agent: { now: createToucher(), again: createToucher() },
  cases: "cases",
  repeat: 2,
  judges: [sameEnd(), inRecord(), sameCalls(), sameAnswer(), sameHooks(), costs({ atMost: 1 })],
});
`;

/** Each file of a folder with its content, but for what evals may write. */
function readTree(folder: string): { readonly [path: string]: string } {
  const files = readdirSync(folder, { recursive: true }).map(String).sort();
  const kept = files.filter((file) => !file.startsWith(".pawl") && statSync(join(folder, file)).isFile());
  return Object.fromEntries(
    kept.map((file) => [
      file,
      createHash("sha256")
        .update(readFileSync(join(folder, file)))
        .digest("hex"),
    ]),
  );
}

test(
  "An eval touches no tool, server, file or address outside, but the answers file",
  verifies("EVAL-1#outside"),
  async () => {
    const world = createWorld({ "toucher.mjs": toucher, "record.mjs": record, "evals/canary.eval.mjs": evalFile });
    const { root, home } = world;
    let requests = 0;
    const server = createServer((_, response) => {
      requests += 1;
      response.end("ok");
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const env = { CANARY: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
    await world.pawl(["sessions"]);
    const recorded = await world.startNode("record.mjs", [join(home, "sessions.db")], { env, input: "" }).ended;
    expect(recorded).toMatchObject({ code: 0 });
    // The recording touched all of it.
    const touched = readFileSync(join(root, "touched.txt"), "utf8");
    for (const trace of ["write", "spawn", "helper", "called back", "observed final"])
      expect(touched).toContain(`${trace}\n`);
    expect([requests, readFileSync(join(root, "calendar.log"), "utf8")]).toEqual([1, "find_slots\n"]);
    expect(await world.pawl(["eval", "add", "canary", "--outside", "calendar_*"])).toMatchObject({ code: 0 });

    const before = readTree(root);
    mkdirSync(join(root, ".pawl/evals"), { recursive: true });
    const played = spawnSync(
      "bwrap",
      [
        ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-net", "--unshare-pid"],
        ...["--bind", join(root, ".pawl/evals"), join(root, ".pawl/evals")],
        ...[process.execPath, pawlProgram, "eval", "--json"],
      ],
      { cwd: root, env: { ...world.environment(env), PAWL_HOME: home }, encoding: "utf8" },
    );
    expect([played.status, played.stderr]).toEqual([0, ""]);
    const [report] = parseJsonLines(played.stdout);
    expect(report.variants).toMatchObject({ now: { passed: 2, trials: 2 }, again: { passed: 2, trials: 2 } });
    expect(readTree(root)).toEqual(before);
    expect(readdirSync(join(root, ".pawl/evals"))).toEqual(["answers.jsonl"]);
    expect(requests).toBe(1);
    // The same outside of the sandbox, where all of it could be touched.
    expect(await world.pawl(["eval"], { env })).toMatchObject({ code: 0 });
    expect([requests, existsSync(join(root, "touched.txt"))]).toEqual([1, true]);
    expect(readTree(root)).toEqual(before);
  },
);

test("The evals of this repository need no network, and write nothing but temporary files", {
  ...verifies("EVAL-1#outside"),
  timeout: 180_000,
}, () => {
  const repository = fileURLToPath(new URL("../../", import.meta.url));
  mkdirSync(join(repository, "temp"), { recursive: true });
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("VITEST")));
  const played = spawnSync(
    "bwrap",
    [
      ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-net", "--unshare-pid"],
      ...["--tmpfs", "/tmp", "--ro-bind", repository, repository, "--tmpfs", join(repository, "temp")],
      ...["npx", "vitest", "run", "--project", "quick", "test/evals", "--configLoader", "runner", "--cache=false"],
    ],
    { cwd: repository, env, encoding: "utf8" },
  );
  const output = played.stdout + played.stderr;
  expect([played.status, output.includes("EROFS"), output.includes("folder-agent.test.ts")], output).toEqual([
    0,
    false,
    true,
  ]);
});
