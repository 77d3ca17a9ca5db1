/**
 * A stream whose events another protocol defines: written as they come, as fast as the socket takes them.
 *
 * 1. It has no place to go on from: a client that lost it asks for the whole run again.
 * 2. A client that leaves ends the reading, and never the run.
 * 3. A stream that ends before its events do is never taken for a whole one.
 */
import { PawlError } from "../index.js";
import type { ByeReason } from "./client/index.js";
import { heartbeatFrame } from "./frames.js";
import { type Sink, unsentHighWaterMark } from "./sink.js";
import type { OpenStream } from "./watch.js";

export type EventFormat = {
  readonly headers: { readonly [name: string]: string };
  /** The event that tells of a failure. */
  readonly formatFailure: (message: string) => object;
  /** What ends a whole stream; null for nothing. */
  readonly endMarker: string | null;
  /**
   * How the client learns that the stream ends although its events go on: the connection breaks off ("cut"), or an event
   * tells it. Null: the client does not take the end of a stream for the end of its events.
   */
  readonly earlyEnd: "cut" | ((why: ByeReason) => object) | null;
};

const encoder = new TextEncoder();

/** @param connection is aborted when the other side has left */
export function startEventStream(
  events: AsyncGenerator<object, void, undefined>,
  connection: AbortController,
  sink: Sink,
  { formatFailure, endMarker, earlyEnd }: EventFormat,
): OpenStream {
  let isQuiet = true;
  const write = (data: string): void => {
    isQuiet = false;
    sink.write(encoder.encode(`data: ${data}\n\n`));
  };
  sink.onClose(() => connection.abort());
  void pump();

  async function pump(): Promise<void> {
    try {
      for await (const event of events) {
        if (connection.signal.aborted) return;
        write(JSON.stringify(event));
        if (sink.unsentBytes() > unsentHighWaterMark) await sink.whenDrained();
      }
      if (connection.signal.aborted) return;
      if (endMarker !== null) write(endMarker);
    } catch (error) {
      if (connection.signal.aborted) return;
      write(
        JSON.stringify(
          formatFailure(error instanceof PawlError ? error.message : "The stream broke off. Load it again."),
        ),
      );
    }
    sink.end();
  }

  return {
    bye(why) {
      if (connection.signal.aborted) return;
      connection.abort();
      if (earlyEnd === "cut") return sink.destroy();
      if (earlyEnd !== null) write(JSON.stringify(earlyEnd(why)));
      sink.end();
    },
    heartbeat() {
      if (isQuiet) sink.write(heartbeatFrame);
      isQuiet = true;
    },
  };
}
