import { describe, expect, test } from "vitest";
import {
  advance,
  dueAt,
  type Event,
  type EventBody,
  type EventType,
  effects,
  formatVersion,
  initialState,
  isTerminal,
  type Pair,
  refusal,
  type State,
  type Status,
  transition,
  transitionTable,
} from "../../src/core/index.js";
import { verifies } from "../verifies.js";
import { reservedEvents } from "./reserved-events.js";
import {
  aborts,
  allows,
  answerOf,
  answers,
  asks,
  createSession,
  decides,
  ends,
  fails,
  finishes,
  happen,
  keyOf,
  limits,
  prepared,
  queue,
  restarts,
  runOf,
  type Session,
  startedSession,
  step,
  userMessage,
} from "./session.js";

const child = { parent: { sessionId: "p", callKey: "r0/1/1" } };

/** Sessions in every state, so that every event that may apply there has one to apply to. */
const examples: { readonly [S in Status]: readonly (() => Session)[] } = {
  idle: [
    createSession,
    () => ({ ...createSession(), state: { ...initialState, session: { agent: "a", model: "m" } } }),
  ],
  preparing: [
    () => startedSession({ maxWallClockMs: 60_000 }),
    () => {
      const session = withInterrupted({});
      prepared(session);
      fails(session, { type: "compact" }, "context_overflow");
      return session;
    },
    () => {
      const session = startedSession();
      step(session, { text: "hi" });
      return session;
    },
    () => {
      const session = startedSession();
      step(session, { calls: ["transfer_to_b"] });
      allows(session, 1, { recover: "rerun", handoff: "b" });
      return session;
    },
  ],
  model_running: [
    () => {
      const session = withInterrupted({});
      prepared(session);
      return session;
    },
    () => {
      const session = startedSession();
      prepared(session);
      fails(session, { type: "retry", inMs: 100 });
      return session;
    },
  ],
  tool_running: [
    () => {
      const session = withInterrupted({});
      step(session, { calls: ["one", "two", "three"] });
      allows(session, 2);
      asks(session, 3, { expiresAt: 2_000 });
      return session;
    },
    () => {
      const session = startedSession();
      step(session, { calls: ["one"] });
      allows(session, 1, { recover: "rerun", retry: { attempts: 2, baseMs: 10, maxMs: 10 } });
      return session;
    },
  ],
  awaiting_human: [
    () => {
      const session = withInterrupted({});
      step(session, { calls: ["one", "two"] });
      asks(session, 1, { expiresAt: 1_000 });
      allows(session, 2, { recover: "fail", external: true });
      return session;
    },
    () => askingChild(),
    () => askingTool(),
  ],
  completed: [
    () => endedSession({}),
    () => endedSession(child),
    () => leaving(endedSession({})),
    () => compacting(endedSession({})),
  ],
  failed: [
    () => stoppedSession({}, (session) => answers(session, { finish: "content-filter" })),
    () => stoppedSession(child, (session) => answers(session, { finish: "content-filter" })),
    () => leaving(stoppedSession({}, (session) => answers(session, { finish: "content-filter" }))),
    () => compacting(stoppedSession({}, (session) => answers(session, { finish: "content-filter" }))),
  ],
  aborted: [
    () => stoppedSession({}, abandon),
    () => stoppedSession(child, abandon),
    () => leaving(stoppedSession({}, abandon)),
    () => compacting(stoppedSession({}, abandon)),
  ],
};

/** A person has asked for a compaction at rest. */
function compacting(session: Session): Session {
  happen(session, { type: "compaction_requested" });
  return session;
}

/** A run that waits for a person because a child session does. */
function askingChild(): Session {
  const session = startedSession();
  step(session, { calls: ["one"] });
  allows(session, 1);
  const ofCall = { runId: "r1", callKey: keyOf(session, 1) };
  happen(session, { type: "tool_waiting", ...ofCall, on: "child", childId: "c" });
  happen(session, { type: "child_waiting", ...ofCall, childId: "c", askedAt: 900, childSeq: 8 });
  return session;
}

