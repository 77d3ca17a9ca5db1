/**
 * The output of a stream: a Node socket, or a Web stream.
 */
export type Sink = {
  /** A no-op after the end. */
  readonly write: (bytes: Uint8Array) => void;
  /** The number of bytes that were written but not sent yet. */
  readonly unsentBytes: () => number;
  /** Resolves when most of the written data is sent, or when the sink is closed. */
  readonly whenDrained: () => Promise<void>;
  /** Ends the stream after the written data was sent. */
  readonly end: () => void;
  /** Aborts the stream, so that the other side does not consider it complete. */
  readonly destroy: () => void;
  /** Calls the listener once, when the other side has disconnected or the stream has ended. */
  readonly onClose: (listener: () => void) => void;
};

/** The number of unsent bytes at which the reading of a session's history pauses. */
export const unsentHighWaterMark = 64 * 1024;

/** Creates a sink and the response body that it writes to. */
export function createWebSink(): { readonly sink: Sink; readonly body: ReadableStream<Uint8Array> } {
  const closeListeners: (() => void)[] = [];
  const drainWaiters: (() => void)[] = [];
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  let closed = false;
  const resolveDrained = () => {
    for (const resolve of drainWaiters.splice(0)) resolve();
  };
  const close = () => {
    if (closed) return;
    closed = true;
    resolveDrained();
    for (const listener of closeListeners) listener();
  };
  const strategy = { highWaterMark: unsentHighWaterMark, size: (chunk: Uint8Array) => chunk.byteLength };
  const body = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given;
      },
      pull: resolveDrained,
      cancel: close,
    },
    strategy,
  );
  const unsentBytes = () => (closed ? 0 : unsentHighWaterMark - (controller?.desiredSize ?? unsentHighWaterMark));
  return {
    body,
    sink: {
      write(bytes) {
        if (!closed) controller?.enqueue(bytes);
      },
      unsentBytes,
      whenDrained: () =>
        unsentBytes() < unsentHighWaterMark
          ? Promise.resolve()
          : new Promise<void>((resolve) => drainWaiters.push(resolve)),
      end() {
        if (!closed) controller?.close();
        close();
      },
      destroy() {
        if (!closed) controller?.error(new Error("The stream was aborted."));
        close();
      },
      onClose(listener) {
        if (closed) listener();
        else closeListeners.push(listener);
      },
    },
  };
}
