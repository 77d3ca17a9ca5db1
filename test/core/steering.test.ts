import { describe, expect, test } from "vitest";
import { advance, type EventBody, eventsOf, type InboxMessage, refusal, type State } from "../../src/core/index.js";
import {
  allowCall,
  appendEvent,
  askAboutCall,
  createSession,
  createStartedSession,
  endRun,
  failModelCall,
  finishCall,
  finishModelCall,
  prepareStep,
  queueRun,
  requestAbort,
  restartRun,
  runStep,
  type Session,
  startRun,
  steerRun,
  testLimits,
  userMessage,
} from "./session.js";

/** What a holder fills in; these messages say it themselves. */
const defaults = { limits: testLimits, model: "m" };

function asInput(mode: "queue" | "steer", runId = "r9"): InboxMessage {
  const session = { agent: "a", model: "m" };
  return {
    id: runId,
    at: 1,
    body: { type: "input", mode, runId, input: [userMessage("x")], limits: testLimits, session },
  };
}

function types(events: readonly EventBody[]): readonly string[] {
  return events.map((event) => event.type);
}

describe("a steer", () => {
  const places: readonly (readonly [where: string, make: () => Session, goOn: (session: Session) => void])[] = [
    ["before a model call", () => createStartedSession(), () => {}],
    [
      "during the last model call",
      () => {
        const session = createStartedSession();
        prepareStep(session);
        return session;
      },
      (session) => finishModelCall(session, { text: "done" }),
    ],
    [
      "while an attempt waits",
      () => {
        const session = createStartedSession();
        prepareStep(session);
        failModelCall(session, { type: "retry", inMs: 10 });
        return session;
      },
      (session) => {
        appendEvent(session, { type: "timer_fired", runId: "r1", timer: "backoff", attempt: 1 });
        finishModelCall(session, { text: "done" });
      },
    ],
    [
      "while a tool runs",
      () => {
        const session = createStartedSession();
        runStep(session, { calls: ["one"] });
        allowCall(session, 1);
        return session;
      },
      (session) => finishCall(session, 1),
    ],
    [
      "while a person is asked",
      () => {
        const session = createStartedSession();
        runStep(session, { calls: ["one"] });
        askAboutCall(session, 1);
        return session;
      },
      (session) =>
        appendEvent(session, {
          type: "answered",
          runId: "r1",
          callKey: "r1/1/1",
          answerId: "a",
          answer: { type: "deny" },
        }),
    ],
    [
      "while the run is about to end",
      () => {
        const session = createStartedSession();
        runStep(session, { text: "done" });
        return session;
      },
      () => {},
    ],
  ];

  test.each(places)("%s goes in before the next one", (_, make, goOn) => {
    const session = make();
    const calls = "calls" in session.state ? session.state.calls : [];
    steerRun(session, "also this");
    if ("calls" in session.state) expect(session.state.calls).toEqual(calls);
    goOn(session);
    expect(session.state).toMatchObject({ status: "preparing", for: "step", purpose: "step" });
    prepareStep(session);
    expect(session.transcript.messages.at(-1)).toEqual(userMessage("also this"));
    expect(session.state.queue).toEqual([]);
    finishModelCall(session, { text: "both" });
    endRun(session);
    expect(session.state.status).toBe("completed");
  });

  test("of the loop itself counts only at an end", () => {
    const session = createStartedSession();
    const before = session.state;
    steerRun(session, "not yet", "before_stop");
    expect(session.state).toBe(before);
  });

  test("of a session that rests is misuse", () => {
    const { state } = createSession();
    const event = { type: "steered", input: [], source: "user", at: 1 } as const;
    expect(refusal(state, event)).toEqual({
      type: "misuse",
      message: "'steered' cannot happen while a session is 'idle'",
    });
  });
});

