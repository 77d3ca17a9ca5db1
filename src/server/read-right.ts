/**
 * The right to read a stream, asked again while the stream is open.
 *
 * 1. The right is asked about when something is written, at most once a second, and hardly ever while nothing happens.
 *    `authenticate` and `may` are the author's functions and may cost a query, so a delta does not ask.
 * 2. Frames go on while the question is answered, so a slow answer does not make a streamed text stutter. Once the last
 *    permission is two seconds old, frames wait for the answer. What a reader sees was allowed two seconds ago at most.
 * 3. A refusal drops the frames that wait. If nobody can say whether the reader may stay, it may not.
 */
import { beatFrame } from "./frames.js";
import { enoughUnsent, type Sink } from "./sink.js";

export type ReadRight = {
  /** How long ago the last permission was asked for, in milliseconds. */
  readonly ageMs: () => number;
  /** The question that is being asked; null if there is none. */
  readonly asking: () => Promise<void> | null;
  /** Asks, unless that is being asked already. Resolves when it is answered, and never rejects. */
  readonly ask: () => Promise<void>;
};

/** How often a right is asked about while something is written, in milliseconds. */
export const askEveryMs = 1_000;
const longestAgeMs = 2_000;
/** A question that takes longer is answered with no. */
const longestAnswerMs = 10_000;

/** @param onRefused called once, after which nothing is asked any more */
export function createReadRight(mayStay: () => Promise<boolean>, now: () => number, onRefused: () => void): ReadRight {
  let allowedAt = now();
  let asking: Promise<void> | null = null;

  async function ask(): Promise<void> {
    const at = now();
    if (!(await inTime(mayStay))) return onRefused();
    allowedAt = at;
    asking = null;
  }

  return {
    ageMs: () => now() - allowedAt,
    asking: () => asking,
    ask() {
      asking ??= ask();
      return asking;
    },
  };
}

async function inTime(mayStay: () => Promise<boolean>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), longestAnswerMs);
  });
  try {
    return await Promise.race([mayStay(), late]);
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}

/** A sink whose frames leave only under a right to read. `refuse` lets only what is written in `bye` out, and ends the sink. */
export type CheckedSink = { readonly sink: Sink; readonly refuse: (bye: () => void) => void };

export function createCheckedSink(sink: Sink, right: ReadRight): CheckedSink {
  let held: Uint8Array[] | null = null;
  let heldBytes = 0;
  let endsAfterHeld = false;
  let isOver = false;
  let isLeaving = false;

  async function hold(): Promise<void> {
    held = [];
    await right.ask();
    const frames = held;
    held = null;
    heldBytes = 0;
    if (isOver) return;
    for (const bytes of frames) sink.write(bytes);
    if (endsAfterHeld) sink.end();
  }

  function askIfDue(): void {
    const ageMs = right.ageMs();
    if (held === null && ageMs >= longestAgeMs) void hold();
    else if (ageMs >= askEveryMs) void right.ask();
  }

  function write(bytes: Uint8Array): void {
    if (isOver && !isLeaving) return;
    // A heartbeat shows nothing.
    const isFree = isLeaving || bytes === beatFrame;
    if (!isFree) askIfDue();
    if (isFree || held === null) {
      sink.write(bytes);
      return;
    }
    held.push(bytes);
    heldBytes += bytes.byteLength;
  }

  return {
    sink: {
      write,
      unsent: () => sink.unsent() + heldBytes,
      async drained() {
        if (heldBytes > enoughUnsent) await right.asking();
        return sink.drained();
      },
      end() {
        if (held === null || isLeaving) sink.end();
        else endsAfterHeld = true;
      },
      cut() {
        isOver = true;
        sink.cut();
      },
      onClose: sink.onClose,
    },
    refuse(bye) {
      isOver = true;
      isLeaving = true;
      bye();
      isLeaving = false;
      sink.end();
    },
  };
}
