/**
 * A stream whose events another protocol defines: written as they come, as fast as the socket takes them.
 *
 * 1. It has no place to go on from: a client that lost it asks for the whole run again.
 * 2. A client that leaves ends the reading, and never the run.
 * 3. A stream that ends before its events do is never taken for a whole one.
 */
import { PawlError } from "../index.js";
import type { ByeReason } from "./client/index.js";
import { beatFrame } from "./frames.js";
import { enoughUnsent, type Sink } from "./sink.js";
import type { OpenStream } from "./watch.js";

export type EventFormat = {
  readonly headers: { readonly [name: string]: string };
  /** The event that tells of a failure. */
  readonly failure: (message: string) => object;
  /** What ends a whole stream; null for nothing. */
  readonly end: string | null;
  /**
   * How the client learns that the stream ends although its events go on: the connection breaks off ("cut"), or an event
   * tells it. Null: the client does not take the end of a stream for the end of its events.
   */
  readonly early: "cut" | ((why: ByeReason) => object) | null;
};

const encoder = new TextEncoder();

/** @param left is aborted when the other side has left */
export function eventStream(
  events: AsyncGenerator<object, void, undefined>,
  left: AbortController,
  sink: Sink,
  { failure, end, early }: EventFormat,
): OpenStream {
  let isQuiet = true;
  const write = (data: string): void => {
    isQuiet = false;
    sink.write(encoder.encode(`data: ${data}\n\n`));
  };
  sink.onClose(() => left.abort());
  void pump();

  async function pump(): Promise<void> {
    try {
      for await (const event of events) {
        if (left.signal.aborted) return;
        write(JSON.stringify(event));
        if (sink.unsent() > enoughUnsent) await sink.drained();
      }
      if (left.signal.aborted) return;
      if (end !== null) write(end);
    } catch (error) {
      if (left.signal.aborted) return;
      write(
        JSON.stringify(failure(error instanceof PawlError ? error.message : "The stream broke off. Load it again.")),
      );
    }
    sink.end();
  }

  return {
    bye(why) {
      if (left.signal.aborted) return;
      left.abort();
      if (early === "cut") return sink.cut();
      if (early !== null) write(JSON.stringify(early(why)));
      sink.end();
    },
    beat() {
      if (isQuiet) sink.write(beatFrame);
      isQuiet = true;
    },
  };
}
