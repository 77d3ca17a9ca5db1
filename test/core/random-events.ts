/**
 * Random events for a session: what its effects and calls could settle with, what anybody outside could say, and
 * anything at all.
 */
import {
  type Answer,
  type Call,
  type CallOutcome,
  compactionRange,
  type Effect,
  type EventBody,
  effects,
  formatVersion,
  hasCalls,
  isResting,
  type Message,
  type MessageRef,
  openQuestionsOf,
  reasons,
  type State,
} from "../../src/core/index.js";
import { createReferences } from "../../src/core/transcript/message-references.js";
import { type Chance, createChance } from "./chance.js";
import { randomChanges, randomPatch, storeDataBlob } from "./random-data.js";
import { createNamedSources } from "./random-sources.js";
import {
  randomAfterFailure,
  randomAnswer,
  randomDecision,
  randomLimits,
  randomParts,
  randomReferences,
} from "./random-values.js";
import { type Session, userMessage } from "./session.js";

/** Makes the events of one session. Ids of runs are never used again, as a store sees to. */
export type EventSource = {
  /** Something that could happen now. */
  readonly plausible: (session: Session) => EventBody;
  /** Anything at all. */
  readonly any: (session: Session) => EventBody;
};

export function createEventSource(chance: Chance): EventSource {
  let runs = 0;
  const createRunId = () => {
    runs += 1;
    return `r${runs}`;
  };
  return {
    plausible: (session) => plausible(session, chance, createRunId),
    any: (session) => any(session, chance, createRunId),
  };
}

function plausible(session: Session, chance: Chance, createRunId: () => string): EventBody {
  const { state } = session;
  if (state.session !== null && state.status === "idle" && chance.oneIn(2)) return createHistoryAdded(chance);
  if (state.session === null)
    return chance.oneIn(6) ? { type: "migrated", from: 0, state: { ...state } } : createSessionCreated(chance);
  const settling = listSettlements(session, chance);
  const [first, ...rest] = settling;
  if (first !== undefined && !chance.oneIn(isResting(state) ? 2 : 8)) return chance.pick([first, ...rest]);
  return drawOutsideEvent(session, chance, createRunId);
}

/** A conversation from elsewhere; its ids may be those of later calls. */
function createHistoryAdded(chance: Chance): EventBody {
  const call = { toolCallId: chance.pick(["c1", "c2"]), name: "look" } as const;
  const step: readonly Message[] = [
    { role: "assistant", parts: [{ type: "tool_call", ...call, input: {} }] },
    { role: "tool", parts: [{ type: "tool_result", ...call, output: { type: "text", text: "seen" } }] },
  ];
  const said: Message = { role: "assistant", parts: [{ type: "text", text: "earlier answer" }] };
  const messages = [userMessage("earlier"), ...(chance.oneIn(2) ? step : []), said];
  return { type: "history_added", messages, source: chance.pick(["pawl", "model_messages", "ui_messages"]) };
}

function createSessionCreated(chance: Chance): EventBody {
  const child = chance.oneIn(3) ? { parent: { sessionId: "p", callKey: "r0/1/1" }, top: "p" } : {};
  return { type: "session_created", v: formatVersion, agent: "a", model: "m", title: "t", ...child };
}

