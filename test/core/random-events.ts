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
import { referencesTo } from "../../src/core/transcript/message-references.js";
import { type Chance, createChance } from "./chance.js";
import { blobOfData, changesOf, randomPatch } from "./random-data.js";
import { namedSources } from "./random-sources.js";
import {
  afterFailure,
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
  const newRun = () => {
    runs += 1;
    return `r${runs}`;
  };
  return {
    plausible: (session) => plausible(session, chance, newRun),
    any: (session) => any(session, chance, newRun),
  };
}

function plausible(session: Session, chance: Chance, newRun: () => string): EventBody {
  const { state } = session;
  if (state.session !== null && state.status === "idle" && chance.once(2)) return history(chance);
  if (state.session === null)
    return chance.once(6) ? { type: "migrated", from: 0, state: { ...state } } : created(chance);
  const inside = settlements(session, chance);
  const [first, ...rest] = inside;
  if (first !== undefined && !chance.once(isResting(state) ? 2 : 8)) return chance.pick([first, ...rest]);
  return fromOutside(session, chance, newRun);
}

/** A conversation from elsewhere; its ids may be those of later calls. */
function history(chance: Chance): EventBody {
  const call = { toolCallId: chance.pick(["c1", "c2"]), name: "look" } as const;
  const step: readonly Message[] = [
    { role: "assistant", parts: [{ type: "tool_call", ...call, input: {} }] },
    { role: "tool", parts: [{ type: "tool_result", ...call, output: { type: "text", text: "seen" } }] },
  ];
  const said: Message = { role: "assistant", parts: [{ type: "text", text: "earlier answer" }] };
  const messages = [userMessage("earlier"), ...(chance.once(2) ? step : []), said];
  return { type: "history_added", messages, source: chance.pick(["pawl", "model_messages", "ui_messages"]) };
}

function created(chance: Chance): EventBody {
  const child = chance.once(3) ? { parent: { sessionId: "p", callKey: "r0/1/1" }, top: "p" } : {};
  return { type: "session_created", v: formatVersion, agent: "a", model: "m", title: "t", ...child };
}

function fromOutside(session: Session, chance: Chance, newRun: () => string): EventBody {
  const { state } = session;
  const runId = state.status === "idle" ? "r0" : state.runId;
  const mayStart = isResting(state) && !("parentNotificationPending" in state) && !("afterRunHooksPending" in state);
  if (mayStart && !chance.once(4)) return runStarted(session, chance, newRun);
  const late = state.interrupted[0];
  if (late !== undefined && chance.once(3))
    return {
      type: "late_result",
      callKey: late,
      outcome: "ok",
      output: { type: "text", text: "late" },
      ...cut(state),
    };
  if (isResting(state) && redacts(session)) return { type: "content_redacted", entries: [1], by: "ada" };
  if (renames(session)) return { type: "session_changed", title: `title ${state.seq}`, by: "ada" };
  if (asks(session)) return { type: "compaction_requested", keep: "the plan", by: "ada" };
  return chance.pick<() => EventBody>([
    () => ({ type: "steered", input: [userMessage("steer")], source: "user" }),
    () => ({ type: "steered", input: [userMessage("steer")], source: "user", skip: "unstarted", by: "ada" }),
    () => ({ type: "data_changed", patch: randomPatch(session), by: "anna" }),
    () => ({
      type: "run_queued",
      runId: newRun(),
      limits: randomLimits(chance),
      input: [userMessage("queued")],
      ...beginning(chance),
    }),
    () => ({ type: "abort_requested", runId: chance.once(2) ? runId : (queuedRun(state)?.runId ?? runId) }),
    () => ({ type: "restarted", runId, holder: "o" }),
    () => ({ type: "restarted", runId, holder: "o" }),
  ])();
}

/** A chance of its own: what a seed draws otherwise stays as it is. */
function asks({ state, at }: Session): boolean {
  return createChance(state.seq + 31 * at).once(6);
}

function renames({ state, at }: Session): boolean {
  return createChance(state.seq + 37 * at).once(9);
}

function redacts({ state, at }: Session): boolean {
  return createChance(state.seq + 41 * at).once(9);
}

