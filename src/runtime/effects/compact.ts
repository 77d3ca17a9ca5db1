/**
 * Makes room in the context: a summary replaces the oldest messages. It is committed before anything uses it.
 *
 * 1. Whatever fails, there is exactly one event, and the run continues (CTX-4).
 * 2. A summary that is empty, or not smaller than the messages that it replaces, changes nothing.
 * 3. The hooks are called before the summarizer. After a crash both are called again.
 */

import { defined } from "../../core/data/defined.js";
import { deepFreeze } from "../../core/data/freeze.js";
import type { EventOf } from "../../core/machine/event.js";
import type { SourcesOfRun } from "../../core/machine/sources.js";
import { isTerminal, type State } from "../../core/machine/state.js";
import { compactionRange, summaryMessage } from "../../core/transcript/compaction.js";
import { isCached } from "../../core/transcript/pauses.js";
import type { CompactionService, CompactionTask, ContextSize, Summary } from "../../ports/compaction.js";
import type { CompactionStartSubject } from "../../ports/hook.js";
import { type CompactionPlan, callBeforeCompaction } from "../hooks/compaction-hooks.js";
import { pickHookRecords } from "../hooks/step-hooks.js";
import { abort, type Cancellation, createCancellation, onCancel } from "../lib/cancellation.js";
import { runCoroutine } from "../lib/coroutine.js";
import { formatError } from "../lib/error-text.js";
import { callInTime } from "../lib/time-limit.js";
import { chooseModel } from "../model/models.js";
import { findCut, isCompactionRequested, isContextFull, measureContext } from "../work/context-size.js";
import type { EffectContext, EffectOf } from "../work/effect-context.js";
import { queueData } from "../work/prompt-blobs.js";
import { pickValidatedParams } from "../work/run-params.js";
import { buildRequest } from "./model-request.js";
import { createSummarizer, type LastRequest, type Summarizer } from "./summarize.js";

type CompactedBody = Omit<EventOf<"compacted">, "at">;

export async function compact(
  effect: EffectOf<"compact">,
  context: EffectContext,
  cancellation: Cancellation,
): Promise<CompactedBody | undefined> {
  const { state, agent } = context;
  const { compaction } = agent.services;
  if (state.status !== "preparing" && !isTerminal(state)) return undefined;
  const runFields = isTerminal(state) ? {} : { runId: effect.runId };
  const size = measureContext(context);
  const cut = findCut(state, context, size);
  const tokensBefore = Math.round(size.tokens);
  if (cut === null || compaction === null)
    return { type: "compacted", ...runFields, tokensBefore, fault: createNothingToCompactFault(compaction) };
  const { keep, skipped, records } = await planCompaction(size, context, cancellation);
  const hooks = pickHookRecords(records);
  if (skipped !== undefined)
    return { type: "compacted", ...runFields, tokensBefore, fault: createFault(skipped.code, skipped.why), ...hooks };
  const stepModel = chooseModel(context);
  const summaryModel = agent.compaction.model === null ? stepModel : { ...stepModel, model: agent.compaction.model };
  const ownCancellation = createCancellation();
  const stopListening = onCancel(cancellation, () => abort(ownCancellation, cancellation.reason));
  const last = summaryModel.model === stepModel.model ? await findLastRequest(effect, context, size) : null;
  const summarizer = createSummarizer(effect, summaryModel, context, ownCancellation, last);
  const startedAt = context.now();
  const budget = agent.compaction.computeBudget(summaryModel.model).tokens;
  const made = await summarize({ cut, keep }, summarizer, budget, compaction, context);
  stopListening();
  // A service that took too long must not call the model again.
  abort(ownCancellation);
  return {
    type: "compacted",
    ...runFields,
    tokensBefore,
    ...("code" in made ? { fault: made } : applySummary(cut, made, state, context, tokensBefore)),
    model: summaryModel.model.id,
    timing: { startedAt, durationMs: Math.max(0, context.now() - startedAt) },
    ...pickRequests(summarizer),
    ...defined({ usage: summarizer.usage() }),
    ...hooks,
  };
}

/**
 * Asks the `beforeCompaction` hooks. They cannot skip a requested compaction if the window is full by then: the run needs it, and a skipped
 * compaction counts as a failed one, after which no other is tried before the model call.
 */
async function planCompaction(
  size: ContextSize,
  context: EffectContext,
  cancellation: Cancellation,
): Promise<CompactionPlan> {
  const { state, agent, transcript } = context;
  const keep = transcript.asked?.keep;
  if (agent.hooks.beforeCompaction.length === 0 || state.status === "idle")
    return { records: [], ...defined({ keep }) };
  const isManual = isTerminal(state) || (isCompactionRequested(state) && !isContextFull(size, context));
  const subject: CompactionStartSubject = {
    trigger: isManual ? "manual" : "auto",
    tokensBefore: Math.round(size.tokens),
    ...defined({ keep }),
  };
  return runCoroutine(callBeforeCompaction(subject, context, cancellation));
}