function drawOutsideEvent(session: Session, chance: Chance, createRunId: () => string): EventBody {
  const { state } = session;
  const runId = state.status === "idle" ? "r0" : state.runId;
  const canStart = isResting(state) && !("parentNotificationPending" in state) && !("afterRunHooksPending" in state);
  if (canStart && !chance.oneIn(4)) return createRunStarted(session, chance, createRunId);
  const lateCallKey = state.interrupted[0];
  if (lateCallKey !== undefined && chance.oneIn(3))
    return {
      type: "late_result",
      callKey: lateCallKey,
      outcome: "ok",
      output: { type: "text", text: "late" },
      ...cut(state),
    };
  if (isResting(state) && redactsContent(session)) return { type: "content_redacted", entries: [1], by: "ada" };
  if (changesTitle(session)) return { type: "session_changed", title: `title ${state.seq}`, by: "ada" };
  if (requestsCompaction(session)) return { type: "compaction_requested", keep: "the plan", by: "ada" };
  return chance.pick<() => EventBody>([
    () => ({ type: "steered", input: [userMessage("steer")], source: "user" }),
    () => ({ type: "steered", input: [userMessage("steer")], source: "user", skip: "unstarted", by: "ada" }),
    () => ({ type: "data_changed", patch: randomPatch(session), by: "anna" }),
    () => ({
      type: "run_queued",
      runId: createRunId(),
      limits: randomLimits(chance),
      input: [userMessage("queued")],
      ...drawRunOptions(chance),
    }),
    () => ({ type: "abort_requested", runId: chance.oneIn(2) ? runId : (findQueuedRun(state)?.runId ?? runId) }),
    () => ({ type: "restarted", runId, holder: "o" }),
    () => ({ type: "restarted", runId, holder: "o" }),
  ])();
}

/** A chance of its own: what a seed draws otherwise stays as it is. */
function requestsCompaction({ state, at }: Session): boolean {
  return createChance(state.seq + 31 * at).oneIn(6);
}

function changesTitle({ state, at }: Session): boolean {
  return createChance(state.seq + 37 * at).oneIn(9);
}

function redactsContent({ state, at }: Session): boolean {
  return createChance(state.seq + 41 * at).oneIn(9);
}

function createRunStarted({ state }: Session, chance: Chance, createRunId: () => string): EventBody {
  const queued = findQueuedRun(state);
  if (queued !== undefined && chance.oneIn(2))
    return { type: "run_started", runId: queued.runId, limits: queued.limits, queuedSeq: queued.seq };
  const input = [userMessage("run")];
  return { type: "run_started", runId: createRunId(), limits: randomLimits(chance), input, ...drawRunOptions(chance) };
}

function drawRunOptions(chance: Chance) {
  if (!chance.oneIn(4)) return {};
  return { options: { agent: chance.pick(["a", "b"]), systemPrompt: "another", interactive: false }, by: "ada" };
}

function findQueuedRun(state: State) {
  return state.queue.find((queued) => queued.kind === "run");
}

/** What the effects that are wanted, and the calls that are open, could settle with. */
function listSettlements(session: Session, chance: Chance): readonly EventBody[] {
  const { state } = session;
  const events = effects(state)
    .filter((effect) => effect.type !== "sleep" || chance.oneIn(5))
    .map((effect) => createSettlement(effect, session, chance));
  if (hasCalls(state)) for (const call of state.calls) events.push(...listCallEvents(call, state.runId, state, chance));
  if (state.status === "model_running" && state.stopping !== null) events.push(createModelEvent(state, chance));
  return events;
}

function createSettlement(effect: Effect, session: Session, chance: Chance): EventBody {
  const { state } = session;
  const { runId } = effect;
  switch (effect.type) {
    case "prepare":
      return createPrepared(session, chance);
    case "compact":
      return createCompacted(session, chance);
    case "call_model":
      return createModelEvent(state, chance);
    case "hand_over":
      return createHandover(session, chance);
    case "finish":
      return createFinishing(session, chance);
    case "decide":
      return { type: "tool_decided", runId, callKey: effect.callKey, decision: randomDecision(session, chance) };
    case "run_tool":
      return chance.oneIn(3) ? createToolStep(effect, session, chance) : createToolOutcome(effect, session, chance);
    case "reconcile":
      return createReconciliation(effect, session, chance);
    case "sleep": {
      const { timer, callKey, attempt, questionId } = effect;
      return {
        type: "timer_fired",
        runId,
        timer,
        ...(callKey === undefined ? {} : { callKey }),
        ...(attempt === undefined ? {} : { attempt }),
        ...(questionId === undefined ? {} : { questionId }),
      };
    }
    case "cancel_child":
      return { type: "tool_finished", runId, callKey: effect.callKey, outcome: "aborted" };
    case "call_after_run_hooks":
      return {
        type: "after_run_hooks_called",
        runId,
        hooks: [{ name: `h${state.seq}`, hook: "afterRun", ms: 1, outcome: "ok" }],
      };
    case "notify_parent":
      return { type: "parent_notified", runId };
    case "tell_parent":
      return { type: "parent_told", runId, askedAt: effect.askedAt, toldSeq: effect.seq };
  }
}

