/**
 * Models of the AI SDK's provider packages, through `doStream` alone. One call is one attempt: nothing here retries.
 *
 * The provider's stream is read once, with a reader; between it and the consumer there is this one generator.
 */
import type { ProviderMetadata } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import type { Model, ModelDelta, ModelRequest } from "../../ports/model.js";
import type { CallOptions, ProviderTool } from "./call-options.js";
import { isAiSdkModel, type LanguageModel } from "./language-model.js";
import { createPromptConverter } from "./prompt.js";
import { takesInResults } from "./results.js";
import { createStreamReader, type StreamReader } from "./stream.js";

export type AiSdkOptions = {
  /** How the model is called in logs and lists; `provider/model` by default. */
  readonly id?: string;
  /** Tokens that the model can take in and give out together. Providers do not say; budgets need it. */
  readonly contextWindow?: number;
  /** Whether a tool's result may hold files of a media type; what is known of the provider's package unless given. */
  readonly takesInResults?: (mediaType: string) => boolean;
  /** Options for the provider, by its name, sent with each request; a run's own go before them. */
  readonly providerOptions?: ProviderMetadata;
  /** Tools that the provider runs itself, as its package makes them. */
  readonly providerTools?: readonly ProviderTool[];
};

/**
 * Makes a model of an AI SDK language model of specification v3 or v4.
 *
 * @throws PawlError `bad_configuration` for another specification, `unknown_model` for a name
 */
export function fromAiSdk(languageModel: LanguageModel, options: AiSdkOptions = {}): Model {
  assertUsable(languageModel);
  const convert = createPromptConverter(
    languageModel.specificationVersion,
    options.providerTools ?? [],
    options.providerOptions ?? {},
  );
  return {
    id: options.id ?? `${languageModel.provider.split(".")[0]}/${languageModel.modelId}`,
    ...(options.contextWindow !== undefined && { contextWindow: options.contextWindow }),
    takesInResults: options.takesInResults ?? takesInResults(languageModel),
    stream: (request, signal) => stream(languageModel, convert, request, signal),
  };
}

/**
 * A model as it is, or an AI SDK language model made into one.
 *
 * @throws PawlError as `fromAiSdk` does, for anything else
 */
export function asModel(value: Model | LanguageModel): Model {
  return isModel(value) ? value : fromAiSdk(value);
}

export function isModel(value: unknown): value is Model {
  if (typeof value !== "object" || value === null) return false;
  const model = value as { readonly [key: string]: unknown };
  return typeof model.id === "string" && typeof model.stream === "function";
}

function assertUsable(value: unknown): asserts value is LanguageModel {
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
      ? "This is not a model: give an AI SDK language model, or an object with `id` and `stream`."
      : `This model has specification ${version} of the AI SDK; v3 and v4 can be used. Install a newer version of its provider package.`,
  );
}

/** How long the end of a stream is waited for, once what matters has come. Milliseconds. */
const patience = 1_000;

type Opened = ReadableStreamDefaultReader<unknown>;
type Converter = (request: ModelRequest, signal: AbortSignal) => CallOptions;

async function* stream(
  model: LanguageModel,
  convert: Converter,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelDelta, void, void> {
  if (signal.aborted) return;
  const answer = createStreamReader();
  let reader: Opened | undefined;
  try {
    reader = await open(model, convert(request, signal), signal);
  } catch (error) {
    if (!signal.aborted) yield* answer.end(error);
    return;
  }
  if (reader === undefined) return;

  const cancelOnAbort = () => cancel(reader);
  signal.addEventListener("abort", cancelOnAbort, { once: true });
  let stopWaiting: (() => void) | undefined;
  try {
    while (!answer.ended && !signal.aborted) {
      if (answer.failing) stopWaiting ??= cancelLater(reader);
      const deltas = await readNext(reader, answer);
      if (signal.aborted) return;
      for (const delta of deltas) yield delta;
    }
  } finally {
    signal.removeEventListener("abort", cancelOnAbort);
    stopWaiting?.();
    if (answer.ended) letEnd(reader);
    else cancel(reader);
  }
}

/** The provider's stream; undefined where the signal was aborted before it came, which a provider may not look at. */
async function open(model: LanguageModel, options: CallOptions, signal: AbortSignal): Promise<Opened | undefined> {
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
    // What comes after an abort is of no use to anyone, whether it is a stream or a failure.
    opening.then(cancel, () => {});
    return undefined;
  } finally {
    stopListening();
  }
}

async function startStream(model: LanguageModel, options: CallOptions): Promise<Opened> {
  // The converted request fits both specifications; what differs between them was decided by the converter.
  const result = await model.doStream(options as never);
  return result.stream.getReader();
}

async function readNext(reader: Opened, answer: StreamReader): Promise<readonly ModelDelta[]> {
  let chunk: { readonly done: boolean; readonly value?: unknown };
  try {
    chunk = await reader.read();
  } catch (error) {
    return answer.end(error);
  }
  return chunk.done ? answer.end() : answer.read(chunk.value);
}

function cancel(reader: Opened): void {
  // A stream that has failed refuses to be cancelled; its failure was seen where it was read.
  reader.cancel().catch(() => {});
}

function cancelLater(reader: Opened): () => void {
  const timer = setTimeout(() => cancel(reader), patience);
  timer.unref();
  return () => clearTimeout(timer);
}

/** Reads what follows the last part, so that the connection can serve the next request; nobody waits for it. */
function letEnd(reader: Opened): void {
  const stopWaiting = cancelLater(reader);
  const next = (): Promise<void> => reader.read().then((chunk) => (chunk.done ? undefined : next()));
  next().then(stopWaiting, stopWaiting);
}
