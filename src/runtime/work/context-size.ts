/**
 * How much of its model's context window a conversation takes, and whether it can be made smaller.
 */
import type { RunState } from "../../core/machine/state.js";
import { mayCompact } from "../../core/machine/steps.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import { trimmedMessages } from "../../core/transcript/trim.js";
import type { CompactionView, ContextSize } from "../../ports/compaction.js";
import { modelOf } from "../model/models.js";
import type { EffectContext } from "./effect-context.js";

/** `length` counts as the end of the context window from this part of the budget on (FIN-3). */
const nearRatio = 0.8;

/** What the next request of the run would take: what the provider has counted, and an estimate of what came since (CTX-7). */
export function sizeOf(work: EffectContext): ContextSize {
  const { parts, transcript, state } = work;
  const { tokens: estimator } = parts.services;
  const { countedTokens, later } = transcript;
  const messages = trimmedMessages(transcript);
  const counted = estimator.context({ ...besideMessages(work), messages }, countedTokens).tokens;
  const tokens = later.reduce((sum, { message }) => sum + estimator.message(message), counted);
  return { tokens, budget: parts.compaction.budgetOf(modelOf(parts.models, state).model).tokens };
}

function besideMessages({ parts, transcript }: EffectContext) {
  const systemPrompt = transcript.run?.options.systemPrompt ?? parts.systemPrompt;
  return { ...(systemPrompt === undefined ? {} : { systemPrompt }), tools: parts.specifications };
}

/** The conversation is so large that it should be made smaller first, it may be, and there is something to gain. */
export function isCompactionDue(run: RunState, work: EffectContext): boolean {
  if (!isOn(work) || !mayCompact(run)) return false;
  const size = sizeOf(work);
  return isDue(size, work) && cutOf(run, work, size) !== null;
}

/** A full context window can be answered by making the conversation smaller. */
export function canCompact(run: RunState, work: EffectContext): boolean {
  return isOn(work) && mayCompact(run) && cutOf(run, work, sizeOf(work)) !== null;
}

/** A model that stopped at its limit of tokens has filled the context window, and not just its answer. */
export function isNearLimit(inputTokens: number | undefined, work: EffectContext): boolean {
  const { parts, state } = work;
  const budget = parts.compaction.budgetOf(modelOf(parts.models, state).model);
  if (!budget.isKnown && !isOn(work)) return false;
  return (inputTokens ?? sizeOf(work).tokens) >= nearRatio * budget.tokens;
}

/** Where the conversation would be cut; null where nothing can be replaced. What is too small for the budget was refused all the same. */
export function cutOf(run: RunState, work: EffectContext, { tokens, budget }: ContextSize): number | null {
  const { parts, transcript } = work;
  const { tokens: estimator } = parts.services;
  const isForced = !isDue({ tokens, budget }, work);
  const cuts = cutsIn(transcript, run, isForced);
  if (cuts.length === 0) return null;
  const fixed = estimator.request({ ...besideMessages(work), messages: [] });
  const view: CompactionView = {
    messages: transcript.messages,
    cuts,
    tokens,
    budget: isForced ? Math.min(budget, tokens) : budget,
    fixed,
    estimator,
  };
  const cut = asked(() => parts.services.compaction?.cutOf(view) ?? null, null);
  return cut !== null && cuts.includes(cut) ? cut : null;
}

/**
 * Where a conversation may be cut: between the entries of the log, never between calls and their results. What a run was
 * asked is kept until a model has seen it, and an answer that is to be gone on with until it is whole; what came since the last
 * answer is kept too, unless the provider has refused it.
 */
function cutsIn(
  { messages, seqs, compaction, run }: Transcript,
  state: RunState,
  isForced: boolean,
): readonly number[] {
  const first = compaction === null ? 1 : 2;
  const kept = keptFrom(state, run?.answerSeq ?? 0, isForced);
  const cuts: number[] = [];
  for (let index = first; index <= messages.length; index += 1) {
    if (messages[index]?.role === "tool" || seqs[index] === seqs[index - 1]) continue;
    if ((seqs[index - 1] ?? 0) >= kept) break;
    cuts.push(index);
  }
  return cuts;
}

function keptFrom(state: RunState, answerSeq: number, isForced: boolean): number {
  if (state.modelCallIndex === 1) return state.startSeq;
  const goesOn = "purpose" in state && state.purpose === "continue";
  return goesOn || !isForced ? answerSeq : Number.POSITIVE_INFINITY;
}

function isOn({ parts }: EffectContext): boolean {
  return parts.compaction.auto && parts.services.compaction !== null;
}

function isDue(size: ContextSize, { parts }: EffectContext): boolean {
  return asked(() => parts.services.compaction?.isDue(size) === true, false);
}

/** A service may be anybody's code: one that throws says no. */
function asked<Answer>(ask: () => Answer, otherwise: Answer): Answer {
  try {
    return ask();
  } catch {
    return otherwise;
  }
}
