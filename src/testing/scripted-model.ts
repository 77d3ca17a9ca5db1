/**
 * A model that answers from a script, in order.
 */

import {
  aBoolean,
  anArray,
  anObject,
  anyValue,
  checkOptions,
  integerFrom,
  nonEmptyString,
  type OptionTable,
} from "../check-options.js";
import { getErrorMessage } from "../core/data/error-message.js";
import type { FinishReason, Json, ModelFailure, Usage } from "../core/data/message.js";
import type { Model, ModelDelta, ModelRequest } from "../ports/model.js";
import type { Price } from "../ports/services.js";

/** One answer: reasoning, then text, then calls, then `done`, or `error` if the step has an error. */
export type ScriptedStep = {
  /** The model's reasoning, which comes first. */
  readonly reasoning?: string;
  /** The text of the answer. */
  readonly text?: string;
  /** The tool calls that the model requests. */
  readonly calls?: readonly ScriptedCall[];
  /** Default: `tool-calls` if there are calls, otherwise `stop`. */
  readonly finish?: FinishReason["unified"];
  /** Default: 10 input tokens and 5 output tokens. */
  readonly usage?: Usage;
  /** Warnings about parts of the request that the model could not honor. */
  readonly warnings?: readonly string[];
  /** Ends the answer, after its reasoning, text and calls have been streamed. */
  readonly error?: ModelFailure;
  /** Thrown instead of ending the answer, as by a model that breaks the contract. */
  readonly throws?: unknown;
  /** Exactly these deltas, instead of everything else in the step except `wait`. */
  readonly deltas?: Iterable<ModelDelta> | AsyncIterable<ModelDelta>;
  /** Awaited before the first delta; an abort ends the wait and the answer. */
  readonly wait?: Promise<unknown>;
  /**
   * The number of characters in each delta of text and of a call's arguments. Default: one word in each delta of text, and no
   * deltas of arguments.
   */
  readonly chunk?: number;
};

/** A tool call of a scripted model. */
export type ScriptedCall = {
  /** The name of the tool. */
  readonly name: string;
  /** Default: `{}`. Undefined members are omitted. */
  readonly input?: Json | { readonly [member: string]: Json | undefined };
  /** The raw text of the arguments, instead of `input`. It need not be valid JSON. */
  readonly raw?: string;
  /** Default: `call_1_1`, from the numbers of the request and of the call. */
  readonly id?: string;
};

/**
 * Steps in order, one for each request, failed attempts included. Or a function of the request, which returns the same answer when
 * the request is repeated after a crash.
 */
export type Script = readonly ScriptedStep[] | ((request: ModelRequest) => ScriptedStep | undefined);

/** The options of `createScriptedModel`. */
export type ScriptedModelOptions = {
  /** Default: `scripted`. */
  readonly id?: string;
  /** The model's context window, in tokens. Default: unknown. */
  readonly contextWindow?: number;
  /**
   * The price of the answers, in US dollars per million tokens: `{ input: 1, output: 5 }`. A run with `maxCostUsd` needs a model
   * with a price. Default: unknown.
   */
  readonly price?: Price;
  /** Whether `requests` stores the requests, each with the conversation at that time. Default: true. */
  readonly record?: boolean;
};

const optionRules: OptionTable<ScriptedModelOptions> = {
  id: nonEmptyString,
  contextWindow: integerFrom(1, "tokens"),
  price: anObject,
  record: aBoolean,
};

/** Values are not checked: a script may do what a broken model does. */
const stepRules: OptionTable<ScriptedStep> = {
  reasoning: anyValue,
  text: anyValue,
  calls: anArray,
  finish: anyValue,
  usage: anyValue,
  warnings: anyValue,
  error: anyValue,
  throws: anyValue,
  deltas: anyValue,
  wait: anyValue,
  chunk: anyValue,
};

const callRules: OptionTable<ScriptedCall> = { name: anyValue, input: anyValue, raw: anyValue, id: anyValue };

/** Names that the AI SDK and providers use for these members. */
const otherStepNames = { toolCalls: "calls", tool_calls: "calls", content: "text", finishReason: "finish" };
const otherCallNames = { toolName: "name", args: "input", arguments: "input", toolCallId: "id" };

/** An unknown member would be ignored, and the answer would be empty. @throws PawlError `bad_configuration` */
function checkStep(what: string, step: ScriptedStep): void {
  checkOptions(what, stepRules, step, { otherNames: otherStepNames });
  for (const [index, call] of (step.calls ?? []).entries())
    checkOptions(`${what}, call ${index + 1},`, callRules, call, { otherNames: otherCallNames });
}

/** A model that answers from a script. */
export type ScriptedModel = Model & {
  /** All requests so far, each with the conversation at that time. */
  readonly requests: readonly ModelRequest[];
};

