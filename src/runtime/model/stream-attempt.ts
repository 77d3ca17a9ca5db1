/**
 * The stream of one attempt, from its first delta to its end. The end is the model's own, or is created here if the model stalls, is
 * aborted or violates the protocol.
 *
 * 1. The end is settled once, and at once: nothing waits for a model that ignores its signal (RTRY-5).
 * 2. Deltas after the end are dropped.
 * 3. A request that received no part of an answer is sent again immediately, within the attempt: none of its deltas is published. It is not
 *    sent again if the attempt has ended, or if the lease may have expired: the attempt has then failed.
 */
import type { ModelFailure } from "../../core/data/message.js";
import { mayHaveListeners } from "../../platform/process.js";
import type { Clock } from "../../ports/clock.js";
import type { MessageDelta, Model, ModelDelta, ModelRequest, ModelTimeouts } from "../../ports/model.js";
import { type Cancellation, onCancel } from "../lib/cancellation.js";
import { formatError } from "../lib/error-text.js";
import { yieldTurn } from "../lib/event-loop.js";
import { addDelta, endWith, type MessageAssembly } from "./message-assembly.js";

export type StreamOptions = {
  readonly stream: Model["stream"];
  readonly timeouts: Required<ModelTimeouts>;
  readonly clock: Clock;
  readonly cancellation: Cancellation;
  readonly publish: (deltas: readonly MessageDelta[]) => void;
  /** Whether the lease is certainly still held. */
  readonly isLeaseFresh: () => boolean;
};

/**
 * The controller of an ended attempt whose signal has no listeners, reused within the process. Creating and collecting a signal takes a
 * quarter of the time of a step on Node 20 (`npm run bench -- loop`).
 */
let spareController: AbortController | null = null;

/** Streams into the assembly. Resolves when the assembly has ended. */
export function streamMessage(assembly: MessageAssembly, request: ModelRequest, options: StreamOptions): Promise<void> {
  const { stream, timeouts, clock, cancellation, publish, isLeaseFresh } = options;
  const attempt = spareController ?? new AbortController();
  spareController = null;
  return new Promise((resolve) => {
    let isOver = false;
    let stopListening = () => {};
    const stallTimer = createStallTimer(timeouts, clock, stall);

    function finish(): void {
      isOver = true;
      stallTimer.stop();
      stopListening();
      resolve();
    }

    function fail(failure: ModelFailure): void {
      if (isOver) return;
      publish(endWith(assembly, failure));
      finish();
    }

    function abortWith(failure: ModelFailure, reason: unknown): void {
      if (isOver) return;
      fail(failure);
      attempt.abort(reason);
    }

    function stall(failure: ModelFailure): void {
      abortWith(failure, new DOMException(failure.message, "TimeoutError"));
    }

    /** Returns true if the request received no answer and must be sent again. */
    async function readStream(): Promise<boolean> {
      const deltas = getIterator(stream(request, attempt.signal));
      for (let next = await deltas.next(); !isOver && next.done !== true; next = await deltas.next()) {
        if (assembly.seq === 0 && assembly.resends < maxResends && isUnanswered(next.value) && isLeaseFresh()) {
          endStream(deltas);
          return true;
        }
        if (next.value?.kind !== "start") stallTimer.onDelta();
        publish(addDelta(assembly, next.value));
        if (assembly.end !== null) finish();
        if (isOver) break;
        const turn = yieldTurn(clock);
        if (turn !== undefined) await turn;
      }
      if (!isOver) {
        fail({ kind: "network", message: "The stream ended before the answer was complete." });
        return false;
      }
      endStream(deltas);
      const { signal } = attempt;
      if (!signal.aborted && !mayHaveListeners(signal)) spareController = attempt;
      return false;
    }

    async function send(): Promise<void> {
      while ((await readStream()) && !isOver) assembly.resends += 1;
    }

    stopListening = onCancel(cancellation, () =>
      abortWith({ kind: "cancelled", message: "The call was aborted." }, cancellation.reason?.()),
    );
    if (!isOver) send().catch((error) => fail({ kind: "provider", message: formatError(error) }));
  });
}

/** How often a request is sent again immediately. After that, it is a failed attempt. */
const maxResends = 2;

function isUnanswered(delta: ModelDelta | undefined): boolean {
  return delta?.kind === "error" && delta.failure?.unanswered === true;
}

function getIterator(stream: AsyncIterable<ModelDelta>): AsyncIterator<ModelDelta> {
  if (typeof stream?.[Symbol.asyncIterator] !== "function") throw new Error("The model did not return a stream.");
  return stream[Symbol.asyncIterator]();
}

/** Lets the model clean up, without waiting for it. */
function endStream(deltas: AsyncIterator<unknown>): void {
  Promise.resolve(deltas.return?.()).catch(() => {});
}

type StallTimer = { readonly onDelta: () => void; readonly stop: () => void };

/** One timer per attempt instead of one per delta: it checks when the last delta arrived. */
function createStallTimer(
  { firstChunkMs, chunkMs, totalMs }: Required<ModelTimeouts>,
  clock: Clock,
  onStall: (failure: ModelFailure) => void,
): StallTimer {
  const startedAt = clock.elapsed();
  let lastDeltaAt: number | undefined;
  let cancel = () => {};

  const silentUntil = () => (lastDeltaAt === undefined ? startedAt + firstChunkMs : lastDeltaAt + chunkMs);
  const until = () => Math.min(silentUntil(), startedAt + totalMs);

  function check(): void {
    if (clock.elapsed() < until()) schedule();
    else if (startedAt + totalMs <= silentUntil())
      onStall(timeout("call_timeout", `The model's answer was not complete after ${seconds(totalMs)}.`));
    else if (lastDeltaAt === undefined)
      onStall(timeout("first_chunk_timeout", `The model said nothing for ${seconds(firstChunkMs)}.`));
    else onStall(timeout("chunk_timeout", `The model's answer stopped: nothing more came for ${seconds(chunkMs)}.`));
  }

  function schedule(): void {
    const remainingMs = until() - clock.elapsed();
    if (remainingMs < Number.POSITIVE_INFINITY) cancel = clock.after(remainingMs, check);
  }

  schedule();
  return {
    onDelta() {
      const isFirst = lastDeltaAt === undefined;
      lastDeltaAt = clock.elapsed();
      if (!isFirst) return;
      cancel();
      schedule();
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