function createHandover(session: Session, chance: Chance): EventBody {
  const { state } = session;
  if (state.status === "idle" || !("handoff" in state) || state.handoff === undefined)
    return any(session, chance, () => "r0");
  const { runId, modelCallIndex, handoff } = state;
  if (chance.oneIn(10))
    return { type: "run_finished", runId, reason: "hook_failed", modelCallIndex, ...drawAfterRunHooks(chance) };
  const hooks = chance.oneIn(3)
    ? { hooks: [{ name: `h${state.seq}`, hook: "afterStep", ms: 1, outcome: "ok" }] as const }
    : {};
  const from = state.session?.agent ?? "";
  return { type: "handed_off", runId, ...handoff, from, ...drawFilteredMessages(session, chance), ...hooks };
}

/** What a filter leaves of the conversation: some turns of it, some in other words, and something in front. */
function drawFilteredMessages({ transcript }: Session, chance: Chance): { readonly messages?: readonly MessageRef[] } {
  if (chance.oneIn(2)) return {};
  const { messages, seqs } = transcript;
  const list: Message[] = chance.oneIn(3) ? [userMessage("in front")] : [];
  const owners = new Map<Message, number>();
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index] as Message;
    const turn = [message];
    if (messages[index + 1]?.role === "tool") turn.push(messages[++index] as Message);
    // A list ends with the results of the step, as the conversation does.
    if (index < messages.length - 1 && chance.oneIn(3)) continue;
    if (message.role !== "user" || !chance.oneIn(4)) list.push(...turn);
    else {
      const said = userMessage("in other words");
      list.push(said);
      if (chance.oneIn(2)) owners.set(said, seqs[index] ?? 0);
    }
  }
  const keep = (message: Message) => (owners.has(message) ? { message, seq: owners.get(message) ?? 0 } : { message });
  return { messages: createReferences(list, { messages, seqs }, keep, { acrossEntries: false }) };
}

function createPrepared(session: Session, chance: Chance): EventBody {
  const { state } = session;
  if (state.status !== "preparing" || state.for === "finish" || state.for === "handoff")
    return any(session, chance, () => "r0");
  const { runId, modelCallIndex, purpose } = state;
  if (state.for === "compaction") return createCompacted(session, chance);
  if (chance.oneIn(6)) return { type: "compaction_started", runId, modelCallIndex };
  if (chance.oneIn(40))
    return { type: "run_finished", runId, reason: "refused", modelCallIndex, ...drawAfterRunHooks(chance) };
  if (state.counters.totalSteps > 0 && chance.oneIn(20)) {
    const condition = `stepCount(${state.counters.totalSteps})`;
    return {
      type: "run_finished",
      runId,
      reason: "stop_condition",
      condition,
      modelCallIndex,
      ...drawAfterRunHooks(chance),
    };
  }
  const call = { type: "prepared", runId, modelCallIndex, contextSeq: state.seq, purpose } as const;
  // A chance of its own: the sessions that a seed draws stay as they are.
  const ownChance = createChance(state.seq + session.at);
  return {
    ...call,
    ...(ownChance.oneIn(4) ? { messages: randomReferences(session, ownChance) } : {}),
    ...(ownChance.oneIn(4) ? { model: ownChance.pick(["fast", "smart"]) } : {}),
    ...(ownChance.oneIn(4) ? { settings: ownChance.oneIn(3) ? null : { temperature: ownChance.below(2) } } : {}),
    ...createNamedSources(session, runId),
  };
}

