/**
 * Walks the machine from its start state, with every event that is possible in each state. States that continue alike
 * count as one. The walk uses no randomness: the same machine gives the same walk.
 */
import { consequences, effects, formatVersion, initialState, transition, transitionTable } from "../dist/core/index.js";

/** One run summarizes after its first step. The other runs long and must call the done tool. */
const brief = {
  maxSteps: 1,
  maxErrors: 20,
  onMaxSteps: "summary",
  maxWallClockMs: 1_000,
  toolConcurrency: 1,
  abortGraceMs: 10,
  maxContinuations: 2,
  maxStopPreventions: 3,
  maxCompactions: 20,
};
const long = { ...brief, maxSteps: 1_000, requireDoneTool: true };
const input = [{ role: "user", parts: [{ type: "text", text: "x" }] }];
const mostCalls = 2;
const mostQueued = 1;

/**
 * @param options.maxStates ends the walk early, after about so many states: it then does not meet every event. Default: all of them
 * @returns for each status and each event that applies to it, the next statuses; and the effects in flight in each
 * status
 */
export function walk({ maxStates = Number.POSITIVE_INFINITY } = {}) {
  const found = { targets: new Map(), effects: new Map(), follows: new Set() };
  const seen = new Set();
  const waiting = [initialState];
  for (const state of waiting) {
    if (waiting.length >= maxStates) return found;
    const following = consequences(state).map((body) => ({ ...body, at: 0 }));
    if (following.length === 0) for (const effect of effects(state)) add(found.effects, state.status, nameOf(effect));
    for (const event of following) found.follows.add(`${state.status} ${event.type}`);
    for (const event of following.length > 0 ? following.flatMap(withHooks) : eventsIn(state)) {
      const next = transition(state, event);
      if (next === state) continue;
      add(found.targets, `${state.status} ${event.type}`, next.status);
      const kind = kindOf(next);
      if (seen.has(kind)) continue;
      seen.add(kind);
      waiting.push(next);
    }
  }
  for (const [status, row] of Object.entries(transitionTable))
    for (const [type, pair] of Object.entries(row))
      if ((pair === "applies") !== found.targets.has(`${status} ${type}`))
        throw new Error(`'${type}' in '${status}' is '${pair}' in the table, but the walk found otherwise.`);
  return found;
}

/** The end of a run, with and without hooks that follow it. */
function withHooks(event) {
  return event.type === "run_finished" ? [event, { ...event, afterRunHooksPending: true }] : [event];
}

function add(sets, key, value) {
  if (!sets.has(key)) sets.set(key, new Set());
  sets.get(key).add(value);
}

function nameOf(effect) {
  return effect.type === "sleep" ? `sleep (${effect.timer})` : effect.type;
}

/** A key for states that continue alike: it leaves out entry numbers, times and usage. */
function kindOf(state) {
  const { calls, queue, interrupted, stopping, backoff, session, compactionAsked } = state;
  return JSON.stringify([
    state.status,
    state.for,
    state.purpose,
    state.reason,
    state.parentNotificationPending,
    state.afterRunHooksPending,
    state.parentUntold !== undefined,
    state.limits?.maxSteps,
    state.doneSeq > 0,
    state.cut,
    stopping !== null && stopping !== undefined,
    backoff === null,
    session === null ? null : session.parent !== undefined,
    queue.map((queued) => queued.kind),
    state.handoff !== undefined,
    // A request for a compaction changes what comes next only before a step and after the run.
    calls !== undefined || state.status === "model_running" || compactionAsked === undefined
      ? null
      : (compactionAsked.dropped ?? "asked"),
    interrupted.length > 0,
    calls?.map(({ status, why, on, policy, childSeq, askedAt, open, failures }) => [
      status,
      why,
      on,
      policy?.recover,
      policy?.external,
      policy?.retry !== undefined,
      policy?.handoff,
      open?.length,
      failures,
      childSeq !== undefined,
      askedAt !== undefined,
    ]),
  ]);
}

function eventsIn(state) {
  if (state.session === null) return [...created(), migrated(state)];
  if (state.status === "idle")
    return [...started(state), historyAdded, dataChanged, sessionChanged, contentRedacted, migrated(state)];
  return [...fromOutside(state), ...started(state), ...fromInside(state)].map((event) => ({ at: 2_000, ...event }));
}

function created() {
  const base = { type: "session_created", v: formatVersion, agent: "a", model: "m", at: 0 };
  return [base, { ...base, parent: { sessionId: "p", callKey: "r/1/1" } }];
}

function started({ seq, queue }) {
  const base = { type: "run_started", runId: `r${seq}`, limits: brief, input, at: 0 };
  const queued = queue.filter((one) => one.kind === "run");
  return [
    base,
    { ...base, limits: long },
    ...queued.map(({ runId, limits, seq: queuedSeq }) => ({ type: "run_started", runId, limits, queuedSeq, at: 0 })),
  ];
}

const historyAdded = { type: "history_added", messages: input, source: "pawl", at: 0 };

const sessionChanged = { type: "session_changed", title: "another", at: 0 };

const contentRedacted = { type: "content_redacted", entries: [1], at: 0 };

const dataChanged = { type: "data_changed", patch: { set: { a: 1 } }, at: 0 };

function migrated(state) {
  return { type: "migrated", from: 0, state: { ...state }, at: 0 };
}

