/**
 * Measures how much of the model's context window a conversation takes, and whether compaction can make it smaller.
 */

import { deepFreeze } from "../../core/data/freeze.js";
import { findOpenProviderCalls, type Message } from "../../core/data/message.js";
import { isCompactionAllowed } from "../../core/machine/reached-limits.js";
import { type Idle, isTerminal, type State } from "../../core/machine/state.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import { trimMessages } from "../../core/transcript/trim-results.js";
import type { CompactionView, ContextSize } from "../../ports/compaction.js";
import { chooseModel } from "../model/models.js";
import type { EffectContext } from "./effect-context.js";
import { listOfferedTools } from "./offered-tools.js";
import { getAgentPrompt } from "./run-prompt.js";

/** If the request took at least this share of the budget, an answer that ended with `length` filled the context window (FIN-3). */
const nearLimitRatio = 0.8;

type StartedState = Exclude<State, Idle>;

/** The size of the next request: the provider's last count, and an estimate of the messages since then (CTX-7). */
export function measureContext(context: EffectContext): ContextSize {
  const { agent, transcript } = context;
  const { tokens: estimator } = agent.services;
  const { countedTokens, later } = transcript;
  const messages = trimMessages(transcript);
  const counted = estimator.context({ messages, ...pickPromptAndTools(context) }, countedTokens).tokens;
  const uncounted = countedTokens === null ? estimateSourceTokens(transcript) : 0;
  const tokens = later.reduce((sum, { message }) => sum + estimator.message(message), counted + uncounted);
  return { tokens, budget: agent.compaction.computeBudget(chooseModel(context).model).tokens };
}

/** The size of a request with a list instead of the conversation, which no provider has counted before. */
function measureList(messages: readonly Message[], context: EffectContext): ContextSize {
  const { agent, transcript } = context;
  const sourceTokens = estimateSourceTokens(transcript);
  const tokens = sourceTokens + agent.services.tokens.request({ ...pickPromptAndTools(context), messages });
  return { tokens, budget: agent.compaction.computeBudget(chooseModel(context).model).tokens };
}

/** An estimate of the context source texts that the log refers to, so that a replay computes the same size. */
function estimateSourceTokens({ sources }: Transcript): number {
  return sources === null ? 0 : sources.prompt.reduce((sum, { bytes }) => sum + bytes / bytesPerToken, 0);
}

const bytesPerToken = 4;

function pickPromptAndTools(context: EffectContext) {
  const { transcript } = context;
  const systemPrompt = transcript.run?.options.systemPrompt ?? getAgentPrompt(context);
  return { ...(systemPrompt === undefined ? {} : { systemPrompt }), tools: listOfferedTools(context) };
}

/**
 * Whether to compact before the next step: the request is large enough, the run may compact, and something can be cut.
 * @param list what a context manager sends instead of the conversation
 */
export function isCompactionDue(
  run: StartedState,
  context: EffectContext,
  list: readonly Message[] | null = null,
): boolean {
  if (!isCompactionAllowed(run)) return false;
  if (isCompactionRequested(run)) return findCut(run, context, measureContext(context)) !== null;
  if (!isCompactionEnabled(context)) return false;
  const size = list === null ? measureContext(context) : measureList(list, context);
  return isDue(size, context) && findCut(run, context, size) !== null;
}

/** Whether compaction can make room in a full context window. */
export function canCompact(run: StartedState, context: EffectContext): boolean {
  return (
    isCompactionEnabled(context) && isCompactionAllowed(run) && findCut(run, context, measureContext(context)) !== null
  );
}

/** Whether a model that stopped at a token limit has filled the context window, and not just its limit for an answer. */
export function isNearContextLimit(inputTokens: number | undefined, context: EffectContext): boolean {
  const { agent } = context;
  const budget = agent.compaction.computeBudget(chooseModel(context).model);
  if (!budget.isKnown && !isCompactionEnabled(context)) return false;
  return (inputTokens ?? measureContext(context).tokens) >= nearLimitRatio * budget.tokens;
}

/**
 * Where the conversation would be cut; null if nothing can be replaced. If the size is within the budget but the provider has still
 * rejected the request, the cut must make it smaller.
 */
