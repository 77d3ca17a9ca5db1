/**
 * The plugin of the examples that writes an audit log: what is in it, and that it is in it once, whatever happens to the process.
 */
import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type AuditLine, createAuditLog } from "../../examples/plugins/audit-log.js";
import { createSecretMasking } from "../../examples/plugins/secret-masking.js";
import { type AnyTool, createEngine, createMemoryStore, type EngineAgent, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createFailingStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const secret = "correct-horse-battery-staple";

function createPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "pawl-audit-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "audit.jsonl");
}

const open = (path: string, store: Store, agents: readonly EngineAgent[] = []) =>
  createEngine({ store, agents, plugins: [createAuditLog({ path }), createSecretMasking({ TOKEN: secret })] });

function linesIn(path: string): readonly AuditLine[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

/** The lines of each session: between sessions there is no order. */
function bySession(path: string): readonly string[] {
  return ["s", "t"].map((id) => JSON.stringify(linesIn(path).filter(({ sessionId }) => sessionId === id)));
}

/** Who decided what about what. */
function toldIn(path: string): readonly string[] {
  return linesIn(path).map(({ tool = "run", decision, by, why }) =>
    [tool, decision, by, ...(why === undefined ? [] : [why])].join(" · "),
  );
}

const toolNamed = (name: string, more: Partial<AnyTool> = {}): AnyTool => ({
  name,
  description: "Does something.",
  input: { type: "object", properties: { n: { type: "number" } } },
  execute: () => `done with ${secret}`,
  ...more,
});

/** A session with decisions of every kind, and the end of another. */
async function play(path: string, store: Store): Promise<void> {
  const engine = await open(path, store, [
    {
      name: "x",
      model: createScriptedModel([
        { error: { kind: "rate_limit", message: `slow down, ${secret}`, retryAfterMs: 0 } },
        {
          calls: [
            { name: "look" },
            { name: "look", input: { n: "none" } },
            { name: "guarded" },
            { name: "forbidden" },
            { name: "asked", input: { n: 1 } },
            { name: "asked", input: { n: 2 } },
            { name: "look", input: { n: 4 } },
          ],
        },
        { text: "Done." },
      ]),
      tools: ["look", "guarded", "forbidden", "asked"].map((name) => toolNamed(name)),
      hooks: [
        {
          name: "guard",
          beforeToolCall: ({ name }) => (name === "guarded" ? { block: `not with ${secret}` } : undefined),
        },
        {
          name: "rounding",
          beforeToolCall: ({ name, input }) =>
            name === "look" && JSON.stringify(input) === '{"n":4}' ? { input: { n: 5 } } : undefined,
        },
      ],
      canExecuteTool: ({ toolCall: { name } }) => {
        if (name === "forbidden") return { verdict: "deny", reason: "it is" };
        return name === "asked" ? { verdict: "ask", question: "May it?" } : "allow";
      },
      limits: { maxToolCallsPerStep: 7 },
    },
  ]);
  const session = engine.agent("x").session("s");
  const asked = await engine.agent("x").run(`Go with ${secret}`, { sessionId: "s" });
  expect(asked.status).toBe("awaiting_human");
  const [first, second] = await session.pendingApprovals();
  await session.answer(first?.callKey ?? "", { type: "approve" }, { by: "ada" });
  await session.answer(second?.callKey ?? "", { type: "deny", note: "not this one" }, { by: "bob" });
  expect(await session.resume()).toMatchObject({ status: "completed", text: "Done." });
  expect((await engine.agent("x").run("More", { sessionId: "t" })).status).toBe("failed");
  await engine.shutdown();
}

describe("an audit log", () => {
  test("has a line for each decision: who took it, about what, and why", verifies("PLUG-2"), async () => {
    const path = createPath();
    const store = createMemoryStore();
    await play(path, store);
    const told = toldIn(path);
    for (const line of [
      "run · retry · loop · rate_limit: slow down, {{TOKEN}}",
      "look · allow · rules",
      "guarded · block · rules · not with {{TOKEN}}",
      "forbidden · deny · rules · it is",
      "asked · ask · rules · May it?",
      "asked · approve · ada",
      "asked · deny · bob · not this one",
      "run · changed · hook rounding · beforeToolCall",
      "run · end · loop · stop",
    ])
      expect(told).toContain(line);
    expect(told.filter((line) => line.startsWith("look · reject · rules"))).toHaveLength(1);
    expect(told.at(-1)).toMatch(/^run · end · loop · /);
    expect(linesIn(path).find(({ input }) => JSON.stringify(input) === '{"n":5}')).toMatchObject({
      decision: "allow",
      sessionId: "s",
      callKey: expect.stringMatching(/\/1\/7$/),
      at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(readFileSync(path, "utf8")).not.toContain("battery");
    expect(statSync(path).mode & 0o077).toBe(0);
    for (const { sessionId, seq, at } of linesIn(path)) {
      const [entry] = await store.read(sessionId, seq - 1, 1);
      expect(new Date(entry?.event.at ?? 0).toISOString()).toBe(at);
    }
  });

  test("has calls above a limit, calls that a run left behind, and aborts", async () => {
    const path = createPath();
    const controller = new AbortController();
    const engine = await open(path, createMemoryStore(), [
      {
        name: "x",
        model: createScriptedModel([{ calls: [{ name: "stop" }, { name: "wait" }, { name: "look" }] }]),
        tools: [
          toolNamed("stop", {
            sequential: true,
            execute: () => {
              controller.abort();
              return "stopped";
            },
          }),
          toolNamed("wait", { sequential: true }),
          toolNamed("look"),
        ],
        limits: { maxToolCallsPerStep: 2 },
      },
    ]);
    expect((await engine.agent("x").run("Go", { signal: controller.signal })).status).toBe("aborted");
    await engine.shutdown();
    const told = toldIn(path);
    for (const line of [
      "look · blocked · loop · 3 calls were asked for at once, and 2 may be; ask again for what is still needed",
      "wait · aborted · loop",
      "run · abort · the program · its signal was aborted",
      "run · end · loop · aborted",
    ])
      expect(told).toContain(line);
  });

  test("is whole again, each line once, wherever the process that wrote it died", verifies("PLUG-1"), async () => {
    const path = createPath();
    const store = createMemoryStore();
    await play(path, store);
    const whole = readFileSync(path);
    const lines = bySession(path);
    const step = Math.max(1, Math.floor(whole.length / 150));
    for (let cut = 0; cut <= whole.length; cut += step) {
      writeFileSync(path, whole.subarray(0, cut));
      await (await open(path, store)).shutdown();
      expect(bySession(path)).toEqual(lines);
      expect(statSync(path).size).toBe(whole.length);
    }
  });

  test("is written on where the store failed while it was read", async () => {
    const path = createPath();
    const { store, failAll, repair } = createFailingStore(createMemoryStore());
    await play(path, store);
    const lines = bySession(path);
    truncateSync(path, 0);
    failAll();
    await expect(open(path, store)).rejects.toMatchObject({
      code: "plugin_failed",
      message: expect.stringContaining("audit-log"),
    });
    repair();
    await (await open(path, store)).shutdown();
    expect(bySession(path)).toEqual(lines);
  });

  test("needs the plugin that masks what it writes", verifies("PLUG-1"), async () => {
    const alone = createEngine({ plugins: [createAuditLog({ path: createPath() })], agents: [] });
    await expect(alone).rejects.toThrow('The plugin "secret-masking" is missing: audit-log → secret-masking.');
  });
});
