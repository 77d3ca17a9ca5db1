import { describe, expect, test } from "vitest";
import { type AfterFailure, effects, type RunLimits, refusal, transition } from "../../src/core/index.js";
import { continuePrompt, doneToolReminder } from "../../src/core/transcript/loop-prompts.js";
import { verifies } from "../verifies.js";
import {
  allowCall,
  appendEvent,
  compactConversation,
  createModelFinished,
  createStartedSession,
  decideCall,
  endRun,
  failModelCall,
  failWithEmptyMessage,
  finishCall,
  finishModelCall,
  fireTimer,
  prepareStep,
  requireRun,
  restartRun,
  runStep,
  type Session,
  startRun,
  userMessage,
} from "./session.js";

function final(session: Session) {
  const last = session.events.at(-1);
  if (last?.type !== "final") throw new Error(`The last event is ${last?.type}.`);
  return last.result;
}

function wanted(session: Session): readonly string[] {
  return effects(session.state).map((effect) => effect.key);
}

/** Steps with one call each. */
function stepsWithCalls(session: Session, count: number): void {
  for (let done = 0; done < count; done += 1) {
    runStep(session, { text: "Let me look.", calls: ["look"] });
    allowCall(session, 1);
    finishCall(session, 1);
  }
}

describe("an answer without calls", () => {
  test("completes the run with its text parts, joined as they came and trimmed", verifies("FIN-1"), () => {
    const session = createStartedSession();
    runStep(session, {
      parts: [
        { type: "text", text: "\n Two files.  " },
        { type: "reasoning", text: "hm" },
        { type: "text", text: "Both are fine.\n" },
      ],
    });
    expect(session.state).toMatchObject({ status: "preparing", for: "finish", reason: "stop" });
    endRun(session);
    expect(final(session)).toMatchObject({ status: "completed", reason: "stop", text: "Two files.  Both are fine." });
  });

  test("is an end too where the provider says tool-calls or something of its own", verifies("FIN-2"), () => {
    for (const [finish, reason] of [
      ["tool-calls", "stop"],
      ["other", "other"],
    ] as const) {
      const session = createStartedSession();
      runStep(session, { text: "Well.", finish });
      endRun(session);
      expect(final(session)).toMatchObject({ status: "completed", reason, text: "Well." });
    }
  });

  test("of another kind, without a word, has a sentence that stands in", () => {
    const session = createStartedSession();
    runStep(session, { finish: "other" });
    endRun(session);
    expect(final(session).text).toBe("The model stopped without giving an answer.");
  });

  test("counts calls that the provider ran itself as none", verifies("FIN-2"), () => {
    const session = createStartedSession();
    const own = { toolCallId: "w", name: "web_search", providerExecuted: true };
    runStep(session, {
      parts: [
        { type: "tool_call", ...own, input: {} },
        { type: "tool_result", ...own, output: { type: "text", text: "found" } },
        { type: "text", text: "Found it." },
      ],
      finish: "tool-calls",
    });
    expect(session.state).toMatchObject({ status: "preparing", for: "finish", reason: "stop" });
  });

  test("is no end where the done tool is owed: the model is told so", () => {
    const session = createStartedSession({ requireDoneTool: true });
    runStep(session, { text: "I think that is all." });
    expect(session.state).toMatchObject({ status: "preparing", for: "step", purpose: "remind", modelCallIndex: 2 });
    prepareStep(session);
    expect(session.transcript.messages.at(-1)).toEqual(userMessage(doneToolReminder));
    finishModelCall(session, { calls: ["done"] });
    allowCall(session, 1);
    finishCall(session, 1, { done: { message: "Done." } });
    endRun(session);
    expect(final(session)).toMatchObject({ reason: "done", text: "Done.", steps: 2 });
  });
});

describe("an answer with calls", () => {
  test("has them run, whatever whole end the provider names", verifies("FIN-2"), () => {
    for (const finish of ["stop", "tool-calls", "other"] as const) {
      const session = createStartedSession();
      runStep(session, { calls: ["one", "two"], finish });
      expect(wanted(session)).toHaveLength(2);
    }
  });

  test("has none of them run where the message was cut; each gets a result", verifies("FIN-2"), () => {
    for (const [finish, next] of [
      ["length", { for: "step", purpose: "continue" }],
      ["content-filter", { reason: "content_filter" }],
      ["error", { reason: "model_error" }],
    ] as const) {
      const session = createStartedSession();
      const before = session.log.length;
      runStep(session, { text: "Part", calls: ["one", "two"], finish });
      expect(session.log.slice(before + 2).map((entry) => entry.event)).toMatchObject([
        { type: "tool_finished", callKey: "r1/1/1", outcome: "not_run" },
        { type: "tool_finished", callKey: "r1/1/2", outcome: "not_run" },
        ...(finish === "length" ? [] : [{ type: "run_finished" }]),
      ]);
      expect(session.state).toMatchObject(next);
      expect(session.transcript.messages.at(-1)?.parts).toHaveLength(2);
    }
  });
});