function pickRequests({ requests }: Summarizer): Pick<CompactedBody, "requests"> {
  const sent = requests().filter(({ attempts }) => attempts > 0);
  return sent.length === 0 ? {} : { requests: sent };
}

/**
 * The request of the last call, with the messages since then. Null if a provider would not read it from its cache, or would reject it:
 * after a call that failed because the conversation was too long, or in a turn that the provider has paused.
 */
async function findLastRequest(
  { runId }: EffectOf<"compact">,
  context: EffectContext,
  { tokens, budget }: ContextSize,
): Promise<LastRequest | null> {
  const { state, transcript, agent, now } = context;
  if (state.status !== "preparing" || state.failing !== null) return null;
  if (state.for !== "compaction" || state.purpose === "unpause") return null;
  if (chooseModel(context).model.cachesPrompts !== true || agent.promptCache === "off") return null;
  if (transcript.sentList !== null || !isCached(transcript, now()) || tokens >= budget) return null;
  const made = await buildRequest({ runId, modelCallIndex: state.modelCallIndex, attempt: 0 }, context);
  return made.type === "request" ? { request: made.request, room: budget - tokens } : null;
}

type Fault = NonNullable<CompactedBody["fault"]>;

function createNothingToCompactFault(compaction: CompactionService | null): Fault {
  const why =
    compaction === null
      ? "The agent compacts nothing: its option compaction is null."
      : "Nothing can be replaced: what could be summed up is too short.";
  return createFault("nothing_to_compact", why);
}

function createFault(code: string, message: string): Fault {
  return { code, message, retryable: false };
}

/** How long a compaction service may take, with all attempts of its summarizer. */
const sumUpTimeoutMs = 30 * 60_000;

async function summarize(
  { cut, keep }: { readonly cut: number; readonly keep: string | undefined },
  { ask, askBehind }: Summarizer,
  summariserBudget: number,
  service: CompactionService,
  context: EffectContext,
): Promise<Summary | Fault> {
  const { agent, transcript } = context;
  const earlier = transcript.compaction;
  const task: CompactionTask = {
    messages: transcript.messages.slice(earlier === null ? 0 : 1, cut),
    earlier: deepFreeze(earlier),
    size: measureContext(context),
    summariserBudget,
    estimator: agent.services.tokens,
    kept: transcript.messages.length - cut,
    ...defined({ keep, askBehind }),
    ask,
  };
  const settled = await callInTime(() => service.sumUp(task), { timeoutMs: sumUpTimeoutMs, clock: agent.clock });
  if (settled.type !== "returned") return createFault("summariser_failed", settled.message);
  try {
    const { summary, retained } = settled.value as Summary;
    if (typeof summary !== "string" || !Array.isArray(retained) || !retained.every((text) => typeof text === "string"))
      return createFault("summariser_failed", "The compaction service gave no summary.");
    return summary.trim() === "" ? createFault("empty_summary", "The summary was empty.") : { summary, retained };
  } catch (error) {
    return createFault("summariser_failed", formatError(error));
  }
}

/** The fields of the event for a summary: what it replaces, or why it replaces nothing. */
function applySummary(
  cut: number,
  { summary, retained }: Summary,
  { seq }: State,
  context: EffectContext,
  tokensBefore: number,
): Partial<CompactedBody> {
  const { agent, transcript, memory } = context;
  const { messages, seqs } = transcript;
  const { message } = agent.services.tokens;
  const replaced = messages.slice(0, cut).reduce((sum, old) => sum + message(old), 0);
  const replacement = message(summaryMessage(summary, retained));
  if (replacement >= replaced)
    return {
      fault: createFault("larger_summary", `The summary takes ${replacement} tokens, and stands for ${replaced}.`),
    };
  return {
    ...compactionRange(transcript, seqs[cut] ?? seq + 1),
    summary,
    ...(retained.length === 0 ? {} : { retained }),
    ...(transcript.sources === null ? {} : { sources: pickRunSources(transcript.sources) }),
    ...(transcript.run === null || transcript.run.prompt === null ? {} : { runPrompt: transcript.run.prompt }),
    ...pickValidatedParams(context),
    ...(Object.keys(transcript.data).length === 0 ? {} : { dataBlob: queueData(transcript.data, memory.texts) }),
    replaced: { from: getFirstReplacedSeq(transcript), messages: cut },
    tokensAfter: Math.max(0, Math.round(tokensBefore - replaced + replacement)),
  };
}

function pickRunSources({ runId, list }: SourcesOfRun): SourcesOfRun {
  return { runId, list };
}

function getFirstReplacedSeq({ origins }: EffectContext["transcript"]): number {
  return origins[0] ?? 1;
}
