/**
 * The terminal device: raw mode, the modes of a conversation, the size, and suspend and continue.
 *
 * The modes are turned off however the process ends, except by SIGKILL, because `leave` also runs at exit.
 */
import type { ReadStream, WriteStream } from "node:tty";
import { createKeyReader, type Key } from "./keys.js";
import type { ScreenOutput } from "./screen.js";

/** Bracketed paste, and the kitty keyboard protocol, which distinguishes keys that are otherwise the same. */
const modesOn = "\x1b[?2004h\x1b[>1u";
const focusOn = "\x1b[?1004h";
const focusOff = "\x1b[?1004l";
const modesOff = "\x1b[<u\x1b[?2004l\x1b[?7h\x1b[?2026l\x1b[?25h";

export type Tty = ScreenOutput & {
  /** Asks the terminal to report its focus. @returns whether the window has the focus; true until the terminal reports that it has not */
  readonly watchFocus: () => () => boolean;
  /** Turns the modes on, and starts to read keys. */
  readonly enter: () => void;
  /** Turns the modes off. */
  readonly leave: () => void;
  /** Suspends this process, as Ctrl-Z does. `onContinue` is called when it continues. */
  readonly suspend: (onContinue: () => void) => void;
  /** Turns the modes off, and releases everything that keeps the process alive. */
  readonly close: () => void;
};

export type TtyStreams = { readonly input: ReadStream; readonly output: WriteStream };

/** The interval of a timer that only keeps the process alive; milliseconds. */
const keepAliveMs = 1_000_000_000;
const defaultSize = { columns: 80, rows: 24 } as const;

export function openTty({ input, output }: TtyStreams, onKey: (key: Key) => void, onResize: () => void): Tty {
  let isActive = false;
  let watchesFocus = false;
  let hasFocus = true;
  const reader = createKeyReader(onKey, (reported) => {
    hasFocus = reported;
  });

  function enter(): void {
    if (isActive) return;
    isActive = true;
    input.setRawMode(true).setEncoding("utf8").on("data", reader.feed).resume();
    output.write(watchesFocus ? modesOn + focusOn : modesOn);
  }

  function leave(): void {
    if (!isActive) return;
    isActive = false;
    output.write(watchesFocus ? focusOff + modesOff : modesOff);
    input.off("data", reader.feed).pause();
    input.setRawMode(false);
  }

  function close(): void {
    leave();
    reader.close();
    output.off("resize", onResize);
    process.off("exit", leave);
  }

  output.on("resize", onResize);
  process.on("exit", leave);
  return {
    // A terminal that does not know its size reports 0.
    get columns() {
      return output.columns || defaultSize.columns;
    },
    get rows() {
      return output.rows || defaultSize.rows;
    },
    write: (text) => output.write(text),
    onDrain: (listener) => output.once("drain", listener),
    watchFocus() {
      if (!watchesFocus && isActive) output.write(focusOn);
      watchesFocus = true;
      return () => hasFocus;
    },
    enter,
    leave,
    suspend(onContinue) {
      // Otherwise the process might exit before the signal arrives.
      const keepAlive = setInterval(() => {}, keepAliveMs);
      process.once("SIGCONT", () => {
        clearInterval(keepAlive);
        onContinue();
      });
      leave();
      process.kill(process.pid, "SIGTSTP");
    },
    close,
  };
}