describe("an answer that was cut", () => {
  test("at the output cap goes on in a new step, and the texts are joined", verifies("FIN-3#output-cap"), () => {
    const session = createStartedSession();
    runStep(session, { text: "The first half", finish: "length" });
    expect(session.state).toMatchObject({ purpose: "continue", modelCallIndex: 2 });
    prepareStep(session);
    expect(session.transcript.messages.at(-1)).toEqual(userMessage(continuePrompt));
    finishModelCall(session, { text: " and the sec", finish: "length" });
    runStep(session, { text: "ond.\n" });
    endRun(session);
    expect(final(session)).toMatchObject({ reason: "stop", text: "The first half and the second.", steps: 3 });
  });

  test(
    "at the output cap goes on so many times, and then ends with what there is",
    verifies("FIN-3#output-cap"),
    () => {
      const session = createStartedSession({ maxContinuations: 2 });
      for (const text of ["one, ", "two, ", "three "]) runStep(session, { text, finish: "length" });
      expect(final(session)).toMatchObject({ status: "failed", reason: "output_limit", text: "one, two, three" });
    },
  );

  test("by a filter or an error ends the run, though somebody steered", () => {
    for (const [finish, reason] of [
      ["content-filter", "content_filter"],
      ["error", "model_error"],
    ] as const) {
      const session = createStartedSession();
      prepareStep(session);
      appendEvent(session, { type: "steered", input: [userMessage("also")], source: "user" });
      finishModelCall(session, { finish });
      expect(session.state).toMatchObject({ status: "failed", reason, queue: [{ kind: "steer" }] });
    }
  });
});

describe("the preparation of a step", () => {
  test("counts for its own step and purpose, and for what is recorded of its run", () => {
    const session = createStartedSession();
    const { seq } = session.state;
    const fitting = { type: "prepared", runId: "r1", modelCallIndex: 1, contextSeq: seq, purpose: "step" } as const;
    for (const other of [
      { modelCallIndex: 2 },
      { purpose: "continue" },
      { contextSeq: seq + 1 },
      { contextSeq: seq - 1 },
      { runId: "r2" },
    ] as const) {
      const before = session.state;
      appendEvent(session, { ...fitting, ...other });
      expect(session.state).toBe(before);
    }
    appendEvent(session, fitting);
    expect(session.state).toMatchObject({ status: "model_running", contextSeq: seq, attempt: 1 });
  });
});

