/**
 * Prepares a model call: determines what the model will see.
 */
import { defaultContextManager } from "../../context/context-manager.js";
import type { Message } from "../../core/data/message.js";
import type { EventBody, EventOf, HookRecord } from "../../core/machine/event.js";
import type { ShownMessages } from "../../core/transcript/message-references.js";
import { isPause } from "../../core/transcript/pauses.js";
import { listMissingRunTools } from "../agent/agent-with-run-tools.js";
import { mergeSettings, pickChangedSettings } from "../agent/model-settings.js";
import { type OfferedHandoffs, selectHandoffs } from "../hooks/offered-handoffs.js";
import {
  createManagerFailure,
  hasStepHooks,
  type Preparation,
  pickHookRecords,
  prepareWithHooks,
} from "../hooks/step-hooks.js";
import { canStop, evaluateStopConditions } from "../hooks/stop-when.js";
import type { Cancellation } from "../lib/cancellation.js";
import { type Coroutine, type MaybePromise, runCoroutine, wait } from "../lib/coroutine.js";
import { buildContext, toRunData } from "../work/build-context.js";
import { isCompactionDue } from "../work/context-size.js";
import type { EffectContext } from "../work/effect-context.js";
import { adjustPrompt, getSources, loadRunSources, needsSources, pickChangedSources } from "../work/loaded-sources.js";
import { createListReferences } from "../work/message-lists.js";
import { collectNewHashes, type PromptBlobs } from "../work/prompt-blobs.js";
import { needsParams, pickChangedParams, validateParams } from "../work/run-params.js";
import { loadRunPrompt, needsRunPrompt, pickNewRunPrompt } from "../work/run-prompt.js";

export function prepare(context: EffectContext, cancellation: Cancellation): MaybePromise<EventBody | undefined> {
  const { state } = context;
  if (state.status !== "preparing" || state.for !== "step") return undefined;
  if (canStop(state, context)) return runCoroutine(prepareUnlessStopped(state, context, cancellation));
  return prepareStep(state, context, cancellation, noRecords);
}

const noRecords: readonly HookRecord[] = [];
const allHandoffs: OfferedHandoffs = { choices: {}, records: noRecords };

