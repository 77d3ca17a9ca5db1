/**
 * A stream whose events another protocol defines, written as fast as the socket accepts them.
 *
 * 1. The stream cannot be resumed: a client that lost it must request the whole run again.
 * 2. When a client disconnects, the reading stops, but the run continues.
 * 3. A stream that ends before its events do must not look complete.
 * 4. Clients see only the messages meant for them when a stream fails; the server's log has the error.
 */
import type { ByeReason } from "./client/index.js";
import { heartbeatFrame } from "./frames.js";
import { type Sink, unsentHighWaterMark } from "./sink.js";
import type { OpenStream } from "./watch.js";

export type EventFormat = {
  readonly headers: { readonly [name: string]: string };
  /** Formats the event for a failure. */
  readonly formatFailure: (message: string) => object;
  /** The marker at the end of a complete stream; null for none. */
  readonly endMarker: string | null;
  /**
   * How to signal that the stream ends although more events will follow: destroy the connection ("cut"), or send an event. Null if the
   * client does not take the end of the stream for the end of the events.
   */
  readonly earlyEnd: "cut" | ((why: ByeReason) => object) | null;
};

const encoder = new TextEncoder();

/**
 * @param connection aborted when the client has disconnected
 * @param explain the message for the client; it also logs the error
 */
export function startEventStream(
  events: AsyncGenerator<object, void, undefined>,
  connection: AbortController,
  sink: Sink,
  { formatFailure, endMarker, earlyEnd }: EventFormat,
  explain: (error: unknown) => string,
): OpenStream {
  let isQuiet = true;
  const write = (data: string): void => {
    isQuiet = false;
    sink.write(encoder.encode(`data: ${data}\n\n`));
  };
  sink.onClose(() => connection.abort());
  // `explain` calls functions of the server's author, which may throw.
  pump().catch(() => sink.destroy());

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
      write(JSON.stringify(formatFailure(explain(error))));
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