/** A run that waits for the answer to a tool. */
function askingTool(): Session {
  const session = startedSession();
  step(session, { calls: ["one"] });
  allows(session, 1, { recover: "rerun", durable: true });
  const ofCall = { runId: "r1", callKey: keyOf(session, 1), attempt: 1 };
  happen(session, { type: "tool_asked", ...ofCall, step: "first", message: "Which account?" });
  return session;
}

const timing = { startedAt: 1_000, durationMs: 1 };

/** Hooks are still to be called after the run. */
function leaving(session: Session): Session {
  const { state } = session;
  if (isTerminal(state))
    happen(session, { type: "migrated", from: 0, state: { ...state, afterRunHooksPending: true } });
  return session;
}

function abandon(session: Session): void {
  aborts(session);
  restarts(session);
}

/** A run whose first step had a call that was interrupted by a crash. */
function withInterrupted(info: Parameters<typeof startedSession>[1]): Session {
  const session = startedSession({}, info);
  step(session, { calls: ["one"] });
  allows(session, 1, { recover: "fail" });
  restarts(session);
  return session;
}

function endedSession(info: Parameters<typeof startedSession>[1]): Session {
  const session = withInterrupted(info);
  step(session, { text: "hi" });
  if (info === child) queue(session, "r5");
  ends(session);
  return session;
}

function stoppedSession(info: Parameters<typeof startedSession>[1], end: (session: Session) => void): Session {
  const session = withInterrupted(info);
  prepared(session);
  if (info === child) queue(session, "r5");
  end(session);
  return session;
}

/** Events of a type that fit a session as well as any can. */
function eventsFor(type: EventType, session: Session): readonly Event[] {
  return bodiesFor(type, session).map((body) => ({ ...body, at: 5_000 }));
}

