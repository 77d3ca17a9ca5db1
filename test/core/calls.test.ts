import { describe, expect, test } from "vitest";
import {
  approvalsOf,
  type CallPolicy,
  effects,
  isWaiting,
  type RunLimits,
  refusal,
  textOfOutput,
  transition,
} from "../../src/core/index.js";
import { verifies } from "../verifies.js";
import {
  allowCall,
  answerCall,
  appendEvent,
  askAboutCall,
  createStartedSession,
  decideCall,
  endRun,
  failPolicy,
  finishCall,
  fireTimer,
  keyOf,
  listCallStatuses,
  listOutcomes,
  prepareStep,
  requireRun,
  restartRun,
  runStep,
  type Session,
  sessionId,
} from "./session.js";

const sequential: CallPolicy = { recover: "fail", sequential: true };
const external: CallPolicy = { recover: "fail", external: true };

/** A session in a step with so many calls. */
function calling(count: number, given: Partial<RunLimits> = {}): Session {
  const session = createStartedSession(given);
  runStep(session, { calls: Array.from({ length: count }, (_, index) => `tool${index + 1}`) });
  return session;
}

function wanted(session: Session): readonly string[] {
  return effects(session.state).map((effect) => effect.key);
}

/** What the model is told of the calls of the last step. */
function results(session: Session): readonly string[] {
  const last = session.transcript.messages.at(-1);
  return last?.role === "tool" ? last.parts.map((part) => textOfOutput(part.output)) : [];
}

test(
  "a tool that goes on with its questions may have several open, and each ends with its own answer",
  verifies("TOOL-13#mcp"),
  () => {
    const session = calling(1);
    allowCall(session, 1);
    const { runId } = requireRun(session.state);
    const callKey = keyOf(session, 1);
    const openIn = () => {
      const [call] = "calls" in session.state ? session.state.calls : [];
      return call?.status === "running" ? call.held?.map(({ step }) => step) : undefined;
    };
    for (const step of ["who", "when", "where"])
      appendEvent(session, { type: "tool_asked", runId, callKey, attempt: 1, step, message: `${step}?`, held: true });
    expect(openIn()).toEqual(["who", "when", "where"]);
    for (const [questionId, left] of [
      ["when", ["who", "where"]],
      ["where", ["who"]],
      ["who", undefined],
    ] as const) {
      const answer = { type: "reply", value: 1 } as const;
      appendEvent(session, { type: "answered", runId, callKey, answerId: questionId, answer, questionId });
      expect(openIn()).toEqual(left);
    }
  },
);