function createCompacted(session: Session, chance: Chance): EventBody {
  const { state, transcript } = session;
  const runFields = isResting(state) ? {} : { runId: state.runId };
  if (chance.oneIn(4))
    return { type: "compacted", ...runFields, usage: { inputTokens: 3, outputTokens: 1, partial: true } };
  const cut = chance.below(transcript.seqs.length + 1);
  const from = transcript.seqs[cut] ?? state.seq + 1;
  const retained = chance.oneIn(2) ? {} : { retained: ["kept"] };
  const tokenCounts = { tokensBefore: 9, tokensAfter: 3 };
  return {
    type: "compacted",
    ...runFields,
    ...compactionRange(transcript, from),
    summary: "summary",
    ...retained,
    ...tokenCounts,
    ...storeDataBlob(session),
    ...(transcript.sources === null
      ? {}
      : { sources: { runId: transcript.sources.runId, list: transcript.sources.list } }),
  };
}

const wholeReasons = ["stop", "tool-calls", "other"] as const;
const cutReasons = ["length", "content-filter", "error"] as const;

function createModelEvent(state: State, chance: Chance): EventBody {
  if (state.status === "idle") return { type: "steered", input: [], source: "user" };
  const { runId, modelCallIndex, attempt } = state;
  const at = { runId, modelCallIndex, attempt, model: "m", timing: { startedAt: 1, durationMs: 1 } };
  const cost = chance.oneIn(3) ? {} : { costUsd: chance.below(4) / 4 };
  const usage = chance.oneIn(5) ? {} : { inputTokens: chance.below(20), outputTokens: chance.below(20), ...cost };
  if (chance.oneIn(6))
    return {
      type: "model_failed",
      ...at,
      failure: { kind: chance.pick(["overloaded", "network", "cancelled"]), message: "no" },
      next: randomAfterFailure(chance),
      ...(chance.oneIn(3) ? { partial: { text: "as far as it came" } } : {}),
      ...(chance.oneIn(2) ? { usage: { ...usage, partial: true } } : {}),
      ...drawTrip(state),
    };
  const unified = chance.pick(chance.oneIn(6) ? cutReasons : wholeReasons);
  return {
    type: "model_finished",
    ...at,
    message: { role: "assistant", parts: randomParts(chance) },
    finishReason: chance.oneIn(8) ? { unified, raw: "pause_turn" } : { unified },
    ...(chance.oneIn(6) ? { ending: chance.pick(["complete", "unclear"]) } : {}),
    usage,
  };
}

/** A guard may have ended the call. */
function drawTrip({ seq }: State): Partial<Extract<EventBody, { readonly type: "model_failed" }>> {
  if (seq % 6 !== 0) return {};
  const reason = seq % 12 === 0 ? "refused" : "output_refused";
  const failure = { kind: "cancelled", code: "guard_tripped", message: "no" } as const;
  return { failure, next: { type: "give_up", reason } };
}

function createFinishing({ state, transcript }: Session, chance: Chance): EventBody {
  if (state.status !== "preparing" || state.for !== "finish")
    return { type: "steered", input: [], source: "before_stop" };
  if (chance.oneIn(3))
    return { type: "steered", input: [userMessage("not yet")], source: chance.pick(["before_stop", "output"]) };
  if (chance.oneIn(5)) {
    const refusedSeq = transcript.run?.answerSeq ?? state.seq;
    return {
      type: "run_finished",
      runId: state.runId,
      reason: "output_refused",
      refusedSeq,
      ...drawAfterRunHooks(chance),
    };
  }
  return {
    type: "run_finished",
    runId: state.runId,
    reason: chance.oneIn(4) ? chance.pick(["invalid_output", "aborted"]) : state.reason,
    ...drawAfterRunHooks(chance),
  };
}

