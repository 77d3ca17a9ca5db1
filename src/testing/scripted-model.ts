/**
 * A model that says what a test wrote down, in order.
 */
import type { FinishReason, Json, ModelFailure, Usage } from "../core/data/message.js";
import type { Model, ModelDelta, ModelRequest } from "../ports/model.js";

/** One answer: reasoning, then text, then calls, then `done`, or `error` where one is given. */
export type ScriptedStep = {
  readonly reasoning?: string;
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  /** Default `tool-calls` where there are calls, else `stop`. */
  readonly finish?: FinishReason["unified"];
  /** Default 10 tokens in and 5 out. */
  readonly usage?: Usage;
  /** Ends the answer, after what comes before it was streamed. */
  readonly error?: ModelFailure;
  /** Thrown in the place of an end: a model that breaks its own rules. */
  readonly throws?: unknown;
  /** In the place of all of the above but `wait`: exactly these. */
  readonly deltas?: Iterable<ModelDelta> | AsyncIterable<ModelDelta>;
  /** Awaited before the first delta; an abort ends the wait and the answer. */
  readonly wait?: Promise<unknown>;
  /** Characters in each delta of text, and of a call's arguments, which are streamed only where this is set. Default: a word each. */
  readonly chunk?: number;
};

export type ScriptedCall = {
  readonly name: string;
  /** Default `{}`. */
  readonly input?: Json;
  /** The text of the arguments, in the place of `input`: for what is no JSON. */
  readonly raw?: string;
  /** Default `call_` with the numbers of the request and of the call within it: `call_1_1`. */
  readonly id?: string;
};

/** Steps in order, one for each request, attempts that failed included; or a function of the request, for what is to survive a crash. */
export type Script = readonly ScriptedStep[] | ((request: ModelRequest) => ScriptedStep | undefined);

export type ScriptedModelOptions = {
  /** Default `scripted`. */
  readonly id?: string;
  readonly contextWindow?: number;
  /** Whether `requests` keeps a copy of each. Default true; costs a copy of the conversation at each step. */
  readonly record?: boolean;
};

export type ScriptedModel = Model & {
  /** What was asked, each with the messages as they were then. */
  readonly requests: readonly ModelRequest[];
};

/**
 * Deterministic and without timers. A request beyond the script's end fails with `invalid_request`, which is not retried.
 *
 * ```ts
 * const model = createScriptedModel([{ calls: [{ name: "add", input: { a: 1, b: 2 } }] }, { text: "It is 3." }]);
 * ```
 */
export function createScriptedModel(script: Script, options: ScriptedModelOptions = {}): ScriptedModel {
  const requests: ModelRequest[] = [];
  let count = 0;
  return {
    id: options.id ?? "scripted",
    ...(options.contextWindow === undefined ? {} : { contextWindow: options.contextWindow }),
    requests,
    stream(request, signal) {
      count += 1;
      if (options.record !== false) requests.push({ ...request, messages: [...request.messages] });
      const step = typeof script === "function" ? script(request) : script[count - 1];
      return play(step ?? beyondEnd(count), count, signal);
    },
  };
}

function beyondEnd(count: number): ScriptedStep {
  return { error: { kind: "invalid_request", message: `The script has no step ${count}.` } };
}

async function* play(step: ScriptedStep, count: number, signal: AbortSignal): AsyncGenerator<ModelDelta> {
  if (step.wait !== undefined) await settledOrAborted(step.wait, signal);
  const deltas = step.deltas ?? deltasOf(step, count);
  // Awaiting what is there already would double the cost of a delta.
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

function* deltasOf(step: ScriptedStep, count: number): Generator<ModelDelta> {
  const { reasoning, text, calls = [], chunk } = step;
  yield { kind: "start" };
  if (reasoning !== undefined) {
    yield { kind: "reasoning-start", id: "reasoning" };
    for (const piece of pieces(reasoning, chunk)) yield { kind: "reasoning-delta", id: "reasoning", text: piece };
    yield { kind: "reasoning-end", id: "reasoning" };
  }
  if (text !== undefined) {
    yield { kind: "text-start", id: "text" };
    for (const piece of pieces(text, chunk)) yield { kind: "text-delta", id: "text", text: piece };
    // A failure comes in the middle of what is being said.
    if (step.error === undefined && step.throws === undefined) yield { kind: "text-end", id: "text" };
  }
  for (const [index, call] of calls.entries()) yield* deltasOfCall(call, `call_${count}_${index + 1}`, chunk);
  if (step.error !== undefined) yield { kind: "error", failure: step.error, ...(step.usage && { usage: step.usage }) };
  else if (step.throws === undefined) yield doneOf(step);
}

function* deltasOfCall(call: ScriptedCall, defaultId: string, chunk: number | undefined): Generator<ModelDelta> {
  const { name, id = defaultId } = call;
  const input = call.raw ?? JSON.stringify(call.input ?? {});
  if (chunk !== undefined) {
    yield { kind: "tool-input-start", id, name };
    for (const piece of pieces(input, chunk)) yield { kind: "tool-input-delta", id, text: piece };
    yield { kind: "tool-input-end", id };
  }
  yield { kind: "tool-call", id, name, input };
}

function doneOf({ finish, calls = [], usage }: ScriptedStep): ModelDelta {
  return {
    kind: "done",
    finishReason: { unified: finish ?? (calls.length > 0 ? "tool-calls" : "stop") },
    usage: usage ?? { inputTokens: 10, outputTokens: 5 },
  };
}

function pieces(text: string, chunk: number | undefined): readonly string[] {
  if (chunk === undefined) return text.match(/\S+\s*|\s+/g) ?? [];
  const cut: string[] = [];
  for (let start = 0; start < text.length; start += chunk) cut.push(text.slice(start, start + chunk));
  return cut;
}

async function settledOrAborted(wait: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  let stop = () => {};
  const aborted = new Promise<void>((resolve) => {
    stop = resolve;
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    await Promise.race([wait, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