function bodiesFor(type: EventType, session: Session): readonly EventBody[] {
  const { state } = session;
  const run = state.status === "idle" ? { runId: "r0", modelCallIndex: 1 } : runOf(state);
  const { runId, modelCallIndex } = run;
  const keys = "calls" in state ? state.calls.map((call) => call.callKey) : ["r0/1/1"];
  const input = [userMessage("more")];
  switch (type) {
    case "session_created":
      return [{ type, v: formatVersion, agent: "a", model: "m" }];
    case "run_started":
      return [{ type, runId: "r9", limits, input }];
    case "run_queued":
      return [{ type, runId: "r9", limits, input }];
    case "steered":
      return [{ type, input, source: "user" }];
    case "prepared":
      return [{ type, runId, modelCallIndex, contextSeq: state.seq, purpose: "step" }];
    case "compaction_started":
      return [{ type, runId, modelCallIndex }];
    case "compacted":
      return [
        { type, runId, keptFrom: 2, summary: "so far" },
        { type, keptFrom: 2, summary: "so far" },
      ];
    case "model_finished":
      return state.status === "idle" ? [answerOf(startedSession().state, {})] : [answerOf(state, { text: "hi" })];
    case "model_failed": {
      const { timing, attempt } = answerOf(state.status === "idle" ? startedSession().state : state, {});
      const failure = { kind: "network", message: "no" } as const;
      const next = { type: "retry", inMs: 5 } as const;
      return [{ type, runId, modelCallIndex, attempt, model: "m", failure, next, timing }];
    }
    case "timer_fired":
      return [
        { type, runId, timer: "wall_clock" },
        { type, runId, timer: "backoff", attempt: 1 },
        ...keys.map((callKey) => ({ type, runId, timer: "approval", callKey }) as const),
      ];
    case "tool_decided":
      return keys.map((callKey) => ({ type, runId, callKey, decision: { verdict: "reject", message: "no" } }));
    case "tool_waiting":
      return keys.map((callKey) => ({ type, runId, callKey, on: "external" }));
    case "tool_failed": {
      const fault = { code: "tool_failed", message: "no", retryable: true };
      const timing = { startedAt: 4_000, durationMs: 1 };
      return keys.map((callKey) => ({ type, runId, callKey, attempt: 1, fault, retryInMs: 10, timing }));
    }
    case "tool_finished":
      return keys.map((callKey) => ({ type, runId, callKey, outcome: "ok" }));
    case "answered":
      return keys.map((callKey) => ({ type, runId, callKey, answerId: "a", answer: { type: "approve" } }));
    case "abort_requested":
      return [
        { type, runId },
        ...state.queue.map((queued) => ({ type, runId: "runId" in queued ? queued.runId : "" })),
      ];
    case "restarted":
      return [{ type, runId, holder: "o" }];
    case "late_result":
      return [{ type, callKey: state.interrupted[0] ?? "r0/1/1", outcome: "ok" }];
    case "history_added":
      return [{ type, messages: [userMessage("before")], source: "pawl" }];
    case "run_finished":
      return [{ type, runId, reason: "stop" }];
    case "after_run_hooks_called":
    case "parent_notified":
      return [{ type, runId }];
    case "handed_off":
      return [{ type, runId, callKey: `${runId}/${modelCallIndex}/1`, from: "a", to: "b" }];
    case "child_waiting":
      return keys.map((callKey) => ({ type, runId, callKey, childId: "c", askedAt: 4_000, childSeq: 9 }));
    case "parent_told":
      return [{ type, runId, askedAt: null, toldSeq: state.parentUntold ?? 0 }];
    case "tool_step_started":
      return keys.map((callKey) => ({ type, runId, callKey, attempt: 1, step: "charge" }));
    case "tool_step_finished":
      return keys.map((callKey) => ({ type, runId, callKey, attempt: 1, step: "charge", outcome: "ok", timing }));
    case "tool_asked":
      return keys.map((callKey) => ({ type, runId, callKey, attempt: 1, step: "account", message: "Which?" }));
    case "data_changed":
      return [{ type, patch: { set: { plan: [] } }, by: "anna" }];
    case "content_redacted":
      return [{ type, entries: [1], by: "anna", note: "a key" }];
    case "compaction_requested":
      return [{ type, keep: "the plan", by: "anna" }];
    case "session_changed":
      return [
        { type, title: "Another title", by: "anna" },
        // What is reserved is read, and changes nothing.
        { type, model: "other", settings: { temperature: 0 }, limits: { maxSteps: 1 } },
      ];
    case "rules_changed":
    case "process_started":
    case "process_finished":
    case "files_restoring":
    case "files_restored":
      return reservedEvents.filter((event) => event.type === type);
    case "migrated":
      return [{ type, from: 0, state: { ...state } }];
  }
}

const table = (Object.entries(transitionTable) as [Status, { readonly [E in EventType]: Pair }][]).flatMap(
  ([status, row]) => (Object.entries(row) as [EventType, Pair][]).map(([type, pair]) => [status, type, pair] as const),
);

describe("every state and every event", () => {
  test("the examples are in the states that they stand for", () => {
    for (const [status, makers] of Object.entries(examples))
      for (const make of makers) expect(make().state.status).toBe(status);
  });

  test.each(table)("%s, %s: %s", verifies("LOOP-2"), (status, type, pair) => {
    let applied = 0;
    for (const make of examples[status]) {
      const session = make();
      const { state } = session;
      for (const event of eventsFor(type, session)) {
        const next = transition(state, event);
        if (next === state) expectRefused(state, event, pair);
        else {
          applied += 1;
          expect(next.seq).toBe(state.seq + 1);
          expect(refusal(state, event)).toBeUndefined();
        }
      }
    }
    expect(applied > 0).toBe(pair === "applies");
  });
});

function expectRefused(state: State, event: Event, pair: Pair): void {
  const refused = refusal(state, event);
  expect(refused?.message).toContain(`'${event.type}'`);
  expect(refused?.message).toContain(`'${state.status}'`);
  if (pair !== "applies") expect(refused?.type).toBe(pair);
  expect(advance(state, event)).toEqual({ state, events: [] });
}

