/**
 * What a protocol streams, as the body of a response: server-sent events.
 */
import { PawlError } from "../index.js";

export const sseHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
} as const;

export type SseOptions = {
  /** The event that tells that the stream broke off. */
  readonly failure: (message: string) => object;
  /** What ends a whole stream. Default: nothing. */
  readonly end?: string;
};

/**
 * The events are read as fast as the client takes them. A client that leaves ends the reading, and never the run.
 */
export function sseBody(
  events: AsyncGenerator<object, void, undefined>,
  { failure, end }: SseOptions,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const frame = (data: string) => encoder.encode(`data: ${data}\n\n`);
  return new ReadableStream({
    async pull(controller) {
      try {
        const next = await events.next();
        if (next.done !== true) return controller.enqueue(frame(JSON.stringify(next.value)));
        if (end !== undefined) controller.enqueue(frame(end));
      } catch (error) {
        const message = error instanceof PawlError ? error.message : "The stream broke off. Load it again.";
        controller.enqueue(frame(JSON.stringify(failure(message))));
      }
      controller.close();
    },
    async cancel() {
      await events.return();
    },
  });
}
