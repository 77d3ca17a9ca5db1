import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.js";
import {
  allowCall,
  answerCall,
  appendEvent,
  askAboutCall,
  compactConversation,
  createStartedSession,
  decideCall,
  endRun,
  failModelCall,
  finishCall,
  finishModelCall,
  fireTimer,
  prepareStep,
  requestAbort,
  restartRun,
  runStep,
  type Session,
  steerRun,
} from "./session.js";

/** The events after a point, a line for each: its type, and the call or the words that it is about. */
function told({ events }: Session, from = 0): readonly string[] {
  return events.slice(from).map((event) => {
    const words = "callKey" in event ? ` ${event.callKey}` : "text" in event ? ` ${event.text}` : "";
    return `${event.type}${words}`;
  });
}

describe("the order of events", () => {
  test("within a step: reasoning, text, message, then each call from its start to its end", verifies("STRM-4"), () => {
    const session = createStartedSession();
    const from = session.events.length;
    runStep(session, { text: "Let me look.", reasoning: "hm", calls: ["one", "two"] });
    allowCall(session, 1);
    decideCall(session, 2, { verdict: "deny", reason: "no" });
    finishCall(session, 1);
    runStep(session, { text: "That is all.", reasoning: "so" });
    endRun(session);
    expect(told(session, from)).toEqual([
      "reasoning hm",
      "text Let me look.",
      "message",
      "call_start r1/1/1",
      "call_start r1/1/2",
      "step_finished",
      "tool_call r1/1/1",
      "tool_call r1/1/2",
      "tool_result r1/1/2",
      "call_complete r1/1/2",
      "tool_result r1/1/1",
      "call_complete r1/1/1",
      "reasoning so",
      "step_finished",
      "message",
      "final",
    ]);
    const seqs = session.events.map((event) => event.seq);
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
  });

  test("tells each call's status and duration", verifies("STRM-4"), () => {
    const session = createStartedSession();
    runStep(session, { calls: ["one", "two"] });
    allowCall(session, 1);
    finishCall(session, 1, { timing: { startedAt: 1, durationMs: 42 } });
    allowCall(session, 2);
    finishCall(session, 2, { outcome: "error" });
    const complete = session.events.filter((event) => event.type === "call_complete");
    expect(complete).toMatchObject([
      { status: "ok", durationMs: 42, name: "one", toolCallId: "t0" },
      { status: "error", durationMs: 0, name: "two", toolCallId: "t1" },
    ]);
  });

  test("ends with one result for each call, on errors and an abort too", verifies("STRM-4"), () => {
    const session = createStartedSession();
    runStep(session, { calls: ["one", "two", "three"] });
    allowCall(session, 1);
    askAboutCall(session, 2);
    const from = session.events.length;
    requestAbort(session);
    fireTimer(session, { timer: "grace" });
    expect(told(session, from)).toEqual([
      "abort_requested",
      "tool_result r1/1/2",
      "call_complete r1/1/2",
      "tool_call r1/1/3",
      "tool_result r1/1/3",
      "call_complete r1/1/3",
      "tool_result r1/1/1",
      "call_complete r1/1/1",
      "final",
    ]);
  });

  test("has calls of a cut message too, and the words of its answer", verifies("STRM-4"), () => {
    const session = createStartedSession();
    const from = session.events.length;
    runStep(session, { text: "I will", calls: ["one"], finish: "length" });
    expect(told(session, from)).toEqual([
      "text I will",
      "message",
      "call_start r1/1/1",
      "step_finished",
      "tool_call r1/1/1",
      "tool_result r1/1/1",
      "call_complete r1/1/1",
    ]);
  });
});