function* prepareUnlessStopped(
  state: StepPreparing,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<EventBody> {
  const { end, records } = yield* evaluateStopConditions(state, context, cancellation);
  return end ?? (yield* wait(prepareStep(state, context, cancellation, records)));
}

/** @param earlier records to add to the event: stop conditions that failed */
function prepareStep(
  state: StepPreparing,
  context: EffectContext,
  cancellation: Cancellation,
  earlier: readonly HookRecord[],
): MaybePromise<EventBody> {
  if (needsParams(context)) return runCoroutine(prepareWithParams(state, context, cancellation, earlier));
  if (needsRunPrompt(context)) return runCoroutine(prepareWithPrompt(state, context, cancellation, earlier));
  if (needsSources(context)) return runCoroutine(prepareWithSources(state, context, cancellation, earlier));
  const missing = missingToolRecords(context);
  if (missing.length > 0) return prepareStep(state, context, cancellation, [...earlier, ...missing]);
  const { runId, modelCallIndex } = state;
  // Whether a compaction is due depends on what an author's context manager would send.
  const firstBuild = context.agent.context.manager === defaultContextManager ? null : buildContext(state, context);
  const list = firstBuild?.type === "built" ? firstBuild.list : null;
  if (isCompactionDue(state, context, list))
    return { type: "compaction_started", runId, modelCallIndex, ...pickHookRecords(earlier) };
  const built = firstBuild ?? buildContext(state, context);
  if (built.type === "failed") return { ...createManagerFailure(state, built.message), ...pickHookRecords(earlier) };
  const { conditionalHandoffs } = context.agent;
  const offered = conditionalHandoffs === null ? allHandoffs : selectHandoffs(conditionalHandoffs, state, context);
  const earlierRecords = offered.records.length === 0 ? earlier : [...earlier, ...offered.records];
  const records = earlierRecords.length === 0 ? built.records : [...earlierRecords, ...built.records];
  // The new key comes first: on Node 20, adding a key to a copy is twenty times slower.
  const initial: Preparation = { choices: offered.choices, ...built, records };
  if (!hasStepHooks(context)) return createPreparedEvent(state, initial, context);
  return runCoroutine(prepareAfterHooks(state, initial, context, cancellation));
}

/** Recorded once per run and process: the model was offered these tools before and no longer is. */
function missingToolRecords({ agent, transcript, runMemory }: EffectContext): readonly HookRecord[] {
  if (transcript.run?.options.tools === undefined || runMemory.hasReportedTools) return noRecords;
  if (agent.isReplay === true) return noRecords;
  runMemory.hasReportedTools = true;
  return listMissingRunTools(agent, transcript.run).map((name) => ({
    name: `tool ${name}`,
    hook: "beforeLLMCall",
    ms: 0,
    outcome: "refused",
    message: missingToolText,
  }));
}

const missingToolText =
  "This process does not have this tool, which the run was started with. The tool is not offered to the model. Pass tools to resume() to restore it.";

function* prepareWithSources(
  state: StepPreparing,
  context: EffectContext,
  cancellation: Cancellation,
  earlier: readonly HookRecord[],
): Coroutine<EventBody> {
  const failed = yield* loadRunSources(toRunData(state, context), context, cancellation);
  if (failed !== null) return createPreparationFailure("context sources", state, failed, earlier);
  return yield* wait(prepareStep(state, context, cancellation, earlier));
}

function* prepareWithParams(
  state: StepPreparing,
  context: EffectContext,
  cancellation: Cancellation,
  earlier: readonly HookRecord[],
): Coroutine<EventBody> {
  const problem = yield* validateParams(context);
  if (problem !== null) return createParamsRefusal(state, problem, earlier);
  return yield* wait(prepareStep(state, context, cancellation, earlier));
}

function* prepareWithPrompt(
  state: StepPreparing,
  context: EffectContext,
  cancellation: Cancellation,
  earlier: readonly HookRecord[],
): Coroutine<EventBody> {
  const problem = yield* loadRunPrompt(context, cancellation);
  if (problem !== null) return createPreparationFailure("system prompt", state, problem, earlier);
  return yield* wait(prepareStep(state, context, cancellation, earlier));
}

/** The run ends as if `beforeRun` had refused it. */
function createParamsRefusal(
  { runId, modelCallIndex }: StepPreparing,
  message: string,
  earlier: readonly HookRecord[],
): EventBody {
  const fault = { code: "bad_input", message, retryable: false };
  return { type: "run_finished", runId, modelCallIndex, reason: "refused", fault, ...pickHookRecords(earlier) };
}

/** The failure is recorded as a failed hook, so that a replay does not load what failed then. */
function createPreparationFailure(
  name: string,
  { runId, modelCallIndex }: StepPreparing,
  message: string,
  earlier: readonly HookRecord[],
): EventBody {
  const record: HookRecord = { name, hook: "beforeLLMCall", ms: 0, outcome: "threw", message };
  const fault = { code: "hook_failed", message, retryable: false };
  const end = { type: "run_finished", runId, modelCallIndex, reason: "hook_failed", fault } as const;
  return { ...end, ...pickHookRecords([...earlier, record]) };
}

type StepPreparing = Extract<EffectContext["state"], { for: "step" }>;

function* prepareAfterHooks(
  state: StepPreparing,
  initial: Preparation,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<EventBody> {
  const preparation = yield* prepareWithHooks(state, initial, context, cancellation);
  return preparation.end ?? createPreparedEvent(state, preparation, context);
}

function createPreparedEvent(
  state: StepPreparing,
  { records, input, systemPrompt: built, specifications, append, list, shown, choices, settings }: Preparation,
  context: EffectContext,
): EventBody {
  const { runId, modelCallIndex, seq, purpose } = state;
  const { memory, agent, transcript } = context;
  const callSettings = mergeSettings(agent.settings, transcript.run?.options.settings, settings);
  const resultBytes = agent.services.output?.maxTotalBytes;
  const sources = getSources(state, context);
  const systemPrompt = sources === null ? built : adjustPrompt(built, list, sources, transcript);
  return {
    type: "prepared",
    runId,
    modelCallIndex,
    contextSeq: seq,
    purpose,
    ...(input === undefined ? {} : { input }),
    ...(append.length === 0 ? {} : { append }),
    ...choices,
    ...(callSettings === transcript.settings ? {} : pickChangedSettings(callSettings, transcript.settings)),
    ...choosePromptCache(context),
    ...(purpose === "summary" ? keepsTools : {}),
    ...(list === null || shown === null ? {} : pickListReferences(list, shown, resultBytes, memory.texts)),
    ...collectNewHashes(memory.texts, { systemPrompt, specifications }, transcript),
    ...(resultBytes === undefined ? {} : { resultBytes }),
    ...(sources === null ? {} : pickChangedSources(runId, sources, transcript)),
    ...pickChangedParams(context),
    ...pickNewRunPrompt(context),
    ...pickHookRecords(records),
  };
}

const keepsTools: Pick<EventOf<"prepared">, "summaryKeepsTools"> = { summaryKeepsTools: true };

/**
 * Writing a cache entry that lasts an hour costs more, which pays off in a session that pauses repeatedly. After one pause, most sessions
 * do not pause a second time.
 */
function choosePromptCache({ agent, transcript, now }: EffectContext): Pick<EventOf<"prepared">, "promptCache"> {
  switch (agent.promptCache) {
    case "5m":
      return {};
    case "1h":
    case "off":
      return { promptCache: agent.promptCache };
    case "auto": {
      const { pauses } = transcript;
      const count = pauses.count + (isPause(pauses, now()) ? 1 : 0);
      return count >= 2 ? { promptCache: "1h" } : {};
    }
  }
}

/** Empty if the list equals what the model would be shown without it. A list is never trimmed, so it is recorded if results are trimmed. */
function pickListReferences(
  list: readonly Message[],
  shown: ShownMessages,
  resultBytes: number | undefined,
  texts: PromptBlobs,
): Pick<EventOf<"prepared">, "messages"> {
  const { messages } = shown;
  const isSame = list.length === messages.length && list.every((message, index) => message === messages[index]);
  return isSame && resultBytes === undefined ? {} : { messages: createListReferences(list, shown, texts) };
}