describe("a failed attempt", () => {
  const retry: AfterFailure = { type: "retry", inMs: 2_000 };

  test("is tried again after a wait, in the same step under a new number", verifies("RTRY-3"), () => {
    const session = createStartedSession();
    stepsWithCalls(session, 1);
    prepareStep(session);
    expect(wanted(session)).toEqual(["r1/2/model/1"]);
    failModelCall(session, retry, "overloaded", { inputTokens: 7, partial: true });
    expect(effects(session.state)).toMatchObject([{ type: "sleep", timer: "backoff", until: 3_000, ms: 2_000 }]);
    fireTimer(session, { timer: "backoff", attempt: 1 });
    expect(wanted(session)).toEqual(["r1/2/model/2"]);
    failModelCall(session, { type: "retry", inMs: 0 });
    expect(wanted(session)).toEqual(["r1/2/model/3"]);
    finishModelCall(session, { text: "At last." });
    expect(requireRun(session.state)).toMatchObject({
      modelCallIndex: 2,
      counters: { totalSteps: 2, errorCount: 2 },
      usage: { inputTokens: 27, outputTokens: 10, partial: true },
    });
    endRun(session);
    expect(final(session)).toMatchObject({ steps: 2, usage: { inputTokens: 27, partial: true } });
  });

  test("wakes once, and only for its own wait", () => {
    const session = createStartedSession();
    prepareStep(session);
    failModelCall(session, retry);
    expect(fireTimer(session, { timer: "backoff", attempt: 0 })).toEqual([]);
    expect(fireTimer(session, { timer: "backoff", attempt: 1 })).toHaveLength(1);
    expect(fireTimer(session, { timer: "backoff", attempt: 1 })).toEqual([]);
  });

  test("comes late where its attempt is past, as does an answer", () => {
    const session = createStartedSession();
    prepareStep(session);
    const late = createModelFinished(session.state, { text: "late" });
    failModelCall(session, retry);
    expect(transition(session.state, late)).toBe(session.state);
    fireTimer(session, { timer: "backoff", attempt: 1 });
    expect(refusal(session.state, late)?.type).toBe("stale");
    const second = createModelFinished(session.state, { text: "in time" });
    finishModelCall(session, { text: "in time" });
    expect(transition(session.state, second)).toBe(session.state);
  });

  test("is counted with its model and its step, and those that were empty by themselves", verifies("RTRY-3"), () => {
    const session = createStartedSession();
    const failing = () => requireRun(session.state).failing;
    prepareStep(session);
    expect(failing()).toBeNull();
    failModelCall(session, retry);
    fireTimer(session, { timer: "backoff", attempt: 1 });
    expect(failing()).toEqual({ since: 1_000, attempts: 1, empty: 0 });
    failModelCall(session, { type: "retry", inMs: 0 }, "cancelled");
    restartRun(session);
    prepareStep(session);
    failWithEmptyMessage(session);
    expect(failing()).toEqual({ since: 1_000, attempts: 2, empty: 1 });
    failModelCall(session, { type: "fallback", index: 1 });
    expect(failing()).toBeNull();
    failModelCall(session, { type: "retry", inMs: 0 });
    finishModelCall(session, { calls: ["one"] });
    allowCall(session, 1);
    finishCall(session, 1);
    expect(failing()).toBeNull();
  });

  test("is followed by a fallback, which the rest of the run stays with", verifies("RTRY-7"), () => {
    const session = createStartedSession();
    prepareStep(session);
    failModelCall(session, { type: "fallback", index: 1 });
    expect(session.state).toMatchObject({ status: "model_running", fallback: 1, attempt: 2 });
    finishModelCall(session, { calls: ["one"] });
    allowCall(session, 1);
    finishCall(session, 1);
    expect(session.state).toMatchObject({ fallback: 1, modelCallIndex: 2 });
    runStep(session, { text: "Done." });
    endRun(session);
    startRun(session, "r2");
    expect(session.state).toMatchObject({ fallback: 0, failing: null });
  });

  test("counts over the run, fallbacks too, and ends it at the limit", verifies("LOOP-4#counters"), () => {
    const session = createStartedSession({ maxErrors: 3 });
    prepareStep(session);
    failModelCall(session, { type: "fallback", index: 1 });
    finishModelCall(session, { calls: ["one"] });
    allowCall(session, 1);
    finishCall(session, 1);
    prepareStep(session);
    failModelCall(session, { type: "retry", inMs: 0 });
    failModelCall(session, { type: "retry", inMs: 0 });
    expect(session.state).toMatchObject({ status: "failed", reason: "max_errors", fault: { code: "overloaded" } });
    expect(requireRun(session.state).counters.errorCount).toBe(3);
  });

  test("that was cancelled is no error", () => {
    const session = createStartedSession();
    prepareStep(session);
    failModelCall(session, { type: "retry", inMs: 0 }, "cancelled");
    expect(requireRun(session.state).counters.errorCount).toBe(0);
  });

  test("ends the run where it is given up, with the fault", () => {
    const session = createStartedSession();
    prepareStep(session);
    failModelCall(session, { type: "give_up", reason: "model_error" }, "auth");
    expect(final(session)).toMatchObject({
      status: "failed",
      reason: "model_error",
      error: { code: "auth", retryable: false },
    });
  });
});

