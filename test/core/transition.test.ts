import { describe, expect, test } from "vitest";
import {
  advance,
  dueAt,
  type Event,
  type EventBody,
  type EventFit,
  type EventType,
  effects,
  formatVersion,
  initialState,
  isTerminal,
  refusal,
  type State,
  type Status,
  transition,
  transitionTable,
} from "../../src/core/index.js";
import { verifies } from "../verifies.js";
import { reservedEvents } from "./reserved-events.js";
import {
  allowCall,
  appendEvent,
  askAboutCall,
  createModelFinished,
  createSession,
  createStartedSession,
  decideCall,
  endRun,
  failModelCall,
  finishCall,
  finishModelCall,
  keyOf,
  prepareStep,
  queueRun,
  requestAbort,
  requireRun,
  restartRun,
  runStep,
  type Session,
  testLimits,
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
    () => createStartedSession({ maxWallClockMs: 60_000 }),
    () => {
      const session = withInterrupted({});
      prepareStep(session);
      failModelCall(session, { type: "compact" }, "context_overflow");
      return session;
    },
    () => {
      const session = createStartedSession();
      runStep(session, { text: "hi" });
      return session;
    },
    () => {
      const session = createStartedSession();
      runStep(session, { calls: ["transfer_to_b"] });
      allowCall(session, 1, { recover: "rerun", handoff: "b" });
      return session;
    },
  ],
  model_running: [
    () => {
      const session = withInterrupted({});
      prepareStep(session);
      return session;
    },
    () => {
      const session = createStartedSession();
      prepareStep(session);
      failModelCall(session, { type: "retry", inMs: 100 });
      return session;
    },
  ],
  tool_running: [
    () => {
      const session = withInterrupted({});
      runStep(session, { calls: ["one", "two", "three"] });
      allowCall(session, 2);
      askAboutCall(session, 3, { expiresAt: 2_000 });
      return session;
    },
    () => {
      const session = createStartedSession();
      runStep(session, { calls: ["one"] });
      allowCall(session, 1, { recover: "rerun", retry: { attempts: 2, baseMs: 10, maxMs: 10 } });
      return session;
    },
  ],
  awaiting_human: [
    () => {
      const session = withInterrupted({});
      runStep(session, { calls: ["one", "two"] });
      askAboutCall(session, 1, { expiresAt: 1_000 });
      allowCall(session, 2, { recover: "fail", external: true });
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
    () => stoppedSession({}, (session) => finishModelCall(session, { finish: "content-filter" })),
    () => stoppedSession(child, (session) => finishModelCall(session, { finish: "content-filter" })),
    () => leaving(stoppedSession({}, (session) => finishModelCall(session, { finish: "content-filter" }))),
    () => compacting(stoppedSession({}, (session) => finishModelCall(session, { finish: "content-filter" }))),
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
  appendEvent(session, { type: "compaction_requested" });
  return session;
}

/** A run that waits for a person because a child session does. */
function askingChild(): Session {
  const session = createStartedSession();
  runStep(session, { calls: ["one"] });
  allowCall(session, 1);
  const ofCall = { runId: "r1", callKey: keyOf(session, 1) };
  appendEvent(session, { type: "tool_waiting", ...ofCall, on: "child", childId: "c" });
  appendEvent(session, { type: "child_waiting", ...ofCall, childId: "c", askedAt: 900, childSeq: 8 });
  return session;
}

/** A run that waits for the answer to a tool. */
function askingTool(): Session {
  const session = createStartedSession();
  runStep(session, { calls: ["one"] });
  allowCall(session, 1, { recover: "rerun", durable: true });
  const ofCall = { runId: "r1", callKey: keyOf(session, 1), attempt: 1 };
  appendEvent(session, { type: "tool_asked", ...ofCall, step: "first", message: "Which account?" });
  return session;
}

const timing = { startedAt: 1_000, durationMs: 1 };

/** Hooks are still to be called after the run. */
function leaving(session: Session): Session {
  const { state } = session;
  if (isTerminal(state))
    appendEvent(session, { type: "migrated", from: 0, state: { ...state, afterRunHooksPending: true } });
  return session;
}

function abandon(session: Session): void {
  requestAbort(session);
  restartRun(session);
}

/** A run whose first step had a call that was interrupted by a crash. */
function withInterrupted(info: Parameters<typeof createStartedSession>[1]): Session {
  const session = createStartedSession({}, info);
  runStep(session, { calls: ["one"] });
  allowCall(session, 1, { recover: "fail" });
  restartRun(session);
  return session;
}

function endedSession(info: Parameters<typeof createStartedSession>[1]): Session {
  const session = withInterrupted(info);
  runStep(session, { text: "hi" });
  if (info === child) queueRun(session, "r5");
  endRun(session);
  return session;
}

function stoppedSession(info: Parameters<typeof createStartedSession>[1], end: (session: Session) => void): Session {
  const session = withInterrupted(info);
  prepareStep(session);
  if (info === child) queueRun(session, "r5");
  end(session);
  return session;
}

/** Events of a type that fit a session as well as any can. */
function eventsFor(type: EventType, session: Session): readonly Event[] {
  return bodiesFor(type, session).map((body) => ({ ...body, at: 5_000 }));
}

function bodiesFor(type: EventType, session: Session): readonly EventBody[] {
  const { state } = session;
  const run = state.status === "idle" ? { runId: "r0", modelCallIndex: 1 } : requireRun(state);
  const { runId, modelCallIndex } = run;
  const keys = "calls" in state ? state.calls.map((call) => call.callKey) : ["r0/1/1"];
  const input = [userMessage("more")];
  switch (type) {
    case "session_created":
      return [{ type, v: formatVersion, agent: "a", model: "m" }];
    case "run_started":
      return [{ type, runId: "r9", limits: testLimits, input }];
    case "run_queued":
      return [{ type, runId: "r9", limits: testLimits, input }];
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
      return state.status === "idle"
        ? [createModelFinished(createStartedSession().state, {})]
        : [createModelFinished(state, { text: "hi" })];
    case "model_failed": {
      const { timing, attempt } = createModelFinished(
        state.status === "idle" ? createStartedSession().state : state,
        {},
      );
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

const table = (Object.entries(transitionTable) as [Status, { readonly [E in EventType]: EventFit }][]).flatMap(
  ([status, row]) =>
    (Object.entries(row) as [EventType, EventFit][]).map(([type, pair]) => [status, type, pair] as const),
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

function expectRefused(state: State, event: Event, pair: EventFit): void {
  const refused = refusal(state, event);
  expect(refused?.message).toContain(`'${event.type}'`);
  expect(refused?.message).toContain(`'${state.status}'`);
  if (pair !== "applies") expect(refused?.type).toBe(pair);
  expect(advance(state, event)).toEqual({ state, events: [] });
}

describe("a run", () => {
  test("goes from its request through the model and a tool to an answer", verifies("LOOP-2"), () => {
    const session = createStartedSession();
    const statuses: Status[] = [session.state.status];
    const happened = (act: () => void) => {
      act();
      statuses.push(session.state.status);
    };
    happened(() => prepareStep(session));
    happened(() => finishModelCall(session, { calls: ["one"] }));
    happened(() => allowCall(session, 1));
    happened(() => finishCall(session, 1));
    happened(() => prepareStep(session));
    happened(() => finishModelCall(session, { text: "done" }));
    happened(() => endRun(session));
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
    expect(requireRun(session.state)).toMatchObject({ modelCallIndex: 2, counters: { totalSteps: 2 }, reason: "stop" });
  });

  test("starts again from every end, in preparing", verifies("LOOP-2"), () => {
    for (const make of [...examples.completed, ...examples.failed, ...examples.aborted]) {
      const { state } = make();
      const owes = "parentNotificationPending" in state || "afterRunHooksPending" in state;
      const after = transition(state, {
        type: "run_started",
        runId: "r9",
        limits: testLimits,
        input: [userMessage("x")],
        at: 9,
      });
      expect(after.status).toBe(owes ? state.status : "preparing");
    }
  });

  test("cannot start before its session is created", () => {
    const event: Event = { type: "run_started", runId: "r1", limits: testLimits, input: [userMessage("x")], at: 1 };
    expect(transition(initialState, event)).toBe(initialState);
    expect(refusal(initialState, event)?.type).toBe("misuse");
  });

  test("starts once: a run that is known starts nothing", () => {
    const session = endedSession({});
    const event: Event = { type: "run_started", runId: "r1", limits: testLimits, input: [userMessage("x")], at: 1 };
    expect(transition(session.state, event)).toBe(session.state);
    expect(refusal(session.state, event)?.type).toBe("stale");
  });

  test("names its calls by run, step and position", () => {
    const session = createStartedSession();
    runStep(session, { calls: ["one", "two"] });
    expect(effects(session.state).map((effect) => effect.key)).toEqual(["r1/1/1/decide/4", "r1/1/2/decide/4"]);
    expect(keyOf(session, 2)).toBe("r1/1/2");
  });

  test("takes the state of another version as it was migrated, and counts on", () => {
    const { state } = createStartedSession();
    const migrated = transition(initialState, { type: "migrated", from: 0, state, at: 1 });
    expect(migrated).toEqual({ ...state, seq: 1 });
  });
});

describe("when a session wants a driver", () => {
  test("is never while it rests or waits without an end, and at once while there is work", () => {
    const session = createStartedSession();
    expect(dueAt(initialState)).toBeNull();
    expect(dueAt(session.state)).toBe(0);
    runStep(session, { calls: ["one", "two", "three"] });
    expect(dueAt(session.state)).toBe(0);
    askAboutCall(session, 1);
    decideCall(session, 2, { verdict: "reject", message: "x" });
    decideCall(session, 3, { verdict: "reject", message: "x" });
    expect(session.state.status).toBe("awaiting_human");
    expect(dueAt(session.state)).toBeNull();
    expect(dueAt(endedSession({}).state)).toBeNull();
    expect(dueAt(endedSession(child).state)).toBe(0);
  });

  test("is at the first of the times that it waits for", () => {
    const session = createStartedSession({ maxWallClockMs: 60_000 });
    prepareStep(session);
    failModelCall(session, { type: "retry", inMs: 2_000 });
    expect(dueAt(session.state)).toBe(3_000);
    const asking = createStartedSession();
    runStep(asking, { calls: ["one", "two", "three"] });
    askAboutCall(asking, 1, { expiresAt: 9_000 });
    askAboutCall(asking, 2, { expiresAt: 7_000 });
    askAboutCall(asking, 3, { expiresAt: 8_000 });
    expect(dueAt(asking.state)).toBe(7_000);
  });
});
