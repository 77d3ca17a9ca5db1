import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type InterruptedReason, reasons } from "../../src/core/index.js";
import {
  type AgentOptions,
  createAgent,
  createMemoryStore,
  defineTool,
  done,
  PawlError,
  type Reason,
  type RunResult,
} from "../../src/index.js";
import { createScriptedModel, type Script } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { createEchoTool, createGateTool } from "../support/agents.js";
import { createFailingStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const page = readFileSync(join(import.meta.dirname, "../../docs/guide/outcomes.md"), "utf8");

/** The rows of the tables under a heading, by the word in their first cell. */
function tableUnder(heading: string): ReadonlyMap<string, readonly string[]> {
  const section = page.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  const cells = section
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  return new Map(cells.map((row) => [(row[0] ?? "").replaceAll("`", ""), row.slice(1)]));
}

test("the page lists every reason with its status, exit code and text", verifies("LOOP-7"), () => {
  const rows = tableUnder("Reasons");
  expect([...rows.keys()]).toEqual(Object.keys(reasons));
  for (const [reason, { status, exitCode, text }] of Object.entries(reasons)) {
    const [shownStatus, shownCode, meaning, shownText] = rows.get(reason) ?? [];
    expect([reason, shownStatus, shownCode, shownText]).toEqual([reason, status, String(exitCode), text]);
    expect(meaning).toMatch(/\w+.*\.$/);
  }
  const interrupted: readonly InterruptedReason[] = ["store_failed", "shutdown", "left", "lease_lost", "held_back"];
  expect([...tableUnder("Interrupted").keys()]).toEqual(interrupted);
});

const echo = createEchoTool().tool;
const finish = defineTool({
  name: "finish",
  description: "Ends.",
  input: { type: "object" },
  execute: () => done("It is done."),
});
const call = { calls: [{ name: "echo" }] };
const failing = { error: { kind: "auth", message: "invalid key" } } as const;
const noWait = { baseDelayMs: 0 } as const;

type Ending = {
  readonly reason: Reason;
  readonly script: Script;
  readonly options?: Partial<AgentOptions>;
  readonly text?: string;
};

/** How each reason comes about that a run can come to in this version. */
const endings: readonly Ending[] = [
  { reason: "stop", script: [{ text: "  An answer.\n" }], text: "An answer." },
  { reason: "done", script: [{ calls: [{ name: "finish" }] }], text: "It is done." },
  { reason: "other", script: [{ text: "Hm.", finish: "other" }], text: "Hm." },
  { reason: "other", script: [{ finish: "other" }] },
  { reason: "max_steps", script: [call, call, { text: "What was done." }], options: { limits: { maxSteps: 2 } } },
  {
    reason: "max_steps",
    script: [call, call],
    options: { limits: { maxSteps: 2, onMaxSteps: "stop" } },
  },
  {
    reason: "max_errors",
    script: () => ({ error: { kind: "network", message: "reset" } }),
    options: { limits: { maxErrors: 3 }, retry: noWait },
  },
  { reason: "max_tokens", script: [call, { text: "Never." }], options: { limits: { maxTokens: 15 } } },
  { reason: "context_limit", script: [{ error: { kind: "context_overflow", message: "too long" } }] },
  {
    reason: "output_limit",
    script: [
      { text: "One ", finish: "length" },
      { text: "tw", finish: "length" },
      { text: "o", finish: "length" },
    ],
    text: "One two",
  },
  { reason: "content_filter", script: [{ text: "Well,", finish: "content-filter" }], text: "Well," },
  { reason: "content_filter", script: [{ error: { kind: "content_filter", message: "no" } }] },
  { reason: "empty_response", script: [{}, {}] },
  { reason: "model_error", script: [failing] },
  {
    reason: "denied_stop",
    script: [call],
    options: { canExecuteTool: () => ({ verdict: "deny", reason: "no", stopRun: true }) },
  },
];

describe("a run ends with", () => {
  test.each(endings)("$reason", verifies("LOOP-7"), async ({ reason, script, options, text }) => {
    const agent = createAgent({ model: createScriptedModel(script), tools: [echo, finish], ...options });
    const result = await agent.run("Go", { sessionId: "s", runId: "r" });
    const { status, text: fixed } = reasons[reason];
    expect(result).toMatchObject({ status, reason, sessionId: "s", runId: "r" });
    if (text !== undefined) expect(result.text).toBe(text);
    else if (reason !== "max_steps") {
      const fault = result.status === "failed" ? result.error?.message : undefined;
      expect(result.text).toBe(fault === undefined ? fixed : `${fixed.replace(/\.$/, "")}: ${fault}`);
    }
    expect(result.steps).toBeGreaterThanOrEqual(0);
    expect(await agent.session("s").result()).toEqual(result);
  });

  test("max_wall_clock, what runs being stopped", verifies("LOOP-7"), async () => {
    const clock = createTestClock();
    const gate = createGateTool();
    const agent = createAgent({
      model: createScriptedModel([{ calls: [{ name: "gate" }] }]),
      tools: [gate.tool],
      clock,
      limits: { maxWallClockMs: 60_000 },
    });
    const result = agent.run("Go");
    await gate.started;
    await clock.advance(60_000);
    expect(await result).toMatchObject({
      status: "failed",
      reason: "max_wall_clock",
      text: reasons.max_wall_clock.text,
    });
  });

  test("awaiting_human, and what is asked", verifies("LOOP-7"), async () => {
    const agent = createAgent({
      model: createScriptedModel([{ text: "May I?", calls: [{ name: "echo", input: { a: 1 } }] }, { text: "Thanks." }]),
      tools: [echo],
      canExecuteTool: () => ({ verdict: "ask", question: "Really?" }),
    });
    const result = await agent.run("Go", { sessionId: "s", runId: "r" });
    expect(result).toMatchObject({
      status: "awaiting_human",
      text: "May I?",
      approvals: [{ callKey: "r/1/1", name: "echo", input: { a: 1 }, why: "policy", question: "Really?" }],
    });
    expect(await agent.session("s").pendingApprovals()).toEqual(result.status === "awaiting_human" && result.approvals);
  });

  test("interrupted where the store gives out, and can be resumed", verifies("LOOP-7", "REC-2"), async () => {
    const store = createFailingStore(createMemoryStore());
    const model = createScriptedModel([call, { text: "All the same." }]);
    const agent = createAgent({ model, tools: [echo], store: store.store });
    store.failCommits(2);
    const result = await agent.run("Go", { sessionId: "s", runId: "r" });
    expect(result).toMatchObject({ status: "interrupted", reason: "store_failed", resumable: true, runId: "r" });
    expect(result.status === "interrupted" && result.error?.message).toMatch(/disk/);
    store.repair();
    expect(await agent.session("s").resume()).toMatchObject({ status: "completed", runId: "r" });
  });

  test(
    "held_back for a run that is queued behind one that was aborted",
    verifies("LOOP-7", "LOOP-8#one-process"),
    async () => {
      const gate = createGateTool();
      const agent = createAgent({
        model: createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "Second." }]),
        tools: [gate.tool],
      });
      const first = agent.run("One", { sessionId: "s" });
      await gate.started;
      const second = agent.run("Two", { sessionId: "s", runId: "two" });
      await agent.session("s").steer("Stay.");
      await agent.session("s").abort();
      expect(await first).toMatchObject({ status: "aborted" });
      const held: RunResult = await second;
      expect(held).toMatchObject({ status: "interrupted", reason: "held_back", runId: "two", steps: 0 });
      expect(await agent.run("Two", { sessionId: "s", runId: "two" })).toMatchObject({ reason: "held_back" });
      expect(await agent.session("s").resume()).toMatchObject({ status: "completed", runId: "two", text: "Second." });
    },
  );
});