describe("a context that is too long", () => {
  const compact: AfterFailure = { type: "compact" };

  test("is compacted, and the same step is tried again", () => {
    const session = createStartedSession();
    stepsWithCalls(session, 1);
    prepareStep(session);
    failModelCall(session, compact, "context_overflow");
    expect(wanted(session)).toEqual(["r1/2/compact/0"]);
    compactConversation(session, { keptFrom: session.transcript.seqs.at(-2) ?? 0 });
    expect(wanted(session)).toEqual(["r1/2/prepare/1.1"]);
    prepareStep(session);
    expect(wanted(session)).toEqual(["r1/2/model/2"]);
    expect(session.transcript.messages.map((message) => message.role)).toEqual(["user", "assistant", "tool"]);
  });

  test("that does not get shorter is sent once more; then it ends the run", verifies("CTX-3"), () => {
    const session = createStartedSession();
    prepareStep(session);
    failModelCall(session, compact, "context_overflow");
    compactConversation(session);
    expect(requireRun(session.state).counters.compactionAttempts).toBe(2);
    expect(wanted(session)).toEqual(["r1/1/prepare/1.2"]);
    prepareStep(session);
    failModelCall(session, compact, "context_overflow");
    expect(session.state).toMatchObject({ status: "failed", reason: "context_limit" });
  });

  test("is compacted twice in a row at most; an answer makes room for more", verifies("CTX-3"), () => {
    const session = createStartedSession();
    stepsWithCalls(session, 2);
    const started = () => {
      const { runId, modelCallIndex } = requireRun(session.state);
      return appendEvent(session, { type: "compaction_started", runId, modelCallIndex }).length > 0;
    };
    compactConversation(session, { keptFrom: 4 });
    compactConversation(session, { keptFrom: 5 });
    expect(requireRun(session.state).compactionsInRow).toBe(2);
    expect(started()).toBe(false);
    runStep(session, { text: "Let me look.", calls: ["look"] });
    allowCall(session, 1);
    finishCall(session, 1);
    expect(started()).toBe(true);
  });

  test(
    "ends the run with what was said where it cut the answer and nothing can be done",
    verifies("FIN-3#context-limit"),
    () => {
      const session = createStartedSession();
      prepareStep(session);
      finishModelCall(session, { text: "half of it", finish: "length", cut: "context" });
      expect(session.state).toMatchObject({ status: "failed", reason: "context_limit" });
      expect(session.events.at(-1)).toMatchObject({ type: "final", result: { text: "half of it" } });
    },
  );

  test("ends the run where the summary takes the rest of its budget", verifies("CTX-4"), () => {
    const session = createStartedSession({ maxTokens: 100 });
    compactConversation(session, { usage: { inputTokens: 90, outputTokens: 10 } });
    expect(session.state).toMatchObject({ status: "failed", reason: "max_tokens" });
  });

  test("is compacted so many times, what did not shrink counting double", verifies("LOOP-4#counters"), () => {
    const session = createStartedSession({ maxCompactions: 3 });
    compactConversation(session);
    expect(session.state).toMatchObject({ status: "preparing", for: "step", counters: { compactionAttempts: 2 } });
    prepareStep(session);
    finishModelCall(session, { calls: ["look"] });
    allowCall(session, 1);
    finishCall(session, 1);
    compactConversation(session, { keptFrom: 2 });
    prepareStep(session);
    failModelCall(session, compact, "context_overflow");
    expect(session.state).toMatchObject({ status: "failed", reason: "context_limit" });
  });
});

describe("limits", () => {
  function atLimit(given: Partial<RunLimits>, steps: number): Session {
    const session = createStartedSession(given);
    stepsWithCalls(session, steps);
    return session;
  }

  test("of steps: one more call sums up, without a trace in the history", () => {
    const session = atLimit({ maxSteps: 2 }, 2);
    expect(session.state).toMatchObject({ status: "preparing", purpose: "summary", modelCallIndex: 3 });
    const before = session.transcript.messages.length;
    prepareStep(session);
    finishModelCall(session, { text: "I looked twice.", calls: ["look"] });
    expect(final(session)).toMatchObject({ status: "failed", reason: "max_steps", text: "I looked twice.", steps: 3 });
    expect(final(session).usage).toEqual({ inputTokens: 30, outputTokens: 15 });
    expect(session.transcript.messages).toHaveLength(before);
    startRun(session, "r2");
    expect(session.state.status).toBe("preparing");
  });

  test("of steps: a sentence stands in for a summary that fails, and for one that nobody wants", () => {
    const failed = atLimit({ maxSteps: 1 }, 1);
    prepareStep(failed);
    failModelCall(failed, { type: "give_up", reason: "model_error" });
    const stopped = atLimit({ maxSteps: 1, onMaxSteps: "stop" }, 1);
    for (const session of [failed, stopped])
      expect(final(session)).toMatchObject({ reason: "max_steps", text: "The run reached its limit of steps." });
  });

  test("of tokens and time, looked at before the next call", verifies("LOOP-4#counters"), () => {
    const tokens = atLimit({ maxTokens: 15 }, 1);
    expect(final(tokens)).toMatchObject({ status: "failed", reason: "max_tokens" });
    const time = createStartedSession({ maxWallClockMs: 500 });
    runStep(time, { calls: ["look"] });
    allowCall(time, 1);
    time.at += 500;
    finishCall(time, 1);
    expect(final(time)).toMatchObject({ status: "failed", reason: "max_wall_clock" });
  });

  test("are reached by as much, not by more; the first step always runs", verifies("LOOP-4#counters"), () => {
    const session = createStartedSession({ maxSteps: 1, maxErrors: 1, maxTokens: 1, onMaxSteps: "stop" });
    expect(wanted(session)).toEqual(["r1/1/prepare/0.0"]);
    prepareStep(session);
    expect(session.state.status).toBe("model_running");
    const below = atLimit({ maxTokens: 16 }, 1);
    expect(below.state).toMatchObject({ status: "preparing", for: "step" });
  });

  test("of time aborts what is running", () => {
    const session = createStartedSession({ maxWallClockMs: 500 });
    runStep(session, { calls: ["one", "two"] });
    allowCall(session, 1);
    expect(effects(session.state).at(-1)).toMatchObject({ type: "sleep", timer: "wall_clock", until: 1_500, ms: 500 });
    session.at = 1_500;
    fireTimer(session, { timer: "wall_clock" });
    expect(effects(session.state)).toMatchObject([{ type: "sleep", timer: "grace", until: 6_500, ms: 5_000 }]);
    finishCall(session, 1);
    expect(session.state).toMatchObject({ status: "failed", reason: "max_wall_clock" });
  });

  test("start anew with the next run, and are kept by a restart", verifies("LOOP-4#counters"), () => {
    const session = atLimit({ maxSteps: 2, onMaxSteps: "stop" }, 1);
    restartRun(session);
    stepsWithCalls(session, 1);
    expect(session.state).toMatchObject({ status: "failed", reason: "max_steps" });
    startRun(session, "r2", { maxSteps: 2 });
    expect(requireRun(session.state)).toMatchObject({ counters: { totalSteps: 0, errorCount: 0 }, usage: {} });
  });
});