function runStarted({ state }: Session, chance: Chance, newRun: () => string): EventBody {
  const queued = queuedRun(state);
  if (queued !== undefined && chance.once(2))
    return { type: "run_started", runId: queued.runId, limits: queued.limits, queuedSeq: queued.seq };
  const input = [userMessage("run")];
  return { type: "run_started", runId: newRun(), limits: randomLimits(chance), input, ...beginning(chance) };
}

function beginning(chance: Chance) {
  if (!chance.once(4)) return {};
  return { options: { agent: chance.pick(["a", "b"]), systemPrompt: "another", interactive: false }, by: "ada" };
}

function queuedRun(state: State) {
  return state.queue.find((queued) => queued.kind === "run");
}

/** What the effects that are wanted, and the calls that are open, could settle with. */
function settlements(session: Session, chance: Chance): readonly EventBody[] {
  const { state } = session;
  const events = effects(state)
    .filter((effect) => effect.type !== "sleep" || chance.once(5))
    .map((effect) => settlement(effect, session, chance));
  if (hasCalls(state)) for (const call of state.calls) events.push(...fromCall(call, state.runId, state, chance));
  if (state.status === "model_running" && state.stopping !== null) events.push(modelEvent(state, chance));
  return events;
}

function settlement(effect: Effect, session: Session, chance: Chance): EventBody {
  const { state } = session;
  const { runId } = effect;
  switch (effect.type) {
    case "prepare":
      return preparation(session, chance);
    case "compact":
      return compaction(session, chance);
    case "call_model":
      return modelEvent(state, chance);
    case "hand_over":
      return handover(session, chance);
    case "finish":
      return finishing(session, chance);
    case "decide":
      return { type: "tool_decided", runId, callKey: effect.callKey, decision: randomDecision(session, chance) };
    case "run_tool":
      return chance.once(3) ? toolStep(effect, session, chance) : toolOutcome(effect, session, chance);
    case "reconcile":
      return reconciliation(effect, session, chance);
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

function handover(session: Session, chance: Chance): EventBody {
  const { state } = session;
  if (state.status === "idle" || !("handoff" in state) || state.handoff === undefined)
    return any(session, chance, () => "r0");
  const { runId, modelCallIndex, handoff } = state;
  if (chance.once(10))
    return { type: "run_finished", runId, reason: "hook_failed", modelCallIndex, ...leaving(chance) };
  const hooks = chance.once(3)
    ? { hooks: [{ name: `h${state.seq}`, hook: "afterStep", ms: 1, outcome: "ok" }] as const }
    : {};
  const from = state.session?.agent ?? "";
  return { type: "handed_off", runId, ...handoff, from, ...filtered(session, chance), ...hooks };
}

/** What a filter leaves of the conversation: some turns of it, some in other words, and something in front. */
function filtered({ transcript }: Session, chance: Chance): { readonly messages?: readonly MessageRef[] } {
  if (chance.once(2)) return {};
  const { messages, seqs } = transcript;
  const list: Message[] = chance.once(3) ? [userMessage("in front")] : [];
  const owners = new Map<Message, number>();
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index] as Message;
    const turn = [message];
    if (messages[index + 1]?.role === "tool") turn.push(messages[++index] as Message);
    // A list ends with the results of the step, as the conversation does.
    if (index < messages.length - 1 && chance.once(3)) continue;
    if (message.role !== "user" || !chance.once(4)) list.push(...turn);
    else {
      const said = userMessage("in other words");
      list.push(said);
      if (chance.once(2)) owners.set(said, seqs[index] ?? 0);
    }
  }
  const keep = (message: Message) => (owners.has(message) ? { message, seq: owners.get(message) ?? 0 } : { message });
  return { messages: referencesTo(list, { messages, seqs }, keep, { acrossEntries: false }) };
}

function preparation(session: Session, chance: Chance): EventBody {
  const { state } = session;
  if (state.status !== "preparing" || state.for === "finish" || state.for === "handoff")
    return any(session, chance, () => "r0");
  const { runId, modelCallIndex, purpose } = state;
  if (state.for === "compaction") return compaction(session, chance);
  if (chance.once(6)) return { type: "compaction_started", runId, modelCallIndex };
  if (chance.once(40)) return { type: "run_finished", runId, reason: "refused", modelCallIndex, ...leaving(chance) };
  if (state.counters.totalSteps > 0 && chance.once(20)) {
    const condition = `stepCount(${state.counters.totalSteps})`;
    return { type: "run_finished", runId, reason: "stop_condition", condition, modelCallIndex, ...leaving(chance) };
  }
  const call = { type: "prepared", runId, modelCallIndex, contextSeq: state.seq, purpose } as const;
  // A chance of its own: the sessions that a seed draws stay as they are.
  const own = createChance(state.seq + session.at);
  return {
    ...call,
    ...(own.once(4) ? { messages: randomReferences(session, own) } : {}),
    ...(own.once(4) ? { model: own.pick(["fast", "smart"]) } : {}),
    ...(own.once(4) ? { settings: own.once(3) ? null : { temperature: own.below(2) } } : {}),
    ...namedSources(session, runId),
  };
}