describe("a run", () => {
  test("goes from its request through the model and a tool to an answer", verifies("LOOP-2"), () => {
    const session = startedSession();
    const statuses: Status[] = [session.state.status];
    const happened = (act: () => void) => {
      act();
      statuses.push(session.state.status);
    };
    happened(() => prepared(session));
    happened(() => answers(session, { calls: ["one"] }));
    happened(() => allows(session, 1));
    happened(() => finishes(session, 1));
    happened(() => prepared(session));
    happened(() => answers(session, { text: "done" }));
    happened(() => ends(session));
    expect(statuses).toEqual([
      "preparing",
      "model_running",
      "tool_running",
      "tool_running",
      "preparing",
      "model_running",
      "preparing",
      "completed",
    ]);
    expect(runOf(session.state)).toMatchObject({ modelCallIndex: 2, counters: { totalSteps: 2 }, reason: "stop" });
  });

  test("starts again from every end, in preparing", verifies("LOOP-2"), () => {
    for (const make of [...examples.completed, ...examples.failed, ...examples.aborted]) {
      const { state } = make();
      const owes = "parentNotificationPending" in state || "afterRunHooksPending" in state;
      const after = transition(state, { type: "run_started", runId: "r9", limits, input: [userMessage("x")], at: 9 });
      expect(after.status).toBe(owes ? state.status : "preparing");
    }
  });

  test("cannot start before its session is created", () => {
    const event: Event = { type: "run_started", runId: "r1", limits, input: [userMessage("x")], at: 1 };
    expect(transition(initialState, event)).toBe(initialState);
    expect(refusal(initialState, event)?.type).toBe("misuse");
  });

  test("starts once: a run that is known starts nothing", () => {
    const session = endedSession({});
    const event: Event = { type: "run_started", runId: "r1", limits, input: [userMessage("x")], at: 1 };
    expect(transition(session.state, event)).toBe(session.state);
    expect(refusal(session.state, event)?.type).toBe("stale");
  });

  test("names its calls by run, step and position", () => {
    const session = startedSession();
    step(session, { calls: ["one", "two"] });
    expect(effects(session.state).map((effect) => effect.key)).toEqual(["r1/1/1/decide/4", "r1/1/2/decide/4"]);
    expect(keyOf(session, 2)).toBe("r1/1/2");
  });

  test("takes the state of another version as it was migrated, and counts on", () => {
    const { state } = startedSession();
    const migrated = transition(initialState, { type: "migrated", from: 0, state, at: 1 });
    expect(migrated).toEqual({ ...state, seq: 1 });
  });
});

describe("when a session wants a driver", () => {
  test("is never while it rests or waits without an end, and at once while there is work", () => {
    const session = startedSession();
    expect(dueAt(initialState)).toBeNull();
    expect(dueAt(session.state)).toBe(0);
    step(session, { calls: ["one", "two", "three"] });
    expect(dueAt(session.state)).toBe(0);
    asks(session, 1);
    decides(session, 2, { verdict: "reject", message: "x" });
    decides(session, 3, { verdict: "reject", message: "x" });
    expect(session.state.status).toBe("awaiting_human");
    expect(dueAt(session.state)).toBeNull();
    expect(dueAt(endedSession({}).state)).toBeNull();
    expect(dueAt(endedSession(child).state)).toBe(0);
  });

  test("is at the first of the times that it waits for", () => {
    const session = startedSession({ maxWallClockMs: 60_000 });
    prepared(session);
    fails(session, { type: "retry", inMs: 2_000 });
    expect(dueAt(session.state)).toBe(3_000);
    const asking = startedSession();
    step(asking, { calls: ["one", "two", "three"] });
    asks(asking, 1, { expiresAt: 9_000 });
    asks(asking, 2, { expiresAt: 7_000 });
    asks(asking, 3, { expiresAt: 8_000 });
    expect(dueAt(asking.state)).toBe(7_000);
  });
});