describe("calls side by side", () => {
  test("run up to the limit, and the next in order starts in the commit that frees a slot", verifies("TOOL-7"), () => {
    const session = calling(4, { toolConcurrency: 2 });
    for (const position of [4, 3, 2, 1]) allowCall(session, position);
    expect(listCallStatuses(session.state)).toEqual(["ready", "ready", "running", "running"]);
    finishCall(session, 4);
    expect(listCallStatuses(session.state)).toEqual(["running", "ready", "running", "done"]);
    finishCall(session, 3);
    expect(listCallStatuses(session.state)).toEqual(["running", "running", "done", "done"]);
  });

  test("leave their results in call order, however they end", verifies("TOOL-7"), () => {
    const session = calling(3);
    for (const position of [1, 2, 3]) allowCall(session, position);
    for (const position of [3, 1, 2]) finishCall(session, position);
    expect(results(session)).toEqual(["result 1", "result 2", "result 3"]);
    expect(session.state.status).toBe("preparing");
  });

  test("one at a time run in call order, whatever is decided first", verifies("TOOL-7"), () => {
    const session = calling(3, { toolConcurrency: 1 });
    allowCall(session, 3);
    allowCall(session, 2);
    expect(listCallStatuses(session.state)).toEqual(["deciding", "ready", "ready"]);
    allowCall(session, 1);
    expect(listCallStatuses(session.state)).toEqual(["running", "ready", "ready"]);
    finishCall(session, 1);
    expect(listCallStatuses(session.state)).toEqual(["done", "running", "ready"]);
  });

  test("one at a time do not wait for a person: what is allowed runs", () => {
    const session = calling(2, { toolConcurrency: 1 });
    askAboutCall(session, 1);
    allowCall(session, 2);
    expect(listCallStatuses(session.state)).toEqual(["asking", "running"]);
  });

  test("make room for one that runs alone", verifies("TOOL-7"), () => {
    const session = calling(4);
    allowCall(session, 1);
    allowCall(session, 2, sequential);
    allowCall(session, 3);
    allowCall(session, 4, sequential);
    expect(listCallStatuses(session.state)).toEqual(["running", "ready", "ready", "ready"]);
    finishCall(session, 1);
    expect(listCallStatuses(session.state)).toEqual(["done", "running", "ready", "ready"]);
    finishCall(session, 2);
    expect(listCallStatuses(session.state)).toEqual(["done", "done", "running", "ready"]);
    finishCall(session, 3);
    expect(listCallStatuses(session.state)).toEqual(["done", "done", "done", "running"]);
  });

  test("count a session that a call waits for as running", () => {
    const session = calling(3, { toolConcurrency: 1 });
    for (const position of [1, 2, 3]) allowCall(session, position);
    waits(session, 1, "child");
    expect(listCallStatuses(session.state)).toEqual(["waiting", "ready", "ready"]);
    expect(isWaiting(session.state)).toBe(true);
    expect(effects(session.state)).toEqual([]);
    finishCall(session, 1);
    expect(listCallStatuses(session.state)).toEqual(["done", "running", "ready"]);
    expect(isWaiting(session.state)).toBe(false);
  });
});

function waits(session: Session, position: number, on: "child" | "external"): void {
  const { runId } = requireRun(session.state);
  const childId = on === "child" ? { childId: "c1" } : {};
  appendEvent(session, { type: "tool_waiting", runId, callKey: keyOf(session, position), on, ...childId });
}

describe("a call that is not run", () => {
  test("has a result that says why, whatever the reason", verifies("TOOL-5#results"), () => {
    const session = calling(4);
    decideCall(session, 1, { verdict: "deny", reason: "not here" });
    decideCall(session, 2, { verdict: "block", reason: "too many" });
    decideCall(session, 3, { verdict: "reject", message: "Unknown tool 'tool3'" });
    expect(listOutcomes(session.state)).toEqual(["denied", "blocked", "error", "deciding"]);
    allowCall(session, 4);
    finishCall(session, 4, { outcome: "error", output: { type: "text", text: "Error: broken" } });
    expect(results(session)).toEqual([
      "Error: Denied: not here. The call was not run.",
      "Error: Blocked: too many. The call was not run.",
      "Error: Unknown tool 'tool3'",
      "Error: broken",
    ]);
    expect(session.state.status).toBe("preparing");
  });

  test("ends the run where the refusal says so; its siblings that run are waited for", () => {
    const session = calling(3);
    allowCall(session, 1);
    decideCall(session, 2, { verdict: "deny", reason: "never", stopRun: true });
    expect(listOutcomes(session.state)).toEqual(["running", "denied", "aborted"]);
    finishCall(session, 1);
    expect(session.state).toMatchObject({ status: "aborted", reason: "denied_stop" });
    expect(results(session)[2]).toBe("Error: Aborted before it started. The call was not run.");
  });

  test("ends the run by a hook's word too", () => {
    const session = calling(1);
    decideCall(session, 1, { verdict: "block", reason: "stop", stopRun: true });
    expect(session.state).toMatchObject({ status: "aborted", reason: "hook_stopped" });
  });
});