function fromOutside(state) {
  const { runId, seq, queue, interrupted, parentUntold = 0 } = state;
  const isFull = queue.length >= mostQueued;
  return [
    ...(isFull
      ? []
      : [
          { type: "run_queued", runId: `r${seq}`, limits: long, input },
          { type: "steered", input, source: "user" },
          { type: "steered", input, source: "user", skip: "unstarted" },
        ]),
    { type: "abort_requested", runId },
    ...queue.flatMap((queued) => (queued.kind === "run" ? [{ type: "abort_requested", runId: queued.runId }] : [])),
    { type: "restarted", runId, holder: "o" },
    { type: "parent_notified", runId },
    { type: "parent_told", runId, askedAt: null, toldSeq: parentUntold },
    { type: "after_run_hooks_called", runId },
    ...interrupted.map((callKey) => ({ type: "late_result", callKey, outcome: "ok" })),
    ...["wall_clock", "grace"].map((timer) => ({ type: "timer_fired", runId, timer })),
    dataChanged,
    sessionChanged,
    contentRedacted,
    { type: "compaction_requested" },
    migrated(state),
  ];
}

function fromInside(state) {
  const { runId, modelCallIndex, attempt, seq, purpose, reason, handoff, session } = state;
  switch (state.status) {
    case "preparing":
      return [
        { type: "prepared", runId, modelCallIndex, contextSeq: seq, purpose },
        { type: "compaction_started", runId, modelCallIndex },
        { type: "compacted", runId },
        { type: "compacted", runId, keptFrom: 1, summary: "s" },
        { type: "run_finished", runId, reason: reason ?? "refused", modelCallIndex },
        { type: "run_finished", runId, reason: reason ?? "refused", modelCallIndex, afterRunHooksPending: true },
        { type: "steered", input, source: "before_stop" },
        ...(handoff === undefined ? [] : [{ type: "handed_off", runId, from: session.agent, ...handoff }]),
      ];
    case "model_running":
      return modelEvents({ runId, modelCallIndex, attempt });
    case "tool_running":
    case "awaiting_human":
      return state.calls.flatMap((call) => callEvents(runId, call));
    default:
      return [{ type: "compacted" }, { type: "compacted", keptFrom: 1, summary: "s" }];
  }
}

function modelEvents(place) {
  const base = { ...place, model: "m", usage: {}, timing: { startedAt: 0, durationMs: 0 } };
  const call = { type: "tool_call", toolCallId: "c", name: "t", input: {} };
  const answers = ["stop", "other", "length", "content-filter", "error"].flatMap((unified) =>
    Array.from({ length: mostCalls + 1 }, (_, calls) => ({
      ...base,
      type: "model_finished",
      message: { role: "assistant", parts: Array(calls).fill(call) },
      finishReason: { unified },
    })),
  );
  const nexts = [
    { type: "retry", inMs: 0 },
    { type: "retry", inMs: 5 },
    { type: "fallback", index: 1 },
    { type: "compact" },
    { type: "give_up", reason: "model_error" },
  ];
  const failure = { kind: "network", message: "x" };
  const failures = nexts.map((next) => ({ ...base, type: "model_failed", failure, next }));
  return [
    ...answers,
    ...failures,
    { type: "timer_fired", runId: place.runId, timer: "backoff", attempt: place.attempt },
  ];
}

function callEvents(runId, { callKey, childSeq = 0, attempt = 0, open = [] }) {
  const of = { runId, callKey };
  const policies = ["rerun", "ask", "fail", "reconcile"].map((recover) => ({ recover }));
  const external = { recover: "fail", external: true };
  const retried = { recover: "rerun", retry: { attempts: 2, baseMs: 5, maxMs: 5 } };
  const handedOver = { recover: "fail", handoff: "b" };
  const decisions = [
    ...[...policies, external, retried, handedOver].map((policy) => ({ verdict: "allow", policy })),
    ...[policies[0], external].map((policy) => ({ verdict: "ask", policy, inputHash: "h", expiresAt: 0 })),
    { verdict: "deny", reason: "x" },
    { verdict: "deny", reason: "x", stopRun: true },
  ];
  const answers = [
    { type: "approve" },
    { type: "deny" },
    { type: "modify", input: {}, inputHash: "h" },
    { type: "result", output: { type: "text", text: "x" } },
  ];
  return [
    ...decisions.map((decision) => ({ type: "tool_decided", ...of, decision })),
    ...answers.map((answer) => ({ type: "answered", ...of, answerId: "a", answer })),
    { type: "tool_waiting", ...of, on: "external" },
    { type: "tool_waiting", ...of, on: "child", childId: "c" },
    ...[null, 0].map((askedAt) => ({ type: "child_waiting", ...of, childId: "c", childSeq: childSeq + 1, askedAt })),
    { type: "tool_finished", ...of, outcome: "ok" },
    { type: "tool_finished", ...of, outcome: "ok", done: {} },
    { type: "timer_fired", runId, timer: "approval", callKey },
    ...toolEvents({ ...of, attempt }, open),
  ];
}

/** What a tool does durably while it runs, and what becomes of its questions. */
function toolEvents(of, open) {
  const timing = { startedAt: 0, durationMs: 0 };
  const { runId, callKey, attempt } = of;
  const asked =
    open.length < 2 ? [{ type: "tool_asked", ...of, step: `q${open.length}`, message: "x", expiresAt: 0 }] : [];
  return [
    { type: "tool_step_started", ...of, step: "s" },
    { type: "tool_step_finished", ...of, step: "s", outcome: "ok", timing },
    ...asked,
    ...open.flatMap(({ step: questionId }) => [
      { type: "answered", runId, callKey, answerId: "a", answer: { type: "decline" }, questionId },
      { type: "timer_fired", runId, timer: "approval", callKey, questionId },
    ]),
    { type: "tool_failed", ...of, fault: { code: "x", message: "x", retryable: true }, retryInMs: 5, timing },
    { type: "timer_fired", runId, timer: "tool_retry", callKey, attempt },
  ];
}
