/**
 * Before a model call: what the model will see.
 */
import { contextManager } from "../../context/manager.js";
import type { Message } from "../../core/data/message.js";
import type { EventBody, EventOf } from "../../core/machine/event.js";
import type { ShownMessages } from "../../core/transcript/message-references.js";
import { hasStepHooks, hookRecords, managerFailed, type Preparation, prepareWithHooks } from "../hooks/step-hooks.js";
import type { Cancellation } from "../lib/cancellation.js";
import { type Coroutine, type MaybePromise, runCoroutine } from "../lib/coroutine.js";
import { buildContext } from "../work/build-context.js";
import { isCompactionDue } from "../work/context-size.js";
import type { EffectContext } from "../work/effect-context.js";
import { namedList } from "../work/message-lists.js";
import { type PromptBlobs, promptHashes } from "../work/prompt-blobs.js";

export function prepare(context: EffectContext, cancellation: Cancellation): MaybePromise<EventBody | undefined> {
  const { state } = context;
  if (state.status !== "preparing" || state.for !== "step") return undefined;
  const { runId, modelCallIndex } = state;
  // Whether compaction is due goes by what an author's context manager would send.
  const early = context.parts.context.manager === contextManager ? null : buildContext(state, context);
  const list = early?.type === "built" ? early.list : null;
  if (isCompactionDue(state, context, list)) return { type: "compaction_started", runId, modelCallIndex };
  const built = early ?? buildContext(state, context);
  if (built.type === "failed") return managerFailed(state, built.message);
  const initial: Preparation = { ...built, choices: {} };
  if (!hasStepHooks(context)) return prepared(state, initial, context);
  return runCoroutine(preparedWithHooks(state, initial, context, cancellation));
}

type StepPreparing = Extract<EffectContext["state"], { for: "step" }>;

function* preparedWithHooks(
  state: StepPreparing,
  initial: Preparation,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<EventBody> {
  const preparation = yield* prepareWithHooks(state, initial, context, cancellation);
  return preparation.end ?? prepared(state, preparation, context);
}

function prepared(
  { runId, modelCallIndex, seq, purpose }: StepPreparing,
  { records, input, systemPrompt, specifications, append, list, shown, choices }: Preparation,
  { memory, parts, transcript }: EffectContext,
): EventBody {
  const resultBytes = parts.services.output?.maxTotalBytes;
  return {
    type: "prepared",
    runId,
    modelCallIndex,
    contextSeq: seq,
    purpose,
    ...(input === undefined ? {} : { input }),
    ...(append.length === 0 ? {} : { append }),
    ...choices,
    ...(list === null || shown === null ? {} : listed(list, shown, resultBytes, memory.texts)),
    ...promptHashes(memory.texts, { systemPrompt, specifications }, transcript),
    ...(resultBytes === undefined ? {} : { resultBytes }),
    ...hookRecords(records),
  };
}

/** Nothing, if the list is what the model is shown without it. A list is never trimmed: so it counts if results are. */
function listed(
  list: readonly Message[],
  shown: ShownMessages,
  resultBytes: number | undefined,
  texts: PromptBlobs,
): Pick<EventOf<"prepared">, "messages"> {
  const { messages } = shown;
  const isSame = list.length === messages.length && list.every((message, index) => message === messages[index]);
  return isSame && resultBytes === undefined ? {} : { messages: namedList(list, shown, texts) };
}
