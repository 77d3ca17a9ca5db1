/**
 * A stream whose events another protocol defines: written as they come, as fast as the socket takes them.
 *
 * It has no place to go on from: a client that lost it asks for the whole run again. A client that leaves ends the reading,
 * and never the run.
 */
import { PawlError } from "../index.js";
import { beatFrame } from "./frames.js";
import { enoughUnsent, type Sink } from "./sink.js";
import type { OpenStream } from "./watch.js";

export type EventFormat = {
  readonly headers: { readonly [name: string]: string };
  /** The event that tells that the stream broke off. */
  readonly failure: (message: string) => object;
  /** What ends a whole stream; null for nothing. */
  readonly end: string | null;
};

const encoder = new TextEncoder();

/** @param left is aborted when the other side has left */
export function eventStream(
  events: AsyncGenerator<object, void, undefined>,
  left: AbortController,
  sink: Sink,
  { failure, end }: EventFormat,
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
      if (end !== null && !left.signal.aborted) write(end);
    } catch (error) {
      const message = error instanceof PawlError ? error.message : "The stream broke off. Load it again.";
      if (!left.signal.aborted) write(JSON.stringify(failure(message)));
    }
    sink.end();
  }

  return {
    // These protocols have no word for it: the connection ends, and the client comes back.
    bye() {
      left.abort();
      sink.end();
    },
    beat() {
      if (isQuiet) sink.write(beatFrame);
      isQuiet = true;
    },
  };
}
