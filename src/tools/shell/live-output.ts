/**
 * The end of an output while it grows, for people who watch a command. It is bounded in size, and comes at most ten times
 * a second. Like the whole output, it is what a terminal would show (plain-output.ts).
 */
import { toPlainText } from "./plain-output.js";

/** The most bytes that are shown. */
const maxBytes = 16 * 1024;

/** Milliseconds between two showings. */
const pauseMs = 100;

export type LiveOutput = {
  add(bytes: Uint8Array): void;
  /** The output has ended: nothing more is shown, and no timer is left. */
  end(): void;
  /** Waits until there is something new. Null when the output has ended. */
  next(): Promise<string | null>;
};

export function createLiveOutput(): LiveOutput {
  let tail: Buffer = Buffer.alloc(0);
  let isCut = false;
  let isChanged = false;
  let hasEnded = false;
  let lastShownAt = Number.NEGATIVE_INFINITY;
  let onChange = () => {};
  let onEnd = () => {};

  /** Whole lines only, if the beginning is left out and the rest has a line end. */
  function formatTail(): string {
    const shown = toPlainText(tail);
    return isCut ? `…\n${shown.slice(shown.indexOf("\n") + 1)}` : shown;
  }

  function waitForChange(): Promise<void> {
    return new Promise((resolve) => {
      onChange = resolve;
    });
  }

  /** The rest of the time between two showings, unless the output ends before. */
  async function waitForPause(): Promise<void> {
    const remainingMs = lastShownAt + pauseMs - performance.now();
    if (remainingMs <= 0 || hasEnded) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      onEnd = resolve;
      timer = setTimeout(resolve, remainingMs);
    });
    clearTimeout(timer);
  }

  return {
    add(bytes) {
      const joined = Buffer.concat([tail, bytes.subarray(-maxBytes)]);
      isCut ||= tail.length + bytes.length > maxBytes;
      tail = Buffer.from(joined.subarray(-maxBytes));
      isChanged = true;
      onChange();
    },
    end() {
      hasEnded = true;
      onChange();
      onEnd();
    },
    async next() {
      if (!isChanged && !hasEnded) await waitForChange();
      await waitForPause();
      if (hasEnded) return null;
      isChanged = false;
      lastShownAt = performance.now();
      return formatTail();
    },
  };
}
