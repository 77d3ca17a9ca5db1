/**
 * Where a stream is written to: a socket of Node, or a stream of the Web.
 */
export type Sink = {
  /** Does nothing after the end. */
  readonly write: (bytes: Uint8Array) => void;
  /** How many bytes were written and have not left. */
  readonly unsentBytes: () => number;
  /** Resolves when most of what was written has left, or when the sink is closed. */
  readonly whenDrained: () => Promise<void>;
  /** Ends the stream. What was written is still sent. */
  readonly end: () => void;
  /** Breaks the stream off, so that the other side does not take what it got for all there is. */
  readonly destroy: () => void;
  /** Calls back once, when the other side has left or the stream has ended. */
  readonly onClose: (listener: () => void) => void;
};

/** How much may wait before the history of a session is read on. */
export const unsentHighWaterMark = 64 * 1024;

/** A sink and the body of the response that it fills. */
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
        if (!closed) controller?.error(new Error("The stream was broken off."));
        close();
      },
      onClose(listener) {
        if (closed) listener();
        else closeListeners.push(listener);
      },
    },
  };
}
