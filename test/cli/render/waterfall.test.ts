import { describe, expect, test } from "vitest";
import { renderWaterfall } from "../../../src/cli/render/waterfall.js";
import { widthOf } from "../../../src/cli/terminal/text.js";
import { plainText, type StyleText } from "../../../src/cli/terminal/text-style.js";
import type { TraceRecordOf } from "../../../src/inspect.js";
import { verifies } from "../../verifies.js";

const proven = verifies("TRC-1", "CLI-4#trace");
const hour = 3_600_000;

const step: TraceRecordOf<"step"> = {
  type: "step",
  sessionId: "s",
  runId: "r",
  traceId: "0".repeat(32),
  modelCallIndex: 1,
  purpose: "step",
  reused: { messages: 0, prompt: false, tools: false },
  messages: 1,
  contextSeq: 2,
  startedAt: 1_000,
  durationMs: 100 + 30 * hour,
  attempts: [
    {
      attempt: 1,
      model: "lab/one",
      startedAt: 1_000,
      durationMs: 20,
      failure: { kind: "overloaded", message: "come\nback later" },
      next: "retry",
      retryInMs: 20,
    },
    {
      attempt: 2,
      model: "lab/one",
      startedAt: 1_040,
      durationMs: 40,
      firstDeltaMs: 10,
      finishReason: { unified: "tool-calls" },
      usage: { inputTokens: 1_200, outputTokens: 30 },
    },
  ],
  calls: [
    {
      callKey: "r/1/1",
      toolCallId: "a",
      name: "deploy\u001b[2J",
      outcome: "error",
      ran: { startedAt: 1_080 + 30 * hour, durationMs: 20, attempt: 2 },
      waits: [{ for: "person", by: "ada", startedAt: 1_080, durationMs: 30 * hour }],
    },
    { callKey: "r/1/2", toolCallId: "b", name: "deny_me", outcome: "denied", waits: [] },
  ],
  hooks: [
    {
      name: "mask",
      hook: "afterToolCall",
      outcome: "timed_out",
      startedAt: 1_090,
      durationMs: 10,
      message: "too slow",
    },
  ],
  states: [],
};

