/**
 * Adapts language models of the AI SDK. It uses only `doStream`. One call is one attempt: nothing here retries.
 *
 * The provider's stream is read once, with a reader. This generator is the only layer between the stream and the
 * consumer.
 */

import {
  aFunction,
  anArray,
  anObject,
  checkOptions,
  integerFrom,
  nonEmptyString,
  type OptionTable,
  oneOf,
} from "../../check-options.js";
import type { FilePart, ProviderMetadata } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import { scheduleNextTurn, startIdleTimer, warn } from "../../platform/process.js";
import type { Model, ModelDelta, ModelRequest } from "../../ports/model.js";
import { type PromptCache, promptCacheModes } from "../../ports/prompt-cache.js";
import { type CacheState, createCacheState } from "./cache-state.js";
import type { CallOptions, ProviderTool } from "./call-options.js";
import { createLoadingState, type LoadingState, renameSearchCall } from "./deferred-tools.js";
import { toModelFailure } from "./failure.js";
import { isAiSdkModel, type LanguageModel } from "./language-model.js";
import { explainRefusal, findPictureLimits } from "./picture-limits.js";
import { createPromptConverter, type PromptConverter } from "./prompt.js";
import { findCacheDialect } from "./prompt-cache.js";
import { toProviderSettings } from "./provider-settings.js";
import { addRefusalDetail } from "./refused-request.js";
import { createResultFileCheck } from "./result-files.js";
import { createStreamReader, type StreamReader } from "./stream.js";
import { findToolLoading } from "./tool-loading.js";

/** Options of `fromAiSdk`. */
export type AiSdkOptions = {
  /** The model's name in logs, price tables and lists. Default: `provider/model`. */
  readonly id?: string;
  /** The context window in tokens, input and output together. Compaction needs it, and providers do not report it. */
  readonly contextWindow?: number;
  /** Whether a tool's result may contain files of a media type. Default: what the provider's package supports. */
  readonly takesInResults?: (mediaType: string) => boolean;
  /** Options by provider name, sent with each request. A run's own options take precedence. */
  readonly providerOptions?: ProviderMetadata;
  /**
   * Tools that the provider defines, sent with each request. A tool of the agent with the same name takes precedence.
   * An agent's `tools` may also contain them, as the provider's package creates them.
   */
  readonly providerTools?: readonly ProviderTool[];
  /** Overrides the option of the same name of `createAgent`, for this model only. Default: the agent's setting. */
  readonly promptCache?: PromptCache;
};

const optionRules: OptionTable<AiSdkOptions> = {
  id: nonEmptyString,
  contextWindow: integerFrom(1, "tokens"),
  takesInResults: aFunction,
  providerOptions: anObject,
  providerTools: anArray,
  promptCache: oneOf(...promptCacheModes),
};

/**
 * Turns an AI SDK language model of specification v3 or v4 into a model.
 *
 * @throws PawlError `bad_configuration` for another specification, `unknown_model` for a string
 *
 * @example
 * ```ts
 * import { anthropic } from "@ai-sdk/anthropic";
 * import { fromAiSdk } from "pawl/models";
 *
 * const model = fromAiSdk(anthropic("claude-sonnet-5-5"), { contextWindow: 200_000 });
 * const agent = createAgent({ model }); // without options, `model: anthropic("…")` does the same
 * ```
 */
export function fromAiSdk(languageModel: LanguageModel, options: AiSdkOptions = {}): Model {
  assertLanguageModel(languageModel);
  checkOptions("fromAiSdk()", optionRules, options);
  const dialect = findCacheDialect(languageModel);
  const cache = createCacheState(dialect, options.promptCache);
  const loading = findToolLoading(languageModel);
  const tools = createLoadingState(loading);
  const limits = findPictureLimits(languageModel, options.contextWindow);
  const convert = createPromptConverter(
    languageModel,
    options.providerTools ?? [],
    options.providerOptions ?? {},
    limits,
  );
  return {
    id: options.id ?? `${languageModel.provider.split(".")[0]}/${languageModel.modelId}`,
    ...(options.contextWindow !== undefined && { contextWindow: options.contextWindow }),
    ...(dialect !== null && options.promptCache !== "off" && { cachesPrompts: true }),
    ...(loading !== null && { takesDeferredTools: true }),
    takesInResults: options.takesInResults ?? createResultFileCheck(languageModel),
    ...(limits !== null && { whyRefused: (file: FilePart) => explainRefusal(file, limits) }),
    stream: (request, signal) => streamDeltas({ model: languageModel, convert, cache, tools }, request, signal),
  };
}

/**
 * Returns a model unchanged, and turns an AI SDK language model into a model.
 *
 * @throws PawlError for anything else, as `fromAiSdk` does
 */
export function asModel(value: Model | LanguageModel): Model {
  return isModel(value) ? value : fromAiSdk(value);
}

export function isModel(value: unknown): value is Model {
  if (typeof value !== "object" || value === null) return false;
  const model = value as { readonly [key: string]: unknown };
  return typeof model.id === "string" && typeof model.stream === "function";
}