describe("the queue", () => {
  test("starts in its order, one run after another", () => {
    const session = createStartedSession();
    queueRun(session, "r2", { maxSteps: 7 });
    queueRun(session, "r3");
    const before = session.state;
    queueRun(session, "r2");
    queueRun(session, "r1");
    expect(session.state).toBe(before);
    for (const runId of ["r2", "r3"]) {
      runStep(session, { text: "hi" });
      endRun(session);
      expect(session.state).toMatchObject({ status: "preparing", runId });
    }
    runStep(session, { finish: "content-filter" });
    expect(session.state).toMatchObject({ status: "failed", runId: "r3", queue: [] });
  });

  test("starts after a failure too, with the limits it was queued with", () => {
    const session = createStartedSession();
    queueRun(session, "r2", { maxSteps: 7 });
    runStep(session, { finish: "content-filter" });
    expect(session.state).toMatchObject({ status: "preparing", runId: "r2", limits: { maxSteps: 7 } });
    expect(session.events.at(-1)).toMatchObject({ type: "run_started", input: [userMessage("then r2")] });
  });

  test("holds a run until it is started from there, and starts it once", () => {
    const session = createStartedSession();
    queueRun(session, "r2");
    requestAbort(session);
    expect(session.state).toMatchObject({ status: "aborted", queue: [{ runId: "r2", seq: 3 }] });
    startRun(session, "r2");
    expect(session.state.status).toBe("aborted");
    const event = { type: "run_started", runId: "r2", limits: testLimits, queuedSeq: 3 } as const;
    appendEvent(session, { ...event, queuedSeq: 2 });
    expect(session.state.status).toBe("aborted");
    appendEvent(session, event);
    expect(session.state).toMatchObject({ status: "preparing", runId: "r2", queue: [] });
    expect(session.transcript.messages.at(-1)).toEqual(userMessage("then r2"));
  });
});

describe("a run that is aborted while it is queued", () => {
  test("never starts, and its end is told; the run under way goes on", () => {
    const session = createStartedSession();
    queueRun(session, "r2");
    queueRun(session, "r3");
    const from = session.events.length;
    appendEvent(session, { type: "abort_requested", runId: "r2", by: "me" });
    expect(session.events.slice(from)).toMatchObject([
      { type: "abort_requested", runId: "r2", by: "me" },
      { type: "final", runId: "r2", result: { status: "aborted", text: "Request aborted.", steps: 0 } },
    ]);
    appendEvent(session, { type: "abort_requested", runId: "r2" });
    expect(session.events).toHaveLength(from + 2);
    runStep(session, { text: "hi" });
    endRun(session);
    expect(session.state).toMatchObject({ status: "preparing", runId: "r3" });
  });

  test("does not come back after an abort of the run before it", () => {
    const session = createStartedSession();
    queueRun(session, "r2");
    requestAbort(session);
    const message: InboxMessage = { id: "a", at: 1, body: { type: "abort", runId: "r2" } };
    for (const body of eventsOf(message, session.state, defaults)) appendEvent(session, body);
    expect(session.state).toMatchObject({ status: "aborted", runId: "r1", queue: [] });
    expect(session.transcript.queued.size).toBe(0);
  });
});

