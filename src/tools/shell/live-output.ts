/**
 * The end of a growing output, for people who watch a command. Its size is bounded, and it is updated at most ten times per second.
 * Like the whole output, it shows what a terminal would show (plain-output.ts).
 */
import { toPlainText } from "./plain-output.js";

/** The maximum size of the shown text, in bytes. */
const maxBytes = 16 * 1024;

/** The minimum time between two updates, in milliseconds. */
const pauseMs = 100;

export type LiveOutput = {
  add(bytes: Uint8Array): void;
  /** Ends the output: nothing more is shown, and no timer is left running. */
  end(): void;
  /** Waits for new output. Returns null when the output has ended. */
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

  /** If the beginning is cut, the result begins with the next whole line, unless the rest has no line ending. */
  function formatTail(): string {
    const shown = toPlainText(tail);
    return isCut ? `…\n${shown.slice(shown.indexOf("\n") + 1)}` : shown;
  }

  function waitForChange(): Promise<void> {
    return new Promise((resolve) => {
      onChange = resolve;
    });
  }

  /** Waits until the next update is due, or the output ends. */
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