describe("the end of a run", () => {
  test("can be prevented so many times, and never past a limit", () => {
    const session = createStartedSession({ maxStopPreventions: 1 });
    runStep(session, { text: "All done." });
    appendEvent(session, { type: "steered", input: [userMessage("The tests fail.")], source: "before_stop" });
    expect(session.state).toMatchObject({ status: "preparing", for: "step", modelCallIndex: 2 });
    runStep(session, { text: "Now it is." });
    appendEvent(session, { type: "steered", input: [userMessage("Still.")], source: "before_stop" });
    expect(final(session)).toMatchObject({ status: "completed", reason: "stop", text: "Now it is." });

    const limited = createStartedSession({ maxSteps: 1 });
    runStep(limited, { text: "All done." });
    appendEvent(limited, { type: "steered", input: [userMessage("The tests fail.")], source: "before_stop" });
    expect(final(limited)).toMatchObject({ status: "completed", reason: "stop", text: "All done." });
  });

  test("by an answer of the wrong shape names that, once it was sent back", () => {
    const session = createStartedSession({ maxStopPreventions: 0 });
    for (let times = 0; times < 2; times += 1) {
      expect(session.state.status).toBe("preparing");
      runStep(session, { text: "{}" });
      appendEvent(session, { type: "steered", input: [userMessage("Not that shape.")], source: "output" });
    }
    expect(final(session)).toMatchObject({ status: "failed", reason: "invalid_output", text: "{}" });
  });

  test("can come while a step is prepared: a hook refuses, a budget is spent", () => {
    const session = createStartedSession();
    const refused = { type: "run_finished", runId: "r1", reason: "refused" } as const;
    appendEvent(session, refused);
    expect(session.state.status).toBe("preparing");
    appendEvent(session, { ...refused, modelCallIndex: 1 });
    expect(final(session)).toMatchObject({ status: "failed", reason: "refused", text: "The request was refused." });
  });

  test("is told to the session that asked, before anything else starts", () => {
    const session = createStartedSession({}, { parent: { sessionId: "p", callKey: "r0/1/1" } });
    runStep(session, { text: "42" });
    appendEvent(session, {
      type: "run_queued",
      runId: "r2",
      limits: requireRun(session.state).limits,
      input: [userMessage("x")],
    });
    endRun(session);
    expect(effects(session.state)).toMatchObject([
      { type: "notify_parent", key: "r1/notify", parent: { sessionId: "p", callKey: "r0/1/1" } },
    ]);
    startRun(session, "r3");
    expect(session.state).toMatchObject({ status: "completed", runId: "r1" });
    appendEvent(session, { type: "parent_notified", runId: "r1" });
    expect(session.state).toMatchObject({ status: "preparing", runId: "r2" });
  });
});

describe("a decision", () => {
  test("for a call that there is not changes nothing", () => {
    const session = createStartedSession();
    runStep(session, { calls: ["one"] });
    const before = session.state;
    decideCall(session, 2, { verdict: "reject", message: "x" });
    expect(session.state).toBe(before);
  });
});