/** There are hooks that come after the run. */
function drawAfterRunHooks(chance: Chance): { readonly afterRunHooksPending?: true } {
  return chance.oneIn(2) ? { afterRunHooksPending: true } : {};
}

/** A limit may have ended a child. */
function cut({ seq }: State): { readonly cut?: "max_steps" } {
  return seq % 4 === 0 ? { cut: "max_steps" } : {};
}

type CallAttempt = { readonly runId: string; readonly callKey: string; readonly attempt: number };

function createToolFailure({ runId, callKey, attempt }: CallAttempt, chance: Chance): EventBody {
  return {
    type: "tool_failed",
    runId,
    callKey,
    attempt,
    fault: { code: "tool_failed", message: `attempt ${attempt} failed`, retryable: true },
    retryInMs: chance.below(3) * 100,
    timing: { startedAt: 1, durationMs: 1 },
  };
}

function createToolOutcome(
  { runId, callKey, attempt }: CallAttempt,
  session: Pick<Session, "state" | "at">,
  chance: Chance,
): EventBody {
  if (chance.oneIn(3)) return createToolFailure({ runId, callKey, attempt }, chance);
  if (chance.oneIn(8)) return { type: "tool_waiting", runId, callKey, on: "external" };
  if (chance.oneIn(8)) return { type: "tool_waiting", runId, callKey, on: "child", childId: `child of ${callKey}` };
  const outcome = chance.pick<CallOutcome>(["ok", "ok", "ok", "error", "aborted"]);
  return {
    type: "tool_finished",
    runId,
    callKey,
    attempt,
    outcome,
    output: { type: "text", text: "out" },
    timing: { startedAt: 1, durationMs: 1 },
    ...(chance.oneIn(12) ? { done: chance.oneIn(2) ? {} : { message: "done" } } : {}),
    ...randomChanges(session),
  };
}

/** What a tool does durably while it runs, mostly under names that are its own. */
function createToolStep(
  { runId, callKey, attempt }: CallAttempt,
  session: Pick<Session, "state" | "at">,
  chance: Chance,
): EventBody {
  const { state, at } = session;
  const step = chance.oneIn(8) ? "again" : `s${state.seq}`;
  const core = { runId, callKey, attempt: chance.oneIn(8) ? attempt - 1 : attempt, step };
  const timing = { startedAt: 1, durationMs: 1 };
  const event = chance.pick<() => EventBody>([
    () => ({ type: "tool_step_started", ...core }),
    () => ({
      type: "tool_step_finished",
      ...core,
      outcome: "ok",
      value: { n: state.seq },
      timing,
      ...randomChanges(session),
    }),
    () => ({ type: "tool_step_finished", ...core, outcome: "ok", timing, tries: 2 }),
    () => ({
      type: "tool_step_finished",
      ...core,
      outcome: "error",
      fault: { code: "step_failed", message: "no", retryable: false },
      timing,
    }),
    () => ({ type: "tool_asked", ...core, message: "Which?", ...(chance.oneIn(2) ? { expiresAt: at + 50 } : {}) }),
    () => ({ type: "tool_asked", ...core, message: "Which?", schema: { type: "string" }, ...randomChanges(session) }),
  ])();
  return waitSometimes(holdSometimes(event, { state, at }), { state, at });
}

/** A chance of its own: the tool may sleep, or wait for a signal, instead of asking a person. */
function waitSometimes(event: EventBody, { state, at }: Pick<Session, "state" | "at">): EventBody {
  if (event.type !== "tool_asked" || event.held === true) return event;
  const chance = createChance(state.seq + 43 * at);
  if (!chance.oneIn(3)) return event;
  const { schema: _, ...rest } = event;
  const expiresAt = at + chance.pick([1, 50, 20_000]);
  if (chance.oneIn(2)) return { ...rest, for: "time", expiresAt };
  return { ...rest, for: "signal", key: "paid", ...(chance.oneIn(2) ? { expiresAt } : {}) };
}