function compaction(session: Session, chance: Chance): EventBody {
  const { state, transcript } = session;
  const ofRun = isResting(state) ? {} : { runId: state.runId };
  if (chance.once(4)) return { type: "compacted", ...ofRun, usage: { inputTokens: 3, outputTokens: 1, partial: true } };
  const cut = chance.below(transcript.seqs.length + 1);
  const from = transcript.seqs[cut] ?? state.seq + 1;
  const retained = chance.once(2) ? {} : { retained: ["kept"] };
  const counted = { tokensBefore: 9, tokensAfter: 3 };
  return {
    type: "compacted",
    ...ofRun,
    ...compactionRange(transcript, from),
    summary: "summary",
    ...retained,
    ...counted,
    ...blobOfData(session),
    ...(transcript.sources === null
      ? {}
      : { sources: { runId: transcript.sources.runId, list: transcript.sources.list } }),
  };
}

const wholeReasons = ["stop", "tool-calls", "other"] as const;
const cutReasons = ["length", "content-filter", "error"] as const;

function modelEvent(state: State, chance: Chance): EventBody {
  if (state.status === "idle") return { type: "steered", input: [], source: "user" };
  const { runId, modelCallIndex, attempt } = state;
  const at = { runId, modelCallIndex, attempt, model: "m", timing: { startedAt: 1, durationMs: 1 } };
  const cost = chance.once(3) ? {} : { costUsd: chance.below(4) / 4 };
  const usage = chance.once(5) ? {} : { inputTokens: chance.below(20), outputTokens: chance.below(20), ...cost };
  if (chance.once(6))
    return {
      type: "model_failed",
      ...at,
      failure: { kind: chance.pick(["overloaded", "network", "cancelled"]), message: "no" },
      next: afterFailure(chance),
      ...(chance.once(3) ? { partial: { text: "as far as it came" } } : {}),
      ...(chance.once(2) ? { usage: { ...usage, partial: true } } : {}),
      ...tripped(state),
    };
  const unified = chance.pick(chance.once(6) ? cutReasons : wholeReasons);
  return {
    type: "model_finished",
    ...at,
    message: { role: "assistant", parts: randomParts(chance) },
    finishReason: chance.once(8) ? { unified, raw: "pause_turn" } : { unified },
    ...(chance.once(6) ? { ending: chance.pick(["complete", "unclear"]) } : {}),
    usage,
  };
}

/** A guard may have ended the call. */
function tripped({ seq }: State): Partial<Extract<EventBody, { readonly type: "model_failed" }>> {
  if (seq % 6 !== 0) return {};
  const reason = seq % 12 === 0 ? "refused" : "output_refused";
  const failure = { kind: "cancelled", code: "guard_tripped", message: "no" } as const;
  return { failure, next: { type: "give_up", reason } };
}

function finishing({ state, transcript }: Session, chance: Chance): EventBody {
  if (state.status !== "preparing" || state.for !== "finish")
    return { type: "steered", input: [], source: "before_stop" };
  if (chance.once(3))
    return { type: "steered", input: [userMessage("not yet")], source: chance.pick(["before_stop", "output"]) };
  if (chance.once(5)) {
    const refusedSeq = transcript.run?.answerSeq ?? state.seq;
    return { type: "run_finished", runId: state.runId, reason: "output_refused", refusedSeq, ...leaving(chance) };
  }
  return {
    type: "run_finished",
    runId: state.runId,
    reason: chance.once(4) ? chance.pick(["invalid_output", "aborted"]) : state.reason,
    ...leaving(chance),
  };
}

/** There are hooks that come after the run. */
function leaving(chance: Chance): { readonly afterRunHooksPending?: true } {
  return chance.once(2) ? { afterRunHooksPending: true } : {};
}