/**
 * Creates a deterministic model without timers. A request after the last step fails with `invalid_request`, which is not retried; so does
 * one for which a function returns a step with an unknown member.
 *
 * @throws PawlError `bad_configuration` if a step has an unknown member
 *
 * @example
 * ```ts
 * import { createScriptedModel } from "pawl/testing";
 *
 * const model = createScriptedModel([{ calls: [{ name: "add", input: { a: 1, b: 2 } }] }, { text: "It is 3." }]);
 * const result = await createAgent({ model, tools }).run("What is 1 + 2?");
 * ```
 */
export function createScriptedModel(script: Script, options: ScriptedModelOptions = {}): ScriptedModel {
  checkOptions("createScriptedModel()", optionRules, options);
  if (typeof script !== "function")
    for (const [index, step] of script.entries()) checkStep(`Step ${index + 1} of the script`, step);
  const requests: ModelRequest[] = [];
  let count = 0;
  return {
    id: options.id ?? "scripted",
    isScripted: true,
    ...(options.contextWindow === undefined ? {} : { contextWindow: options.contextWindow }),
    ...(options.price === undefined ? {} : { price: options.price }),
    requests,
    stream(request, signal) {
      count += 1;
      if (options.record !== false) requests.push(request);
      return streamStep(findStep(script, request, count), count, signal);
    },
  };
}

function findStep(script: Script, request: ModelRequest, count: number): ScriptedStep {
  if (typeof script !== "function")
    return (
      script[count - 1] ??
      createInvalidStep(
        `The script has no step ${count} (it has ${script.length}). Add a step, or pass a function of the request.`,
      )
    );
  const step = script(request);
  if (step === undefined) return createInvalidStep(`The script's function returned no step for request ${count}.`);
  try {
    checkStep("The step that the script's function returned", step);
    return step;
  } catch (error) {
    return createInvalidStep(getErrorMessage(error));
  }
}

function createInvalidStep(message: string): ScriptedStep {
  return { error: { kind: "invalid_request", message } };
}

async function* streamStep(step: ScriptedStep, count: number, signal: AbortSignal): AsyncGenerator<ModelDelta> {
  if (step.wait !== undefined) await waitOrAbort(step.wait, signal);
  const deltas = step.deltas ?? createDeltas(step, count);
  // Synchronous deltas have their own loop: `for await` would double the cost of a delta.
  if (Symbol.iterator in deltas)
    for (const delta of deltas) {
      if (signal.aborted) return;
      yield delta;
    }
  else
    for await (const delta of deltas) {
      if (signal.aborted) return;
      yield delta;
    }
  if (step.throws !== undefined) throw step.throws;
}

function* createDeltas(step: ScriptedStep, count: number): Generator<ModelDelta> {
  const { reasoning, text, calls = [], chunk, warnings } = step;
  yield warnings === undefined ? { kind: "start" } : { kind: "start", warnings };
  if (reasoning !== undefined) {
    yield { kind: "reasoning-start", id: "reasoning" };
    for (const piece of splitText(reasoning, chunk)) yield { kind: "reasoning-delta", id: "reasoning", text: piece };
    yield { kind: "reasoning-end", id: "reasoning" };
  }
  if (text !== undefined) {
    yield { kind: "text-start", id: "text" };
    for (const piece of splitText(text, chunk)) yield { kind: "text-delta", id: "text", text: piece };
    // A failure occurs in the middle of the text, so the text has no end.
    if (step.error === undefined && step.throws === undefined) yield { kind: "text-end", id: "text" };
  }
  for (const [index, call] of calls.entries()) yield* createCallDeltas(call, `call_${count}_${index + 1}`, chunk);
  if (step.error !== undefined) yield { kind: "error", failure: step.error, ...(step.usage && { usage: step.usage }) };
  else if (step.throws === undefined) yield createDone(step);
}

function* createCallDeltas(call: ScriptedCall, defaultId: string, chunk: number | undefined): Generator<ModelDelta> {
  const { name, id = defaultId } = call;
  const input = call.raw ?? JSON.stringify(call.input ?? {});
  if (chunk !== undefined) {
    yield { kind: "tool-input-start", id, name };
    for (const piece of splitText(input, chunk)) yield { kind: "tool-input-delta", id, text: piece };
    yield { kind: "tool-input-end", id };
  }
  yield { kind: "tool-call", id, name, input };
}

function createDone({ finish, calls = [], usage }: ScriptedStep): ModelDelta {
  return {
    kind: "done",
    finishReason: { unified: finish ?? (calls.length > 0 ? "tool-calls" : "stop") },
    usage: usage ?? { inputTokens: 10, outputTokens: 5 },
  };
}

function splitText(text: string, chunk: number | undefined): readonly string[] {
  if (chunk === undefined) return text.match(/\S+\s*|\s+/g) ?? [];
  const chunks: string[] = [];
  for (let start = 0; start < text.length; start += chunk) chunks.push(text.slice(start, start + chunk));
  return chunks;
}

async function waitOrAbort(wait: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  let onAbort = () => {};
  const aborted = new Promise<void>((resolve) => {
    onAbort = resolve;
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    await Promise.race([wait, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
