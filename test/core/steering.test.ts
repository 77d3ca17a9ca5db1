import { describe, expect, test } from "vitest";
import { advance, type EventBody, eventsOf, type InboxMessage, refusal, type State } from "../../src/core/index.js";
import {
  aborts,
  allows,
  answers,
  asks,
  createSession,
  ends,
  fails,
  finishes,
  happen,
  limits,
  prepared,
  queue,
  restarts,
  type Session,
  start,
  startedSession,
  steer,
  step,
  userMessage,
} from "./session.js";

/** What a holder fills in; these messages say it themselves. */
const defaults = { limits, model: "m" };

function asInput(mode: "queue" | "steer", runId = "r9"): InboxMessage {
  const session = { agent: "a", model: "m" };
  return { id: runId, at: 1, body: { type: "input", mode, runId, input: [userMessage("x")], limits, session } };
}

function types(events: readonly EventBody[]): readonly string[] {
  return events.map((event) => event.type);
}

describe("a steer", () => {
  const places: readonly (readonly [where: string, make: () => Session, goOn: (session: Session) => void])[] = [
    ["before a model call", () => startedSession(), () => {}],
    [
      "during the last model call",
      () => {
        const session = startedSession();
        prepared(session);
        return session;
      },
      (session) => answers(session, { text: "done" }),
    ],
    [
      "while an attempt waits",
      () => {
        const session = startedSession();
        prepared(session);
        fails(session, { type: "retry", inMs: 10 });
        return session;
      },
      (session) => {
        happen(session, { type: "timer_fired", runId: "r1", timer: "backoff", attempt: 1 });
        answers(session, { text: "done" });
      },
    ],
    [
      "while a tool runs",
      () => {
        const session = startedSession();
        step(session, { calls: ["one"] });
        allows(session, 1);
        return session;
      },
      (session) => finishes(session, 1),
    ],
    [
      "while a person is asked",
      () => {
        const session = startedSession();
        step(session, { calls: ["one"] });
        asks(session, 1);
        return session;
      },
      (session) =>
        happen(session, {
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
        const session = startedSession();
        step(session, { text: "done" });
        return session;
      },
      () => {},
    ],
  ];

  test.each(places)("%s goes in before the next one", (_, make, goOn) => {
    const session = make();
    const calls = "calls" in session.state ? session.state.calls : [];
    steer(session, "also this");
    if ("calls" in session.state) expect(session.state.calls).toEqual(calls);
    goOn(session);
    expect(session.state).toMatchObject({ status: "preparing", for: "step", purpose: "step" });
    prepared(session);
    expect(session.transcript.messages.at(-1)).toEqual(userMessage("also this"));
    expect(session.state.queue).toEqual([]);
    answers(session, { text: "both" });
    ends(session);
    expect(session.state.status).toBe("completed");
  });

  test("of the loop itself counts only at an end", () => {
    const session = startedSession();
    const before = session.state;
    steer(session, "not yet", "before_stop");
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
    const session = startedSession();
    queue(session, "r2", { maxSteps: 7 });
    queue(session, "r3");
    const before = session.state;
    queue(session, "r2");
    queue(session, "r1");
    expect(session.state).toBe(before);
    for (const runId of ["r2", "r3"]) {
      step(session, { text: "hi" });
      ends(session);
      expect(session.state).toMatchObject({ status: "preparing", runId });
    }
    step(session, { finish: "content-filter" });
    expect(session.state).toMatchObject({ status: "failed", runId: "r3", queue: [] });
  });

  test("starts after a failure too, with the limits it was queued with", () => {
    const session = startedSession();
    queue(session, "r2", { maxSteps: 7 });
    step(session, { finish: "content-filter" });
    expect(session.state).toMatchObject({ status: "preparing", runId: "r2", limits: { maxSteps: 7 } });
    expect(session.events.at(-1)).toMatchObject({ type: "run_started", input: [userMessage("then r2")] });
  });

  test("holds a run until it is started from there, and starts it once", () => {
    const session = startedSession();
    queue(session, "r2");
    aborts(session);
    expect(session.state).toMatchObject({ status: "aborted", queue: [{ runId: "r2", seq: 3 }] });
    start(session, "r2");
    expect(session.state.status).toBe("aborted");
    const event = { type: "run_started", runId: "r2", limits, queuedSeq: 3 } as const;
    happen(session, { ...event, queuedSeq: 2 });
    expect(session.state.status).toBe("aborted");
    happen(session, event);
    expect(session.state).toMatchObject({ status: "preparing", runId: "r2", queue: [] });
    expect(session.transcript.messages.at(-1)).toEqual(userMessage("then r2"));
  });
});

describe("a run that is aborted while it is queued", () => {
  test("never starts, and its end is told; the run under way goes on", () => {
    const session = startedSession();
    queue(session, "r2");
    queue(session, "r3");
    const from = session.events.length;
    happen(session, { type: "abort_requested", runId: "r2", by: "me" });
    expect(session.events.slice(from)).toMatchObject([
      { type: "abort_requested", runId: "r2", by: "me" },
      { type: "final", runId: "r2", result: { status: "aborted", text: "Request aborted.", steps: 0 } },
    ]);
    happen(session, { type: "abort_requested", runId: "r2" });
    expect(session.events).toHaveLength(from + 2);
    step(session, { text: "hi" });
    ends(session);
    expect(session.state).toMatchObject({ status: "preparing", runId: "r3" });
  });

  test("does not come back after an abort of the run before it", () => {
    const session = startedSession();
    queue(session, "r2");
    aborts(session);
    const message: InboxMessage = { id: "a", at: 1, body: { type: "abort", runId: "r2" } };
    for (const body of eventsOf(message, session.state, defaults)) happen(session, body);
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
    const session = startedSession();
    prepared(session);
    expect(types(eventsOf(asInput("queue"), session.state, defaults))).toEqual(["run_queued"]);
    expect(types(eventsOf(asInput("steer"), session.state, defaults))).toEqual(["steered"]);
    aborts(session);
    expect(types(eventsOf(asInput("steer"), session.state, defaults))).toEqual(["run_queued"]);
  });

  test("twice is said once", () => {
    const session = startedSession();
    expect(eventsOf(asInput("queue", "r1"), session.state, defaults)).toEqual([]);
    aborts(session);
    expect(eventsOf(asInput("queue", "r1"), session.state, defaults)).toEqual([]);
  });

  test("waits while another session has to be told of the run before", () => {
    const session = startedSession({}, { parent: { sessionId: "p", callKey: "r0/1/1" } });
    step(session, { text: "hi" });
    ends(session);
    expect(types(eventsOf(asInput("queue"), session.state, defaults))).toEqual(["run_queued"]);
  });

  test("as an abort counts for the run that it names, or the one under way", () => {
    const { state } = startedSession();
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
    const session = startedSession();
    step(session, { calls: ["one", "two"] });
    asks(session, 1);
    allows(session, 2, { recover: "fail", external: true });
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
    const session = startedSession();
    step(session, { calls: ["one"] });
    allows(session, 1);
    const result = { type: "result", callKey: "r1/1/1", output: { type: "text", text: "x" } } as const;
    expect(eventsOf({ id: "b", at: 1, body: result }, session.state, defaults)).toEqual([]);
    const child = { usage: { inputTokens: 3 } };
    expect(eventsOf({ id: "b", at: 1, body: { ...result, child } }, session.state, defaults)).toMatchObject([
      { type: "tool_finished", callKey: "r1/1/1", usage: { inputTokens: 3 } },
    ]);
  });

  test("as a result of a call that was given up is a note", () => {
    const session = startedSession();
    step(session, { calls: ["one"] });
    allows(session, 1);
    restarts(session);
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