describe("the signal that a run is done", () => {
  test("waits for siblings that run, skips the others and keeps its own result", verifies("TOOL-5#results"), () => {
    const session = calling(3);
    allowCall(session, 1);
    allowCall(session, 2);
    finishCall(session, 1, { done: { message: "all done" } });
    expect(listOutcomes(session.state)).toEqual(["ok", "running", "skipped"]);
    finishCall(session, 2);
    expect(session.state).toMatchObject({ status: "preparing", for: "finish", reason: "done" });
    expect(results(session)).toEqual([
      "result 1",
      "result 2",
      "Error: Skipped: another call of this step ended the run. The call was not run.",
    ]);
    endRun(session);
    const final = session.events.at(-1);
    expect(final).toMatchObject({ type: "final", result: { status: "completed", reason: "done", text: "all done" } });
  });

  test("without a message leaves the text of its step", () => {
    const session = createStartedSession();
    runStep(session, { text: "It works.", calls: ["done"] });
    allowCall(session, 1);
    finishCall(session, 1, { done: {} });
    endRun(session);
    expect(session.events.at(-1)).toMatchObject({ type: "final", result: { reason: "done", text: "It works." } });
  });

  test("is the first one that came", () => {
    const session = calling(3);
    for (const position of [1, 2, 3]) allowCall(session, position);
    finishCall(session, 2, { done: { message: "first" } });
    const seq = session.log.length;
    finishCall(session, 1, { done: { message: "second" } });
    expect(session.state).toMatchObject({ doneSeq: seq });
    finishCall(session, 3);
    endRun(session);
    expect(session.events.at(-1)).toMatchObject({ type: "final", result: { text: "first" } });
  });

  test("counts for its own step: a later one says its own", () => {
    const session = calling(1);
    allowCall(session, 1);
    finishCall(session, 1, { done: { message: "too early" } });
    appendEvent(session, { type: "steered", input: [{ role: "user", parts: [] }], source: "before_stop" });
    runStep(session, { calls: ["done"] });
    allowCall(session, 1);
    finishCall(session, 1, { done: { message: "now" } });
    endRun(session);
    expect(session.events.at(-1)).toMatchObject({ type: "final", result: { text: "now" } });
  });
});

