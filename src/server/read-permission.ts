/**
 * The permission to read a stream, which is checked again while the stream is open.
 *
 * 1. The permission is checked when something is written, at most once a second, and rarely on an idle stream. `authenticate` and
 *    `may` are the author's functions and may cost a query, so not every delta triggers a check.
 * 2. Frames are still sent during a check, so a slow check does not make streamed text stutter. When the last permission is two
 *    seconds old, frames wait for the check. So a reader sees nothing that was not allowed within the last two seconds.
 * 3. A refusal drops the waiting frames. A check that fails or takes too long counts as a refusal.
 */
import { heartbeatFrame } from "./frames.js";
import { type Sink, unsentHighWaterMark } from "./sink.js";

export type ReadPermission = {
  /** The age of the last permission, counted from the start of its check, in milliseconds. */
  readonly ageMs: () => number;
  /** The check in progress; null if there is none. */
  readonly pendingCheck: () => Promise<void> | null;
  /** Starts a check, unless one is in progress. Resolves when it is done, and never rejects. */
  readonly check: () => Promise<void>;
};

/** How often a permission is checked while something is written, in milliseconds. */
export const recheckEveryMs = 1_000;
const maxAgeMs = 2_000;
/** A check that takes longer counts as a refusal. In milliseconds. */
const maxCheckMs = 10_000;

/** @param onRefused called once, after which there are no further checks */
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

/** A sink that sends frames only with a permission to read. `revoke` sends only what `bye` writes, and ends the sink. */
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
    // A heartbeat carries no content.
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