export function findCut(run: StartedState, context: EffectContext, { tokens, budget }: ContextSize): number | null {
  const { agent, transcript } = context;
  const { tokens: estimator } = agent.services;
  const isForced = !isDue({ tokens, budget }, context);
  const cuts = listCuts(transcript, run, isForced && !isCompactionRequested(run));
  if (cuts.length === 0) return null;
  const fixed = estimator.request({ messages: [], ...pickPromptAndTools(context) });
  const view: CompactionView = {
    messages: Object.freeze(transcript.messages.slice()),
    cuts: deepFreeze(cuts),
    tokens,
    budget: isForced ? Math.min(budget, tokens) : budget,
    fixed,
    estimator,
  };
  const cut = tryOr(null, () => agent.services.compaction?.cutOf(view) ?? null);
  return cut !== null && cuts.includes(cut) ? cut : null;
}

/**
 * Where a conversation may be cut: between entries of the log, never between calls and their results, nor within a turn that a provider
 * paused. The following are never cut: the input of a run until a model has seen it, an answer that will be continued, and, unless the
 * provider has rejected the conversation, the messages since the last answer.
 */
function listCuts(
  { messages, seqs, compaction, run }: Transcript,
  state: StartedState,
  isForced: boolean,
): readonly number[] {
  const first = compaction === null ? 1 : 2;
  const keepFrom = findKeptFromSeq(state, run?.answerSeq ?? 0, isForced);
  const isWithinTurn = createTurnCheck(messages);
  const cuts: number[] = [];
  for (let index = first; index <= messages.length; index += 1) {
    if (messages[index]?.role === "tool" || seqs[index] === seqs[index - 1] || isWithinTurn(index)) continue;
    if ((seqs[index - 1] ?? 0) >= keepFrom) break;
    cuts.push(index);
  }
  return cuts;
}

/** Whether a cut before a message would separate the answers of one turn, or a provider's call from its later result. */
function createTurnCheck(messages: readonly Message[]): (index: number) => boolean {
  const calledAt = new Map<string, number>();
  const turns: { readonly first: number; readonly last: number }[] = [];
  for (const [index, message] of messages.entries()) {
    if (message.role !== "assistant") continue;
    if (messages[index - 1]?.role === "assistant") turns.push({ first: index - 1, last: index });
    for (const part of message.parts) {
      const first = part.type === "tool_result" ? calledAt.get(part.toolCallId) : undefined;
      if (first !== undefined && first < index) turns.push({ first, last: index });
    }
    for (const id of findOpenProviderCalls(message)) calledAt.set(id, index);
  }
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  if ([...calledAt.values()].includes(last)) turns.push({ first: last, last: messages.length });
  return (index) => turns.some((turn) => turn.first < index && index <= turn.last);
}

/** The first entry that is kept. At rest, no message is waiting for a model to see it. */
function findKeptFromSeq(state: StartedState, answerSeq: number, isForced: boolean): number {
  if (isTerminal(state)) return Number.POSITIVE_INFINITY;
  if (state.modelCallIndex === 1) return state.startSeq;
  const isContinuation = "purpose" in state && (state.purpose === "continue" || state.purpose === "unpause");
  return isContinuation || !isForced ? answerSeq : Number.POSITIVE_INFINITY;
}

/**
 * Whether this compaction takes place because a person requested it, between two steps or at rest. A request that came after the
 * preparation of the step had begun does not count: `seq` is the last entry that the preparation has seen.
 */
export function isCompactionRequested({ compactionAsked, seq, failing }: StartedState): boolean {
  if (compactionAsked === undefined || compactionAsked.dropped !== undefined) return false;
  return compactionAsked.seq <= seq && failing === null;
}

function isCompactionEnabled({ agent }: EffectContext): boolean {
  return agent.compaction.auto && agent.services.compaction !== null;
}

/** Whether the conversation would be compacted even if no person had requested it. */
export function isContextFull(size: ContextSize, context: EffectContext): boolean {
  return isCompactionEnabled(context) && isDue(size, context);
}

function isDue(size: ContextSize, { agent }: EffectContext): boolean {
  return tryOr(false, () => agent.services.compaction?.isDue(size) === true);
}

/** A service may be third-party code: if it throws, it counts as returning the fallback. */
function tryOr<Result>(fallback: Result, call: () => Result): Result {
  try {
    return call();
  } catch {
    return fallback;
  }
}
