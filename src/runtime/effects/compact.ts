/**
 * Makes room in the context: the oldest messages are summed up, and the summary is committed before anybody uses it.
 *
 * 1. What comes of it is one event, whatever fails; the run goes on all the same (CTX-4).
 * 2. A summary that is empty, or no smaller than what it stands for, changes nothing.
 */

import type { EventOf } from "../../core/machine/event.js";
import type { Preparing } from "../../core/machine/state.js";
import { compactionRange, summaryMessage } from "../../core/transcript/compaction.js";
import type { CompactionService, Summary } from "../../ports/compaction.js";
import { textOfError } from "../lib/error-text.js";
import { modelOf } from "../model/models.js";
import { cutOf, sizeOf } from "../work/context-size.js";
import type { EffectContext, EffectOf, Perform } from "../work/effect-context.js";
import { createSummariser, type Summariser, SummariserFailure } from "./summarise.js";

type Compacted = Omit<EventOf<"compacted">, "at">;

export const compact: Perform<EffectOf<"compact">> = async (effect, work, cancellation) => {
  const { state, parts } = work;
  const { compaction } = parts.services;
  if (state.status !== "preparing") return undefined;
  const { runId } = effect;
  const size = sizeOf(work);
  const cut = cutOf(state, work, size);
  const tokensBefore = Math.round(size.tokens);
  if (cut === null || compaction === null)
    return { type: "compacted", runId, tokensBefore, fault: faultOf("nothing_to_compact", "Nothing can be replaced.") };
  const own = modelOf(parts.models, state);
  const called = parts.compaction.model === null ? own : { ...own, model: parts.compaction.model };
  const summariser = createSummariser(effect, called, work, cancellation);
  const startedAt = work.now();
  const made = await sumUp(cut, summariser, parts.compaction.budgetOf(called.model).tokens, compaction, work);
  const usage = summariser.usage();
  return {
    type: "compacted",
    runId,
    tokensBefore,
    ...("code" in made ? { fault: made } : replacing(cut, made, state, work, tokensBefore)),
    model: called.model.id,
    timing: { startedAt, durationMs: Math.max(0, work.now() - startedAt) },
    ...(usage === undefined ? {} : { usage }),
  };
};

type Fault = NonNullable<Compacted["fault"]>;

function faultOf(code: string, message: string): Fault {
  return { code, message, retryable: false };
}

async function sumUp(
  cut: number,
  { ask }: Summariser,
  summariserBudget: number,
  service: CompactionService,
  work: EffectContext,
): Promise<Summary | Fault> {
  const { parts, transcript } = work;
  const earlier = transcript.compaction;
  try {
    const { summary, retained } = await service.sumUp({
      messages: transcript.messages.slice(earlier === null ? 0 : 1, cut),
      earlier,
      size: sizeOf(work),
      summariserBudget,
      estimator: parts.services.tokens,
      ask,
    });
    if (typeof summary !== "string" || !Array.isArray(retained) || !retained.every((one) => typeof one === "string"))
      return faultOf("summariser_failed", "The compaction service gave no summary.");
    return summary.trim() === "" ? faultOf("empty_summary", "The summary was empty.") : { summary, retained };
  } catch (error) {
    if (error instanceof SummariserFailure) return faultOf("summariser_failed", error.failure.message);
    return faultOf("summariser_failed", textOfError(error));
  }
}

/** What the event says of a summary that is worth it. */
function replacing(
  cut: number,
  { summary, retained }: Summary,
  { seq }: Preparing,
  { parts, transcript }: EffectContext,
  tokensBefore: number,
): Partial<Compacted> {
  const { messages, seqs } = transcript;
  const { message } = parts.services.tokens;
  const replaced = messages.slice(0, cut).reduce((sum, one) => sum + message(one), 0);
  const standing = message(summaryMessage(summary, retained));
  if (standing >= replaced)
    return { fault: faultOf("larger_summary", `The summary takes ${standing} tokens, and stands for ${replaced}.`) };
  return {
    ...compactionRange(transcript, seqs[cut] ?? seq + 1),
    summary,
    ...(retained.length === 0 ? {} : { retained }),
    replaced: { from: firstReplaced(transcript), messages: cut },
    tokensAfter: Math.max(0, Math.round(tokensBefore - replaced + standing)),
  };
}

function firstReplaced({ origins }: EffectContext["transcript"]): number {
  return origins[0] ?? 1;
}