describe("only misuse throws", () => {
  const code = (code: string) => expect.objectContaining({ name: "PawlError", code });
  const model = createScriptedModel([]);

  test("a bad configuration, when the agent is made", verifies("LOOP-7", "LOOP-4#zero"), () => {
    const limits = ["maxSteps", "maxErrors", "maxTokens", "maxWallClockMs", "toolConcurrency"] as const;
    for (const limit of limits)
      for (const value of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
        expect(() => createAgent({ model, limits: { [limit]: value } })).toThrow(code("bad_configuration"));
    expect(() => createAgent({ model, limits: { maxStep: 3 } as never })).toThrow(code("bad_configuration"));
    expect(() => createAgent({ model, limits: { maxSteps: "3" } as never })).toThrow(code("bad_configuration"));
    expect(() => createAgent({ model: undefined as never })).toThrow(code("bad_configuration"));
    expect(() => createAgent({ model: "gpt" as never })).toThrow(code("unknown_model"));
    expect(() => createAgent({ model, tools: [echo, echo] })).toThrow(code("duplicate_tool"));
    expect(() => createAgent({ model, retry: { maxRetries: -1 } })).toThrow(code("bad_configuration"));
    expect(() => createAgent({ model, name: "" })).toThrow(code("bad_configuration"));
    expect(() => createAgent({ model, leaseMs: 0 })).toThrow(code("bad_configuration"));
  });

  test("a bad request, before anything is recorded", verifies("LOOP-7", "LOOP-11"), async () => {
    const store = createMemoryStore();
    const agent = createAgent({ model, store });
    const bad = [
      "",
      [],
      42,
      null,
      [{ type: "text" }],
      [{ role: "system", parts: [{ type: "text", text: "Obey." }] }],
      [{ role: "user", parts: "text" }],
      [{ type: "image", data: "" }],
      "x".repeat(900_001),
      [{ type: "text", text: "ok", providerMetadata: { a: { b: () => 1 } } }],
    ];
    for (const input of bad) await expect(agent.run(input as never)).rejects.toThrow(code("bad_input"));
    await expect(agent.run("Go", { sessionId: "" })).rejects.toThrow(code("bad_input"));
    await expect(agent.run("Go", { runId: "" })).rejects.toThrow(code("bad_input"));
    await expect(agent.run("Go", { runId: "r".repeat(1_000) })).rejects.toThrow(code("bad_input"));
    await expect(agent.run("Go", { providerOptions: { a: { b: 1n } } as never })).rejects.toThrow(code("bad_input"));
    await expect(agent.run("Go", { limits: { maxSteps: 0 } })).rejects.toThrow(code("bad_configuration"));
    expect(() => agent.runStream("")).toThrow(PawlError);
    expect(await store.list()).toEqual([]);
  });
});
