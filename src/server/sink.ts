/**
 * Where a stream is written to: a socket of Node, or a stream of the Web.
 */
export type Sink = {
  /** Does nothing after the end. */
  readonly write: (bytes: Uint8Array) => void;
  /** How many bytes were written and have not left. */
  readonly unsent: () => number;
  /** Resolves when most of what was written has left, or when the sink is closed. */
  readonly drained: () => Promise<void>;
  /** Ends the stream. What was written is still sent. */
  readonly end: () => void;
  /** Breaks the stream off, so that the other side does not take what it got for all there is. */
  readonly cut: () => void;
  /** Calls back once, when the other side has left or the stream has ended. */
  readonly onClose: (act: () => void) => void;
};

/** How much may wait before the history of a session is read on. */
export const enoughUnsent = 64 * 1024;

/** A sink and the body of the response that it fills. */
export function createWebSink(): { readonly sink: Sink; readonly body: ReadableStream<Uint8Array> } {
  const closers: (() => void)[] = [];
  const waiting: (() => void)[] = [];
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  let closed = false;
  const wake = () => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  const close = () => {
    if (closed) return;
    closed = true;
    wake();
    for (const act of closers) act();
  };
  const strategy = { highWaterMark: enoughUnsent, size: (chunk: Uint8Array) => chunk.byteLength };
  const body = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given;
      },
      pull: wake,
      cancel: close,
    },
    strategy,
  );
  const unsent = () => (closed ? 0 : enoughUnsent - (controller?.desiredSize ?? enoughUnsent));
  return {
    body,
    sink: {
      write(bytes) {
        if (!closed) controller?.enqueue(bytes);
      },
      unsent,
      drained: () =>
        unsent() < enoughUnsent ? Promise.resolve() : new Promise<void>((resolve) => waiting.push(resolve)),
      end() {
        if (!closed) controller?.close();
        close();
      },
      cut() {
        if (!closed) controller?.error(new Error("The stream was broken off."));
        close();
      },
      onClose(act) {
        if (closed) act();
        else closers.push(act);
      },
    },
  };
}