describe("the waterfall", () => {
  test("has all tokens of a model call on a screen of 80 columns", proven, () => {
    const [attempt] = step.attempts.slice(1);
    if (attempt === undefined) throw new Error("The step has one attempt.");
    const usage = { inputTokens: 1_234_567, outputTokens: 54_321 };
    const model = "openai-compatible/a-model-with-a-long-name";
    const lines = renderWaterfall([{ ...step, attempts: [{ ...attempt, model, usage }] }], 79, plainText);
    expect(lines.join("\n")).toContain("tool-calls, 1234567 in 54321 out");
    expect(Math.max(...lines.map(widthOf))).toBeLessThan(80);
  });

  test("has a bar for each activity at its time, with its outcome", proven, () => {
    const lines = renderWaterfall([step], 100, plainText);
    expect(lines[0]).toBe("step 1 · 1 message");
    const bars = lines.slice(1, -1).map((line) => line.replace(/ +/g, " ").trim());
    expect(bars).toEqual([
      expect.stringMatching(/^lab\/one █+ 20 ms overloaded: come back later$/),
      expect.stringMatching(/^lab\/one ·+ 20 ms before the next attempt$/),
      expect.stringMatching(/^lab\/one \(2\) █+ 40 ms tool-calls, 1200 in 30 out, first 10 ms$/),
      expect.stringMatching(/^deploy\\x1b\[2J ·{6} 30 h for a person \(ada\)$/),
      "deny_me denied",
      expect.stringMatching(/^mask afterToolCall ░ 10 ms timed_out: too slow$/),
      expect.stringMatching(/^deploy\\x1b\[2J ▓+ 20 ms error \(attempt 2\)$/),
    ]);
    expect(lines.at(-1)).toBe("█ model 60 ms   ▓ tools 20 ms   ░ hooks 10 ms   · waiting 30 h");
  });

  test(
    "has a row for a call without a result, with its steps below it, and one for an attempt that was cut off",
    proven,
    () => {
      const of = { toolCallId: "a", waits: [] };
      const toolStep = (name: string, startedAt: number) =>
        ({ step: name, outcome: "ok", startedAt, durationMs: 10 }) as const;
      const calls = [
        {
          ...of,
          callKey: "r/1/1",
          name: "import",
          steps: [toolStep("open", 1_090), toolStep("load", 1_140)],
          outcome: "ok",
        },
        { ...of, callKey: "r/1/2", name: "shell" },
        { ...of, callKey: "r/1/3", name: "ask", waits: [{ for: "person", startedAt: 1_080, durationMs: 120 }] },
      ] as const;
      const ran = { startedAt: 1_130, durationMs: 50, attempt: 2 };
      const record = { ...step, durationMs: 200, hooks: [], calls: [{ ...calls[0], ran }, calls[1], calls[2]] };
      const show = (one: typeof record & { readonly underWay?: true }) =>
        renderWaterfall([one], 100, plainText)
          .slice(4, -1)
          .map((line) =>
            line
              .replace(/[█▓▒░·]+ */, "")
              .replace(/ +/g, " ")
              .trim(),
          );
      expect(show({ ...record, underWay: true })).toEqual([
        "shell 120 ms no result yet",
        "ask 120 ms for a person",
        "import 10 ms cut off",
        "open 10 ms ok",
        "import 50 ms ok (attempt 2)",
        "load 10 ms ok",
      ]);
      // The run has ended without the result.
      expect(show(record)).not.toContainEqual(expect.stringContaining("shell"));
    },
  );

  test("ends a row at each wait of a durable tool, and calls only an attempt without a wait cut off", proven, () => {
    const toolStep = (name: string, startedAt: number) =>
      ({ step: name, outcome: "ok", startedAt, durationMs: 10 }) as const;
    const call = {
      callKey: "r/1/1",
      toolCallId: "a",
      name: "ship",
      outcome: "ok",
      steps: [toolStep("find", 1_090), toolStep("mail", 5_000), toolStep("book", 9_000), toolStep("tell", 9_100)],
      waits: [
        { for: "signal", step: "paid", startedAt: 1_100, durationMs: 3_000 },
        { for: "time", step: "later", startedAt: 5_100, durationMs: 3_000 },
      ],
      ran: { startedAt: 9_050, durationMs: 100, attempt: 4 },
    } as const;
    const rows = renderWaterfall([{ ...step, durationMs: 9_000, hooks: [], calls: [call] }], 100, plainText)
      .slice(4)
      .map((line) =>
        line
          .replace(/ [█▓▒░·]+ */, " ")
          .replace(/ +/g, " ")
          .trim(),
      );
    expect(rows).toEqual([
      "ship 10 ms until it waited",
      "find 10 ms ok",
      "ship 3.0 s for a signal (paid)",
      "ship 10 ms until it waited",
      "mail 10 ms ok",
      "ship 3.0 s asleep (later)",
      "ship 10 ms cut off",
      "book 10 ms ok",
      "ship 100 ms ok (attempt 4)",
      "tell 10 ms ok",
      expect.stringContaining("tools 130 ms"),
    ]);
  });

  test("leaves out hooks that had nothing to do", proven, () => {
    const [hook] = step.hooks;
    const quick = { ...hook, name: "quick", outcome: "ok", durationMs: 0.02 } as const;
    const hooks = [quick, { ...quick, name: "slow", durationMs: 2 }, { ...quick, name: "changes", outcome: "changed" }];
    const shown = renderWaterfall([{ ...step, hooks } as typeof step], 100, plainText).join("\n");
    expect(shown).toContain("slow afterToolCall");
    expect(shown).toContain("changes after");
    expect(shown).not.toContain("quick");
  });

  test("tells how often a request was sent again within an attempt", proven, () => {
    const attempts = step.attempts.map((attempt) => ({ ...attempt, resends: attempt.attempt }));
    const lines = renderWaterfall([{ ...step, attempts }], 160, plainText).join("\n");
    expect(lines).toContain("sent again 1 time, overloaded: come back");
    expect(lines).toContain("sent again 2 times, tool-calls, 1200 in");
  });

  test("keeps the order of time: no bar begins left of one that began before it", proven, () => {
    const marks = renderWaterfall([step], 120, plainText)
      .slice(1, -1)
      .flatMap((line) => [line.search(/[█▓░·]/)].filter((at) => at >= 0));
    expect(marks).toEqual([...marks].sort((a, b) => a - b));
  });

  test.each([40, 60, 80, 100, 200])("fits in %i columns, or in 60", proven, (columns) => {
    for (const line of renderWaterfall(
      [step, { ...step, modelCallIndex: 2, underWay: true }],
      columns,
      plainText,
    ).slice(0, -1))
      expect(widthOf(line)).toBeLessThanOrEqual(Math.max(60, columns));
  });

  test("paints the bars, and in red what failed", proven, () => {
    const style: StyleText = (colour, text) => `<${colour}>${text}</>`;
    const painted = renderWaterfall([step], 100, style).join("\n");
    expect(painted).toMatch(/<red>█+<\/>/);
    expect(painted).toMatch(/<cyan>█+<\/>/);
    expect(painted).toMatch(/<red>▓+<\/>/);
    expect(painted).toMatch(/<dim>·+<\/>/);
  });

  test("of a run without steps is empty; what came between steps and after them has its lines", proven, () => {
    expect(renderWaterfall([], 80, plainText)).toEqual([]);
    const { sessionId, runId, traceId } = step;
    const of = { sessionId, runId, traceId };
    const hook = { name: "bye", hook: "afterRun", outcome: "ok", startedAt: 1_000, durationMs: 5 } as const;
    const lines = renderWaterfall(
      [
        { type: "compaction", ...of, at: 1_000, tokensBefore: 900, tokensAfter: 100, hooks: [] },
        { type: "compaction", ...of, at: 1_000, fault: "model_error", hooks: [] },
        { type: "handoff", ...of, at: 1_000, callKey: "r/1/1", from: "triage", to: "billing", messages: 2 },
        {
          type: "run_finished",
          ...of,
          startedAt: 1_000,
          durationMs: 5,
          status: "completed",
          reason: "stop",
          usage: {},
          steps: 0,
          restarts: 0,
          hooks: [hook],
        },
      ],
      80,
      plainText,
    );
    expect(lines.slice(0, 4)).toEqual([
      "compaction · 900 to 100 tokens",
      "compaction · failed: model_error",
      "handoff · triage to billing · 2 messages left",
      "end",
    ]);
    expect(lines[4]).toMatch(/^ {2}bye afterRun +░+ +5 ms +ok$/);
  });
});