describe("a run that waits for a person", () => {
  test("is suspended with what it waits for, each time that nothing else is left to do", verifies("STRM-4"), () => {
    const session = createStartedSession();
    runStep(session, { calls: ["one", "two"] });
    const from = session.events.length;
    askAboutCall(session, 1);
    askAboutCall(session, 2);
    answerCall(session, 1, { type: "deny", note: "no" });
    expect(told(session, from)).toEqual([
      "tool_call r1/1/1",
      "approval_requested r1/1/1",
      "tool_call r1/1/2",
      "approval_requested r1/1/2",
      "suspended",
      "approval_answered r1/1/1",
      "tool_result r1/1/1",
      "call_complete r1/1/1",
      "suspended",
    ]);
    const suspended = session.events.filter((event) => event.type === "suspended");
    expect(suspended.map((event) => event.approvals.map((one) => one.callKey))).toEqual([
      ["r1/1/1", "r1/1/2"],
      ["r1/1/2"],
    ]);
  });

  test("is not suspended again by what changes nothing about that", () => {
    const session = createStartedSession();
    runStep(session, { calls: ["one"] });
    askAboutCall(session, 1);
    const from = session.events.length;
    steerRun(session, "more");
    expect(told(session, from)).toEqual(["steered"]);
  });

  test("tells an edit once as an answer, and the call itself only once", verifies("STRM-4"), () => {
    const session = createStartedSession();
    runStep(session, { calls: ["one"] });
    const from = session.events.length;
    askAboutCall(session, 1);
    answerCall(session, 1, { type: "modify", input: { n: 7 }, inputHash: "h" });
    allowCall(session, 1);
    finishCall(session, 1);
    expect(told(session, from).filter((line) => line.startsWith("tool_call"))).toEqual(["tool_call r1/1/1"]);
    expect(session.events.find((event) => event.type === "approval_answered")).toMatchObject({
      answer: "modify",
      input: { n: 7 },
    });
  });

  test("tells the questions that a restart raises", () => {
    const session = createStartedSession();
    runStep(session, { calls: ["one"] });
    allowCall(session, 1, { recover: "ask" });
    const from = session.events.length;
    restartRun(session);
    expect(told(session, from)).toEqual(["restarted", "approval_requested r1/1/1", "suspended"]);
    expect(session.events[from + 1]).toMatchObject({ why: "recovery" });
  });
});

describe("the text of an answer", () => {
  test("that seemed to be the end is told when the run goes on after all", () => {
    for (const by of ["user", "before_stop"] as const) {
      const session = createStartedSession();
      runStep(session, { text: "All done." });
      const from = session.events.length;
      steerRun(session, "Not yet.", by);
      expect(told(session, from)).toEqual(["text All done.", "message", "steered"]);
      runStep(session, { text: "Now." });
      endRun(session);
      expect(session.events.at(-1)).toMatchObject({ type: "final", result: { text: "Now." } });
    }
  });

  test("that comes while the run is being stopped is told at once, and its message with the end", () => {
    const session = createStartedSession();
    prepareStep(session);
    requestAbort(session);
    const from = session.events.length;
    finishModelCall(session, { text: "All done." });
    expect(told(session, from)).toEqual(["text All done.", "step_finished", "message", "final"]);
  });

  test("comes with the end only, where it is the end", () => {
    const session = createStartedSession({ maxStopPreventions: 0 });
    runStep(session, { text: "All done." });
    steerRun(session, "Not yet.", "before_stop");
    expect(told(session).filter((line) => line.startsWith("text"))).toEqual([]);
    expect(told(session).slice(-2)).toEqual(["message", "final"]);
  });
});

describe("what else happens", () => {
  test("is told: failures, compactions, restarts, late results", () => {
    const session = createStartedSession();
    const from = session.events.length;
    compactConversation(session, { keptFrom: 2, summary: "s", tokensBefore: 9, tokensAfter: 2 });
    prepareStep(session);
    failModelCall(session, { type: "retry", inMs: 5 });
    failModelCall(session, { type: "retry", inMs: 5 });
    restartRun(session);
    fireTimer(session, { timer: "backoff", attempt: 1 });
    restartRun(session);
    runStep(session, { calls: ["one"] });
    allowCall(session, 1);
    restartRun(session);
    appendEvent(session, { type: "late_result", callKey: "r1/1/1", outcome: "ok" });
    expect(session.events.slice(from)).toMatchObject([
      { type: "compacted", summary: "s", tokensBefore: 9, tokensAfter: 2 },
      { type: "attempt_failed", attempt: 1, model: "m", next: "retry", retryInMs: 5, failure: { kind: "overloaded" } },
      { type: "restarted" },
      { type: "restarted" },
      { type: "message", attempt: 3 },
      { type: "call_start" },
      { type: "step_finished", attempt: 3 },
      { type: "tool_call" },
      { type: "restarted" },
      { type: "tool_result", outcome: "interrupted", isError: true },
      { type: "call_complete" },
      { type: "late_result", callKey: "r1/1/1", outcome: "ok" },
    ]);
  });
});
