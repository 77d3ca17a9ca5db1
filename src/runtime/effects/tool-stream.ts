/**
 * Tools that yield several results one after another: generators, and other async iterables.
 *
 * 1. Each yielded value is a preliminary result. It is shown while the call runs, but never stored.
 * 2. The result is the returned value; if that is `undefined`, the last yielded value.
 * 3. A stream that never waits does not block the event loop: timers fire, and an abort arrives.
 * 4. When the call is no longer wanted or its time is up, `return()` is called, and no further value is requested.
 */
import { capPreliminaryOutput } from "../../context/tool-output.js";
import type { ToolOutput } from "../../core/data/message.js";
import type { Clock } from "../../ports/clock.js";
import { formatError } from "../lib/error-text.js";
import { yieldTurn } from "../lib/event-loop.js";
import { toToolOutput } from "../tools/to-json.js";
import { errorOutput, stoppedBeforeResult } from "./prompts.js";

type Stream = AsyncIterable<unknown> | Generator<unknown>;

/** Whether a tool returned an iterable of results instead of one result. */
export function isStream(value: unknown): value is Stream {
  if (typeof value !== "object" || value === null) return false;
  if (Symbol.asyncIterator in value) return typeof value[Symbol.asyncIterator] === "function";
  return Symbol.toStringTag in value && value[Symbol.toStringTag] === "Generator";
}

export type StreamReading = {
  /** The result of the tool. Rejects with the error that the tool throws. */
  readonly result: Promise<unknown>;
  /** Ends the stream. Its result may still arrive. */
  readonly stop: () => void;
};

/** @param onOutput called with each preliminary result, in order */
export function readStream(stream: Stream, clock: Clock, onOutput: (output: ToolOutput) => void): StreamReading {
  const iterator = Symbol.asyncIterator in stream ? stream[Symbol.asyncIterator]() : stream;
  let ending: Promise<unknown> | undefined;
  const stop = () => {
    ending ??= endIterator(iterator);
  };
  async function read(): Promise<unknown> {
    let last: unknown;
    while (ending === undefined) {
      const { done, value }: IteratorResult<unknown, unknown> = await iterator.next();
      if (done === true && (value !== undefined || ending === undefined)) return value === undefined ? last : value;
      if (done === true) break;
      last = value;
      if (ending === undefined) onOutput(toPreliminary(value));
      const turn = yieldTurn(clock);
      if (turn !== undefined) await turn;
    }
    const value = await ending;
    if (value === undefined) throw new Error(stoppedBeforeResult);
    return value;
  }
  return { result: read(), stop };
}

/** Calls `return()`, and resolves to its value. */
async function endIterator(iterator: AsyncIterator<unknown> | Iterator<unknown>): Promise<unknown> {
  const end: IteratorResult<unknown, unknown> | undefined = await iterator.return?.(undefined);
  return end?.value;
}

/** A value that cannot be shown does not end the call: only the last value must be storable. */
function toPreliminary(value: unknown): ToolOutput {
  try {
    return capPreliminaryOutput(toToolOutput(value));
  } catch (error) {
    return errorOutput(formatError(error));
  }
}
