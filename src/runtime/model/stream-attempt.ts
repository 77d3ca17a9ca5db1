/**
 * One attempt's stream, from its first delta to its end: the model's own, or an end that is made here where it stalls, is
 * aborted or breaks its own rules.
 *
 * 1. The end is settled once, and at once: a model that does not look at its signal is not waited for (RTRY-5).
 * 2. What a model says after the end is dropped.
 */
import { getEventListeners } from "node:events";
import type { ModelFailure } from "../../core/data/message.js";
import type { Clock } from "../../ports/clock.js";
import type { MessageDelta, Model, ModelDelta, ModelRequest, ModelTimeouts } from "../../ports/model.js";
import { abort, type Cancellation, createCancellation, onCancel, signalOf } from "../lib/cancellation.js";
import { textOfError } from "../lib/error-text.js";
import { addDelta, endWith, type MessageAssembly } from "./message-assembly.js";

export type StreamOptions = {
  readonly model: Model;
  readonly timeouts: Required<ModelTimeouts>;
  readonly clock: Clock;
  readonly cancellation: Cancellation;
  readonly publish: (deltas: readonly MessageDelta[]) => void;
  readonly memory: { unheard: Cancellation | null };
};

/** Streams into the assembly; resolves when that has its end. */
export function streamInto(assembly: MessageAssembly, request: ModelRequest, options: StreamOptions): Promise<void> {
  const { model, timeouts, clock, cancellation, publish, memory } = options;
  const attempt = memory.unheard ?? createCancellation();
  memory.unheard = null;
  return new Promise((resolve) => {
    let over = false;
    let cutShort = false;
    const watch = watchStall(timeouts, clock, cutOff);

    function finish(): void {
      over = true;
      watch.stop();
      resolve();
    }

    function fail(failure: ModelFailure): void {
      if (over) return;
      publish(endWith(assembly, failure));
      finish();
    }

    function cutOff(failure: ModelFailure): void {
      if (over) return;
      cutShort = true;
      fail(failure);
      abort(attempt);
    }

    async function pump(): Promise<void> {
      const deltas = iteratorOf(model.stream(request, signalOf(attempt)));
      for (let next = await deltas.next(); !over && next.done !== true; next = await deltas.next()) {
        if (next.value?.kind !== "start") watch.heard();
        publish(addDelta(assembly, next.value));
        if (assembly.end !== null) finish();
        if (over) break;
      }
      if (!over) {
        fail({ kind: "network", message: "The stream ended before the answer was complete." });
        return;
      }
      // The clean-up of a model that has said its last is not waited for.
      leave(deltas);
      // Signals take microseconds to make: one that nobody listens to any more serves the next attempt.
      if (!cutShort && getEventListeners(signalOf(attempt), "abort").length === 0) memory.unheard = attempt;
    }

    onCancel(cancellation, () => cutOff({ kind: "cancelled", message: "The call was aborted." }));
    if (!over) pump().catch((error) => fail({ kind: "provider", message: textOfError(error) }));
  });
}

function iteratorOf(stream: AsyncIterable<ModelDelta>): AsyncIterator<ModelDelta> {
  if (typeof stream?.[Symbol.asyncIterator] !== "function") throw new Error("The model gave no stream.");
  return stream[Symbol.asyncIterator]();
}

function leave(deltas: AsyncIterator<unknown>): void {
  Promise.resolve(deltas.return?.()).catch(() => {});
}

type Watch = { readonly heard: () => void; readonly stop: () => void };

/** One timer for each attempt, and not one for each delta: it looks at when something was last heard. */
function watchStall(
  { firstChunkMs, chunkMs, totalMs }: Required<ModelTimeouts>,
  clock: Clock,
  onStall: (failure: ModelFailure) => void,
): Watch {
  const startedAt = clock.elapsed();
  let heardAt: number | undefined;
  let cancel = () => {};

  const silentUntil = () => (heardAt === undefined ? startedAt + firstChunkMs : heardAt + chunkMs);
  const until = () => Math.min(silentUntil(), startedAt + totalMs);

  function look(): void {
    if (clock.elapsed() < until()) wait();
    else if (startedAt + totalMs <= silentUntil())
      onStall(timeout("call_timeout", `The model's answer was not complete after ${seconds(totalMs)}.`));
    else if (heardAt === undefined)
      onStall(timeout("first_chunk_timeout", `The model said nothing for ${seconds(firstChunkMs)}.`));
    else onStall(timeout("chunk_timeout", `The model's answer stopped: nothing more came for ${seconds(chunkMs)}.`));
  }

  function wait(): void {
    const left = until() - clock.elapsed();
    if (left < Number.POSITIVE_INFINITY) cancel = clock.after(left, look);
  }

  wait();
  return {
    heard() {
      const isFirst = heardAt === undefined;
      heardAt = clock.elapsed();
      if (!isFirst) return;
      cancel();
      wait();
    },
    stop: () => cancel(),
  };
}

function timeout(code: string, message: string): ModelFailure {
  return { kind: "timeout", code, message };
}

function seconds(ms: number): string {
  return `${ms / 1_000} s`;
}