describe("a call that asks", () => {
  test("waits while others run; with only such calls left the session waits for a person", () => {
    const session = calling(3);
    askAboutCall(session, 1);
    allowCall(session, 2);
    askAboutCall(session, 3);
    expect(session.state.status).toBe("tool_running");
    finishCall(session, 2);
    expect(session.state.status).toBe("awaiting_human");
    expect(effects(session.state)).toEqual([]);
    expect(approvalsOf(sessionId, session.state, session.transcript)).toMatchObject([
      { callKey: "r1/1/1", name: "tool1", input: { n: 0 }, inputHash: "hash 1", why: "policy", question: "ok?" },
      { callKey: "r1/1/3", name: "tool3", input: { n: 2 }, inputHash: "hash 3", why: "policy" },
    ]);
  });

  test("runs as soon as it is approved, while others still wait", () => {
    const session = calling(2);
    askAboutCall(session, 1);
    askAboutCall(session, 2);
    answerCall(session, 2, { type: "approve" }, "hash 2");
    expect(listCallStatuses(session.state)).toEqual(["asking", "running"]);
    finishCall(session, 2);
    expect(session.state.status).toBe("awaiting_human");
    answerCall(session, 1, { type: "deny", note: "not today" });
    expect(results(session)).toEqual(["Error: Denied: not today. The call was not run.", "result 2"]);
  });

  test("counts one answer: a second one, and one to other input, change nothing and say so", () => {
    const session = calling(1);
    askAboutCall(session, 1);
    expect(answerCall(session, 1, { type: "approve" }, "another hash")).toEqual([]);
    answerCall(session, 1, { type: "approve" }, "hash 1");
    expect(listCallStatuses(session.state)).toEqual(["running"]);
    expect(answerCall(session, 1, { type: "deny" }, "hash 1")).toEqual([]);
    const late = { type: "answered", runId: "r1", callKey: "r1/1/1", answerId: "b", answer: { type: "deny" }, at: 1 };
    expect(refusal(session.state, late as Parameters<typeof refusal>[1])?.type).toBe("stale");
  });

  test("is decided again with an edited input, and runs with it; both are shown", () => {
    const session = calling(1);
    askAboutCall(session, 1);
    answerCall(session, 1, { type: "modify", input: { n: 7 }, inputHash: "hash of 7" });
    expect(wanted(session)).toEqual([`r1/1/1/decide/${session.log.length}`]);
    allowCall(session, 1);
    expect(listCallStatuses(session.state)).toEqual(["running"]);
    finishCall(session, 1);
    const [message, result] = session.transcript.messages.slice(-2);
    expect(message).toMatchObject({ parts: [{ type: "tool_call", input: { n: 0 } }] });
    expect(result).toMatchObject({
      parts: [{ output: { text: '(A person changed the input to {"n":7}.)\nresult 1' } }],
    });
  });

  test("asks again where the edited input cannot be used, and takes only answers to that", () => {
    const session = calling(1);
    askAboutCall(session, 1);
    answerCall(session, 1, { type: "modify", input: { n: "x" }, inputHash: "hash of x" });
    decideCall(session, 1, { verdict: "ask", policy: failPolicy, inputHash: "hash of x", question: "n is no number" });
    expect(session.state.status).toBe("awaiting_human");
    expect(answerCall(session, 1, { type: "approve" }, "hash 1")).toEqual([]);
    answerCall(session, 1, { type: "approve" }, "hash of x");
    expect(listCallStatuses(session.state)).toEqual(["running"]);
  });

  test("is denied when nobody answered in time, and not before", () => {
    const session = calling(1);
    askAboutCall(session, 1, { expiresAt: 5_000 });
    expect(effects(session.state)).toMatchObject([{ type: "sleep", timer: "approval", until: 5_000 }]);
    expect(fireTimer(session, { timer: "approval", callKey: "r1/1/1" })).toEqual([]);
    session.at = 5_000;
    fireTimer(session, { timer: "approval", callKey: "r1/1/1" });
    expect(results(session)).toEqual([
      "Error: Denied: nobody answered before the approval expired. The call was not run.",
    ]);
  });

  test("makes no run older: the time that a person takes does not count", () => {
    const session = createStartedSession({ maxWallClockMs: 1_000 });
    runStep(session, { calls: ["one"] });
    askAboutCall(session, 1);
    expect(effects(session.state)).toEqual([]);
    session.at += 1_000_000;
    expect(fireTimer(session, { timer: "wall_clock" })).toEqual([]);
    answerCall(session, 1, { type: "approve" });
    expect(requireRun(session.state).waitedMs).toBe(1_000_000);
    expect(effects(session.state)).toMatchObject([{ type: "run_tool" }, { type: "sleep", until: 1_002_000 }]);
    finishCall(session, 1);
    expect(session.state).toMatchObject({ status: "preparing", for: "step" });
  });

  test("does not ask a policy again after a restart", () => {
    const session = calling(2);
    askAboutCall(session, 1);
    allowCall(session, 2);
    restartRun(session);
    expect(listOutcomes(session.state)).toEqual(["asking", "interrupted"]);
    expect(wanted(session)).toEqual([]);
  });
});