function assertLanguageModel(value: unknown): asserts value is LanguageModel {
  if (isAiSdkModel(value)) return;
  if (typeof value === "string") {
    throw new PawlError(
      "unknown_model",
      `${JSON.stringify(value)} is the name of a model, not a model. Look it up first: await resolveModel(${JSON.stringify(value)}).`,
    );
  }
  const version =
    typeof value === "object" && value !== null && "specificationVersion" in value
      ? String(value.specificationVersion)
      : undefined;
  throw new PawlError(
    "bad_configuration",
    version === undefined
      ? "This is not a model. Give an AI SDK language model, or an object with `id` and `stream`."
      : `This model has specification ${version} of the AI SDK; Pawl supports v3 and v4. Install another version of its provider package.`,
  );
}

const shownWarnings = new WeakMap<LanguageModel, Set<string>>();

/** Every step event contains its warnings, but few programs read them. So each warning is also printed once per process. */
function warnOnce(model: LanguageModel, warning: string): void {
  const shown = shownWarnings.get(model) ?? new Set();
  shownWarnings.set(model, shown);
  if (!shown.has(warning)) warn(warning, "PAWL_MODEL");
  shown.add(warning);
}

/** How long to wait for the end of a stream after its last useful part, in milliseconds. */
const endTimeoutMs = 1_000;

/**
 * How many parts are read in one turn of the event loop. A provider's stream yields everything that has arrived within the same
 * turn, so without a limit a long answer would block the process until its end.
 */
const maxPartsPerTurn = 50;

type PartReader = ReadableStreamDefaultReader<unknown>;
type AdaptedModel = {
  readonly model: LanguageModel;
  readonly convert: PromptConverter;
  readonly cache: CacheState;
  readonly tools: LoadingState;
};

async function* streamDeltas(
  { model, convert, cache, tools }: AdaptedModel,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelDelta, void, void> {
  if (signal.aborted) return;
  const { warnings } = toProviderSettings(request, model, request.tools.length > 0);
  for (const warning of warnings) warnOnce(model, warning);
  const unsent = [...warnings, ...cache.warnings(), ...tools.warnings()];
  const streamReader = createStreamReader(unsent);
  let options: CallOptions | undefined;
  let reader: PartReader | undefined;
  try {
    const warn = (warning: string) => {
      unsent.push(warning);
      warnOnce(model, warning);
    };
    options = convert(request, signal, { promptCache: cache.chooseLifetime(request), loading: tools.loading(), warn });
    reader = await openStream(model, options, signal);
  } catch (error) {
    if (signal.aborted) return;
    // The provider has not run the request, so it may be sent again within the attempt.
    if (tools.recordRefusal(request, error) || cache.recordRefusal(request, error))
      yield { kind: "error", failure: { ...toModelFailure(error), unanswered: true } };
    else for (const delta of streamReader.end(error)) yield addRefusalDetail(delta, options);
    return;
  }
  if (reader === undefined) return;

  const cancelOnAbort = () => cancel(reader);
  signal.addEventListener("abort", cancelOnAbort, { once: true });
  let stopTimer: (() => void) | undefined;
  try {
    for (let partCount = 1; !streamReader.ended && !signal.aborted; partCount += 1) {
      if (partCount % maxPartsPerTurn === 0) await new Promise<void>(scheduleNextTurn);
      if (streamReader.failing) stopTimer ??= cancelAfterTimeout(reader);
      const deltas = await readNext(reader, streamReader);
      if (signal.aborted) return;
      for (const delta of deltas) yield addRefusalDetail(renameSearchCall(delta), options);
    }
  } finally {
    signal.removeEventListener("abort", cancelOnAbort);
    stopTimer?.();
    if (streamReader.ended) drain(reader);
    else cancel(reader);
  }
}

/** Opens the provider's stream; undefined if the signal is aborted first. A provider may ignore the signal. */
async function openStream(
  model: LanguageModel,
  options: CallOptions,
  signal: AbortSignal,
): Promise<PartReader | undefined> {
  const opening = startStream(model, options);
  let stopListening = () => {};
  const aborted = new Promise<undefined>((resolve) => {
    const onAbort = () => resolve(undefined);
    signal.addEventListener("abort", onAbort, { once: true });
    stopListening = () => signal.removeEventListener("abort", onAbort);
  });
  try {
    await Promise.race([opening, aborted]);
    if (!signal.aborted) return await opening;
    // A stream or a failure that arrives after the abort is discarded.
    opening.then(cancel, () => {});
    return undefined;
  } finally {
    stopListening();
  }
}

async function startStream(model: LanguageModel, options: CallOptions): Promise<PartReader> {
  // `never`, because the two specifications have different types. The converter has built the options for this model's version.
  const result = await model.doStream(options as never);
  return result.stream.getReader();
}

async function readNext(reader: PartReader, streamReader: StreamReader): Promise<readonly ModelDelta[]> {
  let chunk: { readonly done: boolean; readonly value?: unknown };
  try {
    chunk = await reader.read();
  } catch (error) {
    return streamReader.end(error);
  }
  return chunk.done ? streamReader.end() : streamReader.read(chunk.value);
}

function cancel(reader: PartReader): void {
  // A failed stream rejects `cancel`. The read has already reported that failure.
  reader.cancel().catch(() => {});
}

function cancelAfterTimeout(reader: PartReader): () => void {
  return startIdleTimer(endTimeoutMs, () => cancel(reader));
}

/** Reads the stream to its end in the background, so that the connection can be reused for the next request. */
function drain(reader: PartReader): void {
  const stopTimer = cancelAfterTimeout(reader);
  const readRest = (): Promise<void> => reader.read().then((chunk) => (chunk.done ? undefined : readRest()));
  readRest().then(stopTimer, stopTimer);
}
