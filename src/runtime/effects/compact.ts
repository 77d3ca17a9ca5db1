/**
 * Makes room in the context: a summary takes the place of the oldest messages. It is committed before anything uses it.
 *
 * 1. Whatever fails, exactly one event comes of it, and the run goes on (CTX-4).
 * 2. A summary that is empty, or no smaller than the messages that it stands for, changes nothing.
 */

import { defined } from "../../core/data/defined.js";
import { freeze } from "../../core/data/freeze.js";
import type { EventOf } from "../../core/machine/event.js";
import type { SourcesOfRun } from "../../core/machine/sources.js";
import { isTerminal, type State } from "../../core/machine/state.js";
import { compactionRange, summaryMessage } from "../../core/transcript/compaction.js";
import { isCached } from "../../core/transcript/pauses.js";
import type { CompactionService, CompactionTask, ContextSize, Summary } from "../../ports/compaction.js";
import { abort, type Cancellation, createCancellation, onCancel } from "../lib/cancellation.js";
import { textOfError } from "../lib/error-text.js";
import { callInTime } from "../lib/time-limit.js";
import { modelOf } from "../model/models.js";
import { cutOf, sizeOf } from "../work/context-size.js";
import type { EffectContext, EffectOf } from "../work/effect-context.js";
import { nameData } from "../work/prompt-blobs.js";
import { requestOf } from "./model-request.js";
import { createSummariser, type LastRequest, type Summariser } from "./summarise.js";

type Compacted = Omit<EventOf<"compacted">, "at">;

export async function compact(
  effect: EffectOf<"compact">,
  context: EffectContext,
  cancellation: Cancellation,
): Promise<Compacted | undefined> {
  const { state, parts } = context;
  const { compaction } = parts.services;
  if (state.status !== "preparing" && !isTerminal(state)) return undefined;
  const ofRun = isTerminal(state) ? {} : { runId: effect.runId };
  const size = sizeOf(context);
  const cut = cutOf(state, context, size);
  const tokensBefore = Math.round(size.tokens);
  if (cut === null || compaction === null)
    return { type: "compacted", ...ofRun, tokensBefore, fault: nothingToCompact(compaction) };
  const own = modelOf(context);
  const called = parts.compaction.model === null ? own : { ...own, model: parts.compaction.model };
  const wanted = createCancellation();
  const stopListening = onCancel(cancellation, () => abort(wanted, cancellation.reason));
  const last = called.model === own.model ? await findLastRequest(effect, context, size) : null;
  const summariser = createSummariser(effect, called, context, wanted, last);
  const startedAt = context.now();
  const budget = parts.compaction.budgetOf(called.model).tokens;
  const made = await sumUp(cut, summariser, budget, compaction, context);
  stopListening();
  // A service that took too long asks nobody any more.
  abort(wanted);
  return {
    type: "compacted",
    ...ofRun,
    tokensBefore,
    ...("code" in made ? { fault: made } : replacing(cut, made, state, context, tokensBefore)),
    model: called.model.id,
    timing: { startedAt, durationMs: Math.max(0, context.now() - startedAt) },
    ...asked(summariser),
    ...defined({ usage: summariser.usage() }),
  };
}

function asked({ requests }: Summariser): Pick<Compacted, "requests"> {
  const sent = requests().filter(({ attempts }) => attempts > 0);
  return sent.length === 0 ? {} : { requests: sent };
}

/**
 * The request of the last call, with what came since. Null if a provider would not read it from its cache, or would refuse it:
 * after a call that failed because the conversation was too long, or in a turn that the provider has paused.
 */
async function findLastRequest(
  { runId }: EffectOf<"compact">,
  context: EffectContext,
  { tokens, budget }: ContextSize,
): Promise<LastRequest | null> {
  const { state, transcript, parts, now } = context;
  if (state.status !== "preparing" || state.failing !== null) return null;
  if (state.for !== "compaction" || state.purpose === "unpause") return null;
  if (modelOf(context).model.cachesPrompts !== true || parts.promptCache === "off") return null;
  if (transcript.sentList !== null || !isCached(transcript, now()) || tokens >= budget) return null;
  const made = await requestOf({ runId, modelCallIndex: state.modelCallIndex, attempt: 0 }, context);
  return made.type === "request" ? { request: made.request, room: budget - tokens } : null;
}

type Fault = NonNullable<Compacted["fault"]>;

function nothingToCompact(compaction: CompactionService | null): Fault {
  const why =
    compaction === null
      ? "The agent compacts nothing: its option compaction is null."
      : "Nothing can be replaced: what could be summed up is too short.";
  return faultOf("nothing_to_compact", why);
}

function faultOf(code: string, message: string): Fault {
  return { code, message, retryable: false };
}

/** How long a compaction service may take, with all attempts of its summariser. */
const sumUpTimeoutMs = 30 * 60_000;

async function sumUp(
  cut: number,
  { ask, askBehind }: Summariser,
  summariserBudget: number,
  service: CompactionService,
  context: EffectContext,
): Promise<Summary | Fault> {
  const { parts, transcript } = context;
  const earlier = transcript.compaction;
  const task: CompactionTask = {
    messages: transcript.messages.slice(earlier === null ? 0 : 1, cut),
    earlier: freeze(earlier),
    size: sizeOf(context),
    summariserBudget,
    estimator: parts.services.tokens,
    kept: transcript.messages.length - cut,
    ...defined({ keep: transcript.asked?.keep, askBehind }),
    ask,
  };
  const settled = await callInTime(() => service.sumUp(task), { timeoutMs: sumUpTimeoutMs, clock: parts.clock });
  if (settled.type !== "returned") return faultOf("summariser_failed", settled.message);
  try {
    const { summary, retained } = settled.value as Summary;
    if (typeof summary !== "string" || !Array.isArray(retained) || !retained.every((text) => typeof text === "string"))
      return faultOf("summariser_failed", "The compaction service gave no summary.");
    return summary.trim() === "" ? faultOf("empty_summary", "The summary was empty.") : { summary, retained };
  } catch (error) {
    return faultOf("summariser_failed", textOfError(error));
  }
}

/** What the event says of a summary: what it replaces, or why it replaces nothing. */
function replacing(
  cut: number,
  { summary, retained }: Summary,
  { seq }: State,
  { parts, transcript, memory }: EffectContext,
  tokensBefore: number,
): Partial<Compacted> {
  const { messages, seqs } = transcript;
  const { message } = parts.services.tokens;
  const replaced = messages.slice(0, cut).reduce((sum, old) => sum + message(old), 0);
  const replacement = message(summaryMessage(summary, retained));
  if (replacement >= replaced)
    return { fault: faultOf("larger_summary", `The summary takes ${replacement} tokens, and stands for ${replaced}.`) };
  return {
    ...compactionRange(transcript, seqs[cut] ?? seq + 1),
    summary,
    ...(retained.length === 0 ? {} : { retained }),
    ...(transcript.sources === null ? {} : { sources: sourcesOfRun(transcript.sources) }),
    ...(Object.keys(transcript.data).length === 0 ? {} : { dataBlob: nameData(transcript.data, memory.texts) }),
    replaced: { from: firstReplaced(transcript), messages: cut },
    tokensAfter: Math.max(0, Math.round(tokensBefore - replaced + replacement)),
  };
}

function sourcesOfRun({ runId, list }: SourcesOfRun): SourcesOfRun {
  return { runId, list };
}

function firstReplaced({ origins }: EffectContext["transcript"]): number {
  return origins[0] ?? 1;
}