describe("a call whose result comes from outside", () => {
  test("waits as soon as it is allowed, and takes no slot", () => {
    const session = calling(2, { toolConcurrency: 1 });
    allowCall(session, 1, external);
    allowCall(session, 2);
    expect(listCallStatuses(session.state)).toEqual(["waiting", "running"]);
    finishCall(session, 2);
    expect(session.state.status).toBe("awaiting_human");
    expect(approvalsOf(sessionId, session.state, session.transcript)).toMatchObject([{ why: "external" }]);
    finishCall(session, 1, { output: { type: "json", value: { sent: true } } });
    expect(results(session)).toEqual(['{"sent":true}', "result 2"]);
  });

  test("waits after its approval too, and is announced then", () => {
    const session = calling(1);
    decideCall(session, 1, { verdict: "ask", policy: external, inputHash: "h" });
    answerCall(session, 1, { type: "approve" });
    expect(listCallStatuses(session.state)).toEqual(["waiting"]);
    expect(session.state.status).toBe("awaiting_human");
    const requests = session.events.filter((event) => event.type === "approval_requested");
    expect(requests).toMatchObject([{ why: "policy" }, { why: "external" }]);
  });

  test("keeps the session waiting, but not for a person, where it comes from another session", () => {
    const session = calling(1);
    allowCall(session, 1);
    waits(session, 1, "child");
    expect(session.state.status).toBe("tool_running");
    expect(isWaiting(session.state)).toBe(true);
    finishCall(session, 1, { usage: { inputTokens: 100 } });
    expect(session.state).toMatchObject({ status: "preparing", usage: { inputTokens: 110, outputTokens: 5 } });
  });
});

describe("a result", () => {
  test("is taken once: a call that has one is never run again", verifies("TOOL-5#results", "TOOL-6"), () => {
    const session = calling(2);
    allowCall(session, 1, { recover: "rerun" });
    allowCall(session, 2, { recover: "rerun" });
    finishCall(session, 1);
    const again = { type: "tool_finished", runId: "r1", callKey: "r1/1/1", outcome: "ok", at: 1 } as const;
    expect(transition(session.state, again)).toBe(session.state);
    for (let life = 1; life <= 4; life += 1) {
      restartRun(session);
      expect(wanted(session)).toEqual([`r1/1/2/run/${life + 1}`]);
    }
    finishCall(session, 2);
    prepareStep(session);
    expect(wanted(session)).toEqual(["r1/2/model/1"]);
  });

  test("of an attempt that is past does not count", () => {
    const session = calling(1);
    allowCall(session, 1, { recover: "rerun" });
    restartRun(session);
    finishCall(session, 1, { attempt: 1 });
    expect(listCallStatuses(session.state)).toEqual(["running"]);
    finishCall(session, 1, { attempt: 2 });
    expect(session.state.status).toBe("preparing");
  });

  test("is not made by anybody but the machine for a call that it ended", () => {
    const session = calling(2);
    const denied = { type: "tool_finished", runId: "r1", callKey: "r1/1/1", outcome: "denied", at: 1 } as const;
    expect(transition(session.state, denied)).toBe(session.state);
    askAboutCall(session, 1);
    expect(transition(session.state, denied)).toBe(session.state);
    const settling = transition(session.state, { type: "abort_requested", runId: "r1", at: 1 });
    expect(listCallStatuses(settling)).toEqual(["settling", "settling"]);
    expect(transition(settling, denied)).toBe(settling);
    expect(transition(settling, { ...denied, outcome: "aborted" })).toBe(settling);
  });
});

describe("the input of a call", () => {
  test("is found in the message, or where a hook or a person changed it", () => {
    const session = calling(3);
    const message = session.log.length;
    decideCall(session, 1, { verdict: "allow", policy: failPolicy, input: { n: 9 }, inputHash: "h" });
    const decision = session.log.length;
    askAboutCall(session, 2);
    answerCall(session, 2, { type: "modify", input: { n: 8 }, inputHash: "edited" });
    const edit = session.log.length;
    expect(session.state).toMatchObject({
      calls: [{ inputSeq: decision, inputHash: "h" }, { inputSeq: edit, inputHash: "edited" }, { inputSeq: message }],
    });
    expect([...session.transcript.calls.values()].map((call) => call.input)).toEqual([{ n: 9 }, { n: 8 }, { n: 2 }]);
  });
});