/** A chance of its own, so that the sessions that a seed draws stay as they are: the tool may go on with its question. */
function holdSometimes(event: EventBody, { state, at }: Pick<Session, "state" | "at">): EventBody {
  const isHeld = event.type === "tool_asked" && createChance(state.seq + at).oneIn(3);
  return isHeld ? { ...event, held: true } : event;
}

/** What a child said: mostly in the order of its log, and sometimes late. */
function createChildReport(
  { runId, callKey }: Pick<CallAttempt, "runId" | "callKey">,
  { seq }: State,
  chance: Chance,
): EventBody {
  const childSeq = chance.oneIn(4) ? chance.below(seq + 1) : seq + 1;
  const askedAt = chance.oneIn(2) ? null : 1_000 + seq;
  const report = { type: "child_waiting", runId, callKey, childId: `child of ${callKey}`, askedAt, childSeq } as const;
  const ownChance = createChance(seq + 47);
  if (askedAt !== null || !ownChance.oneIn(2)) return report;
  return { ...report, asleep: ownChance.oneIn(2) ? {} : { until: 10_000 + seq } };
}

function createReconciliation({ runId, callKey, attempt }: CallAttempt, session: Session, chance: Chance): EventBody {
  if (chance.oneIn(2)) return { type: "tool_decided", runId, callKey, decision: randomDecision(session, chance) };
  return { type: "tool_finished", runId, callKey, attempt, outcome: "ok", output: { type: "text", text: "found" } };
}

function listCallEvents(call: Call, runId: string, state: State, chance: Chance): readonly EventBody[] {
  const { callKey } = call;
  switch (call.status) {
    case "asking":
      if (call.why === "tool") return listAnswersToTool(call, runId, state, chance);
      return [
        {
          type: "answered",
          runId,
          callKey,
          answerId: `a${state.seq}`,
          answer: randomAnswer(chance),
          ...(chance.oneIn(3) ? { inputHash: call.inputHash ?? "other" } : {}),
        },
      ];
    case "running":
      return [
        ...(call.held === undefined ? [] : listAnswersToTool(call, runId, state, chance)),
        ...(state.status === "tool_running" && state.stopping !== null
          ? [createToolOutcome({ runId, callKey, attempt: call.attempt }, { state, at: 0 }, chance)]
          : []),
        ...(chance.oneIn(6) ? [createChildReport({ runId, callKey }, state, chance)] : []),
      ];
    case "waiting":
      return [
        ...(call.on === "child" ? [createChildReport({ runId, callKey }, state, chance)] : []),
        {
          type: "tool_finished",
          runId,
          callKey,
          outcome: "ok",
          output: { type: "json", value: { n: 1 } },
          ...(call.on === "child" ? { usage: { inputTokens: 2, outputTokens: 1 }, ...cut(state) } : {}),
        },
      ];
    case "deciding":
    case "ready":
    case "retrying":
    case "reconciling":
    case "settling":
    case "done":
      return [];
  }
}

/** An answer to a tool, and sometimes another question beside it. */
function listAnswersToTool(
  call: Extract<Call, { status: "asking" | "running" }>,
  runId: string,
  state: State,
  chance: Chance,
): readonly EventBody[] {
  const { callKey, attempt } = call;
  const open = openQuestionsOf(call) ?? [];
  if (chance.oneIn(4)) return [createToolStep({ runId, callKey, attempt }, { state, at: 0 }, chance)];
  const questionId = chance.oneIn(8) ? "another" : open[chance.below(open.length)]?.step;
  const answer = chance.oneIn(6)
    ? randomAnswer(chance)
    : chance.pick<Answer>([
        { type: "reply", value: state.seq },
        { type: "decline", note: "no" },
      ]);
  const named = questionId === undefined || chance.oneIn(12) ? {} : { questionId };
  const isSignal = createChance(state.seq + 53).oneIn(open.some((one) => one.for === "signal") ? 2 : 12);
  const answerId = `${isSignal ? "signal/" : ""}a${state.seq}`;
  return [{ type: "answered", runId, callKey, answerId, answer, ...named }];
}

