/**
 * The right to read a stream, asked again while the stream is open.
 *
 * 1. The right is asked about when something is written, at most once a second, and hardly ever while nothing happens.
 *    `authenticate` and `may` are the author's functions and may cost a query, so a delta does not ask.
 * 2. Frames go on while the question is answered, so a slow answer does not make a streamed text stutter. Once the last
 *    permission is two seconds old, frames wait for the answer. What a reader sees was allowed two seconds ago at most.
 * 3. A refusal drops the frames that wait. If nobody can say whether the reader may stay, it may not.
 */
import { heartbeatFrame } from "./frames.js";
import { type Sink, unsentHighWaterMark } from "./sink.js";

export type ReadPermission = {
  /** How long ago the last permission was asked for, in milliseconds. */
  readonly ageMs: () => number;
  /** The question that is being asked; null if there is none. */
  readonly pendingCheck: () => Promise<void> | null;
  /** Asks, unless that is being asked already. Resolves when it is answered, and never rejects. */
  readonly check: () => Promise<void>;
};

/** How often a right is asked about while something is written, in milliseconds. */
export const recheckEveryMs = 1_000;
const maxAgeMs = 2_000;
/** A question that takes longer is answered with no. */
const maxCheckMs = 10_000;

/** @param onRefused called once, after which nothing is asked any more */
export function createReadPermission(
  canStay: () => Promise<boolean>,
  now: () => number,
  onRefused: () => void,
): ReadPermission {
  let allowedAt = now();
  let pendingCheck: Promise<void> | null = null;

  async function check(): Promise<void> {
    const startedAt = now();
    if (!(await checkInTime(canStay))) return onRefused();
    allowedAt = startedAt;
    pendingCheck = null;
  }

  return {
    ageMs: () => now() - allowedAt,
    pendingCheck: () => pendingCheck,
    check() {
      pendingCheck ??= check();
      return pendingCheck;
    },
  };
}

async function checkInTime(canStay: () => Promise<boolean>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), maxCheckMs);
  });
  try {
    return await Promise.race([canStay(), timeout]);
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}

/** A sink whose frames leave only under a right to read. `refuse` lets only what is written in `bye` out, and ends the sink. */
export type CheckedSink = { readonly sink: Sink; readonly revoke: (bye: () => void) => void };

export function createCheckedSink(sink: Sink, permission: ReadPermission): CheckedSink {
  let buffered: Uint8Array[] | null = null;
  let bufferedBytes = 0;
  let endsAfterBuffer = false;
  let isClosed = false;
  let isClosing = false;

  async function bufferUntilChecked(): Promise<void> {
    buffered = [];
    await permission.check();
    const frames = buffered;
    buffered = null;
    bufferedBytes = 0;
    if (isClosed) return;
    for (const bytes of frames) sink.write(bytes);
    if (endsAfterBuffer) sink.end();
  }

  function checkIfDue(): void {
    const ageMs = permission.ageMs();
    if (buffered === null && ageMs >= maxAgeMs) void bufferUntilChecked();
    else if (ageMs >= recheckEveryMs) void permission.check();
  }

  function write(bytes: Uint8Array): void {
    if (isClosed && !isClosing) return;
    // A heartbeat shows nothing.
    const isUnchecked = isClosing || bytes === heartbeatFrame;
    if (!isUnchecked) checkIfDue();
    if (isUnchecked || buffered === null) {
      sink.write(bytes);
      return;
    }
    buffered.push(bytes);
    bufferedBytes += bytes.byteLength;
  }

  return {
    sink: {
      write,
      unsentBytes: () => sink.unsentBytes() + bufferedBytes,
      async whenDrained() {
        if (bufferedBytes > unsentHighWaterMark) await permission.pendingCheck();
        return sink.whenDrained();
      },
      end() {
        if (buffered === null || isClosing) sink.end();
        else endsAfterBuffer = true;
      },
      destroy() {
        isClosed = true;
        sink.destroy();
      },
      onClose: sink.onClose,
    },
    revoke(bye) {
      isClosed = true;
      isClosing = true;
      bye();
      isClosing = false;
      sink.end();
    },
  };
}