/** A limit may have ended a child. */
function cut({ seq }: State): { readonly cut?: "max_steps" } {
  return seq % 4 === 0 ? { cut: "max_steps" } : {};
}

type OfCall = { readonly runId: string; readonly callKey: string; readonly attempt: number };

function toolFailure({ runId, callKey, attempt }: OfCall, chance: Chance): EventBody {
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

function toolOutcome(
  { runId, callKey, attempt }: OfCall,
  session: Pick<Session, "state" | "at">,
  chance: Chance,
): EventBody {
  if (chance.once(3)) return toolFailure({ runId, callKey, attempt }, chance);
  if (chance.once(8)) return { type: "tool_waiting", runId, callKey, on: "external" };
  if (chance.once(8)) return { type: "tool_waiting", runId, callKey, on: "child", childId: `child of ${callKey}` };
  const outcome = chance.pick<CallOutcome>(["ok", "ok", "ok", "error", "aborted"]);
  return {
    type: "tool_finished",
    runId,
    callKey,
    attempt,
    outcome,
    output: { type: "text", text: "out" },
    timing: { startedAt: 1, durationMs: 1 },
    ...(chance.once(12) ? { done: chance.once(2) ? {} : { message: "done" } } : {}),
    ...changesOf(session),
  };
}

/** What a tool does durably while it runs, mostly under names that are its own. */
function toolStep(
  { runId, callKey, attempt }: OfCall,
  session: Pick<Session, "state" | "at">,
  chance: Chance,
): EventBody {
  const { state, at } = session;
  const step = chance.once(8) ? "again" : `s${state.seq}`;
  const core = { runId, callKey, attempt: chance.once(8) ? attempt - 1 : attempt, step };
  const timing = { startedAt: 1, durationMs: 1 };
  const event = chance.pick<() => EventBody>([
    () => ({ type: "tool_step_started", ...core }),
    () => ({
      type: "tool_step_finished",
      ...core,
      outcome: "ok",
      value: { n: state.seq },
      timing,
      ...changesOf(session),
    }),
    () => ({ type: "tool_step_finished", ...core, outcome: "ok", timing, tries: 2 }),
    () => ({
      type: "tool_step_finished",
      ...core,
      outcome: "error",
      fault: { code: "step_failed", message: "no", retryable: false },
      timing,
    }),
    () => ({ type: "tool_asked", ...core, message: "Which?", ...(chance.once(2) ? { expiresAt: at + 50 } : {}) }),
    () => ({ type: "tool_asked", ...core, message: "Which?", schema: { type: "string" }, ...changesOf(session) }),
  ])();
  return mayHold(event, { state, at });
}

/** A chance of its own, so that the sessions that a seed draws stay as they are: the tool may go on with its question. */
function mayHold(event: EventBody, { state, at }: Pick<Session, "state" | "at">): EventBody {
  const isHeld = event.type === "tool_asked" && createChance(state.seq + at).once(3);
  return isHeld ? { ...event, held: true } : event;
}

/** What a child said: mostly in the order of its log, and sometimes late. */
function childReport({ runId, callKey }: Pick<OfCall, "runId" | "callKey">, { seq }: State, chance: Chance): EventBody {
  const childSeq = chance.once(4) ? chance.below(seq + 1) : seq + 1;
  const askedAt = chance.once(2) ? null : 1_000 + seq;
  return { type: "child_waiting", runId, callKey, childId: `child of ${callKey}`, askedAt, childSeq };
}

function reconciliation({ runId, callKey, attempt }: OfCall, session: Session, chance: Chance): EventBody {
  if (chance.once(2)) return { type: "tool_decided", runId, callKey, decision: randomDecision(session, chance) };
  return { type: "tool_finished", runId, callKey, attempt, outcome: "ok", output: { type: "text", text: "found" } };
}

function fromCall(call: Call, runId: string, state: State, chance: Chance): readonly EventBody[] {
  const { callKey } = call;
  switch (call.status) {
    case "asking":
      if (call.why === "tool") return toolQuestion(call, runId, state, chance);
      return [
        {
          type: "answered",
          runId,
          callKey,
          answerId: `a${state.seq}`,
          answer: randomAnswer(chance),
          ...(chance.once(3) ? { inputHash: call.inputHash ?? "other" } : {}),
        },
      ];
    case "running":
      return [
        ...(call.held === undefined ? [] : toolQuestion(call, runId, state, chance)),
        ...(state.status === "tool_running" && state.stopping !== null
          ? [toolOutcome({ runId, callKey, attempt: call.attempt }, { state, at: 0 }, chance)]
          : []),
        ...(chance.once(6) ? [childReport({ runId, callKey }, state, chance)] : []),
      ];
    case "waiting":
      return [
        ...(call.on === "child" ? [childReport({ runId, callKey }, state, chance)] : []),
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
function toolQuestion(
  call: Extract<Call, { status: "asking" | "running" }>,
  runId: string,
  state: State,
  chance: Chance,
): readonly EventBody[] {
  const { callKey, attempt } = call;
  const open = openQuestionsOf(call) ?? [];
  if (chance.once(4)) return [toolStep({ runId, callKey, attempt }, { state, at: 0 }, chance)];
  const questionId = chance.once(8) ? "another" : open[chance.below(open.length)]?.step;
  const answer = chance.once(6)
    ? randomAnswer(chance)
    : chance.pick<Answer>([
        { type: "reply", value: state.seq },
        { type: "decline", note: "no" },
      ]);
  const named = questionId === undefined || chance.once(12) ? {} : { questionId };
  return [{ type: "answered", runId, callKey, answerId: `a${state.seq}`, answer, ...named }];
}

/** An event of any kind, about something that exists or does not. */
function any(session: Session, chance: Chance, newRun: () => string): EventBody {
  const { state } = session;
  const present = state.status === "idle" ? "r0" : state.runId;
  const runId = chance.once(6) ? "other" : present;
  const index = (state.status === "idle" ? 1 : state.modelCallIndex) - chance.below(2);
  const keys = hasCalls(state) ? state.calls.map((call) => call.callKey) : [];
  const callKey = chance.pick(["r0/1/1", ...keys]);
  const attempt = chance.below(3);
  return chance.pick<() => EventBody>([
    () => created(chance),
    () => runStarted(session, chance, chance.once(2) ? newRun : () => present),
    () => ({
      type: "run_queued",
      runId: chance.once(4) ? present : newRun(),
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
      contextSeq: chance.once(2) ? state.seq : -1,
      purpose: chance.pick(["step", "continue", "unpause", "remind", "summary"]),
    }),
    () => ({ type: "compaction_started", runId, modelCallIndex: index }),
    () => ({ type: "compaction_requested" }),
    () => ({ type: "handed_off", runId, callKey, from: chance.pick(["a", "b"]), to: chance.pick(["a", "b"]) }),
    () => ({ ...compaction(session, chance), runId }),
    () => ({ ...modelEvent(state, chance), runId }) as EventBody,
    () => ({
      type: "timer_fired",
      runId,
      timer: chance.pick(["backoff", "grace", "approval", "wall_clock", "tool_retry"]),
      callKey,
      attempt,
    }),
    () => ({ type: "tool_decided", runId, callKey, decision: randomDecision(session, chance) }),
    () => toolFailure({ runId, callKey, attempt }, chance),
    () => ({
      ...toolOutcome({ runId, callKey, attempt }, session, chance),
      ...(chance.once(3) ? { causeSeq: state.seq } : {}),
    }),
    () => ({ type: "answered", runId, callKey, answerId: "a", answer: randomAnswer(chance) }),
    () => ({ type: "abort_requested", runId }),
    () => ({ type: "restarted", runId, holder: "o" }),
    () => ({ type: "late_result", callKey, outcome: "ok" }),
    () => ({
      type: "run_finished",
      runId,
      reason: chance.pick(Object.keys(reasons) as [keyof typeof reasons]),
      ...(chance.once(8) ? { refusedSeq: chance.below(state.seq + 2) } : {}),
      ...(chance.once(2) ? { modelCallIndex: index } : {}),
      ...leaving(chance),
    }),
    () => ({ type: "after_run_hooks_called", runId }),
    () => ({ type: "parent_notified", runId }),
    () => ({ type: "parent_told", runId, askedAt: null, toldSeq: state.seq - chance.below(3) }),
    () => childReport({ runId, callKey }, state, chance),
    () => toolStep({ runId, callKey, attempt }, session, chance),
    () => ({ type: "timer_fired", runId, timer: "approval", callKey, questionId: `s${state.seq - 1}` }),
    () => ({ type: "migrated", from: 0, state: { ...state } }),
  ])();
}