/** An event of any kind, about something that exists or does not. */
function any(session: Session, chance: Chance, createRunId: () => string): EventBody {
  const { state } = session;
  const currentRunId = state.status === "idle" ? "r0" : state.runId;
  const runId = chance.oneIn(6) ? "other" : currentRunId;
  const index = (state.status === "idle" ? 1 : state.modelCallIndex) - chance.below(2);
  const keys = hasCalls(state) ? state.calls.map((call) => call.callKey) : [];
  const callKey = chance.pick(["r0/1/1", ...keys]);
  const attempt = chance.below(3);
  return chance.pick<() => EventBody>([
    () => createSessionCreated(chance),
    () => createRunStarted(session, chance, chance.oneIn(2) ? createRunId : () => currentRunId),
    () => ({
      type: "run_queued",
      runId: chance.oneIn(4) ? currentRunId : createRunId(),
      limits: randomLimits(chance),
      input: [userMessage("queued")],
    }),
    () => ({
      type: "steered",
      input: [userMessage("steer")],
      source: chance.pick(["user", "before_stop", "output"]),
    }),
    () => ({
      type: "prepared",
      runId,
      modelCallIndex: index,
      contextSeq: chance.oneIn(2) ? state.seq : -1,
      purpose: chance.pick(["step", "continue", "unpause", "remind", "summary"]),
    }),
    () => ({ type: "compaction_started", runId, modelCallIndex: index }),
    () => ({ type: "compaction_requested" }),
    () => ({ type: "handed_off", runId, callKey, from: chance.pick(["a", "b"]), to: chance.pick(["a", "b"]) }),
    () => ({ ...createCompacted(session, chance), runId }),
    () => ({ ...createModelEvent(state, chance), runId }) as EventBody,
    () => ({
      type: "timer_fired",
      runId,
      timer: chance.pick(["backoff", "grace", "approval", "wall_clock", "tool_retry"]),
      callKey,
      attempt,
    }),
    () => ({ type: "tool_decided", runId, callKey, decision: randomDecision(session, chance) }),
    () => createToolFailure({ runId, callKey, attempt }, chance),
    () => ({
      ...createToolOutcome({ runId, callKey, attempt }, session, chance),
      ...(chance.oneIn(3) ? { causeSeq: state.seq } : {}),
    }),
    () => ({ type: "answered", runId, callKey, answerId: "a", answer: randomAnswer(chance) }),
    () => ({ type: "abort_requested", runId }),
    () => ({ type: "restarted", runId, holder: "o" }),
    () => ({ type: "late_result", callKey, outcome: "ok" }),
    () => ({
      type: "run_finished",
      runId,
      reason: chance.pick(Object.keys(reasons) as [keyof typeof reasons]),
      ...(chance.oneIn(8) ? { refusedSeq: chance.below(state.seq + 2) } : {}),
      ...(chance.oneIn(2) ? { modelCallIndex: index } : {}),
      ...drawAfterRunHooks(chance),
    }),
    () => ({ type: "after_run_hooks_called", runId }),
    () => ({ type: "parent_notified", runId }),
    () => ({ type: "parent_told", runId, askedAt: null, toldSeq: state.seq - chance.below(3) }),
    () => createChildReport({ runId, callKey }, state, chance),
    () => createToolStep({ runId, callKey, attempt }, session, chance),
    () => ({ type: "timer_fired", runId, timer: "approval", callKey, questionId: `s${state.seq - 1}` }),
    () => ({ type: "migrated", from: 0, state: { ...state } }),
  ])();
}