describe("what is said to a session", () => {
  test("makes it, where there is none, and starts a run", () => {
    const { state } = createSession();
    expect(types(eventsOf(asInput("queue"), state, defaults))).toEqual(["session_created", "run_started"]);
    expect(types(eventsOf(asInput("steer"), state, defaults))).toEqual(["session_created", "run_started"]);
  });

  test("is queued or steers while a run is under way, and is queued while one is ending", () => {
    const session = createStartedSession();
    prepareStep(session);
    expect(types(eventsOf(asInput("queue"), session.state, defaults))).toEqual(["run_queued"]);
    expect(types(eventsOf(asInput("steer"), session.state, defaults))).toEqual(["steered"]);
    requestAbort(session);
    expect(types(eventsOf(asInput("steer"), session.state, defaults))).toEqual(["run_queued"]);
  });

  test("twice is said once", () => {
    const session = createStartedSession();
    expect(eventsOf(asInput("queue", "r1"), session.state, defaults)).toEqual([]);
    requestAbort(session);
    expect(eventsOf(asInput("queue", "r1"), session.state, defaults)).toEqual([]);
  });

  test("waits while another session has to be told of the run before", () => {
    const session = createStartedSession({}, { parent: { sessionId: "p", callKey: "r0/1/1" } });
    runStep(session, { text: "hi" });
    endRun(session);
    expect(types(eventsOf(asInput("queue"), session.state, defaults))).toEqual(["run_queued"]);
  });

  test("as an abort counts for the run that it names, or the one under way", () => {
    const { state } = createStartedSession();
    const abort = (runId?: string): InboxMessage => ({
      id: "a",
      at: 1,
      body: { type: "abort", note: "enough", by: "me", ...(runId === undefined ? {} : { runId }) },
    });
    expect(eventsOf(abort(), state, defaults)).toEqual([
      { type: "abort_requested", runId: "r1", note: "enough", by: "me" },
    ]);
    expect(types(eventsOf(abort("r1"), state, defaults))).toEqual(["abort_requested"]);
    expect(eventsOf(abort("r2"), state, defaults)).toEqual([]);
    expect(eventsOf(abort(), createSession().state, defaults)).toEqual([]);
  });

  test("as an answer or a result counts for a call that waits for it", () => {
    const session = createStartedSession();
    runStep(session, { calls: ["one", "two"] });
    askAboutCall(session, 1);
    allowCall(session, 2, { recover: "fail", external: true });
    const answer = (callKey: string): InboxMessage => ({
      id: "a",
      at: 1,
      body: { type: "answer", callKey, answer: { type: "approve" }, by: "me", inputHash: "hash 1" },
    });
    const result = (callKey: string): InboxMessage => ({
      id: "b",
      at: 1,
      body: { type: "result", callKey, output: { type: "text", text: "x" }, isError: true },
    });
    expect(eventsOf(answer("r1/1/1"), session.state, defaults)).toMatchObject([
      { type: "answered", by: "me", answerId: "a" },
    ]);
    expect(eventsOf(answer("r1/1/2"), session.state, defaults)).toEqual([]);
    expect(eventsOf(result("r1/1/1"), session.state, defaults)).toEqual([]);
    expect(eventsOf(result("r1/1/2"), session.state, defaults)).toMatchObject([
      { type: "tool_finished", outcome: "error" },
    ]);
    for (const message of [answer("r1/1/1"), result("r1/1/2")])
      expect(eventsOf(message, createSession().state, defaults)).toEqual([]);
  });

  test("as a result counts for a call that runs only where a child tells it, which may be fast", () => {
    const session = createStartedSession();
    runStep(session, { calls: ["one"] });
    allowCall(session, 1);
    const result = { type: "result", callKey: "r1/1/1", output: { type: "text", text: "x" } } as const;
    expect(eventsOf({ id: "b", at: 1, body: result }, session.state, defaults)).toEqual([]);
    const child = { usage: { inputTokens: 3 } };
    expect(eventsOf({ id: "b", at: 1, body: { ...result, child } }, session.state, defaults)).toMatchObject([
      { type: "tool_finished", callKey: "r1/1/1", usage: { inputTokens: 3 } },
    ]);
  });

  test("as a result of a call that was given up is a note", () => {
    const session = createStartedSession();
    runStep(session, { calls: ["one"] });
    allowCall(session, 1);
    restartRun(session);
    const message: InboxMessage = {
      id: "b",
      at: 1,
      body: { type: "result", callKey: "r1/1/1", output: { type: "text", text: "x" } },
    };
    expect(types(eventsOf(message, session.state, defaults))).toEqual(["late_result"]);
    const after: State = advance(session.state, {
      type: "late_result",
      callKey: "r1/1/1",
      outcome: "ok",
      at: 1,
    }).state;
    expect(eventsOf(message, after, defaults)).toEqual([]);
  });
});
