/**
 * The terminal: standard output for results, standard error for everything else.
 *
 * Standard error may end with a progress line, which is erased before anything else is written.
 */

import { stderr, stdin, stdout } from "node:process";
import type { Prompt } from "../screen/early-prompt.js";
import { createTerminalRedaction, type Redaction } from "./redaction.js";
import { nameAsStarted } from "./started-as.js";
import { formatJsonLine } from "./text.js";
import { createStyleText, type StyleText, type Theme } from "./text-style.js";

export type Terminal = {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Writes a sentence of the program itself. Commands in it are shown as the person has to type them. */
  readonly hint: (text: string) => void;
  /** Shows a progress line, on a terminal only; null erases it. */
  readonly status: (line: string | null) => void;
  /** Buffers output until the returned function is called. Meanwhile, a person can type on a separate line. */
  readonly bufferOutput: () => () => void;
  /** Whether a person can be asked: standard input and standard error are terminals. */
  readonly isInteractive: boolean;
  /** Whether standard error is a terminal on which a line can be overwritten. */
  readonly isLive: boolean;
  /** Whether standard output is a terminal, so that a person reads it as it is written. */
  readonly isOutLive: boolean;
  /** Styles text for standard error. */
  readonly style: StyleText;
  /** Styles text for standard output. */
  readonly styleOut: StyleText;
  /** Redacts everything that is printed, except a call that a person is asked to approve. */
  readonly redaction: Redaction;
  /** Takes over the prompt that is already on the screen; null if there is none. The first output removes a prompt that was not taken. */
  readonly takePrompt: () => Prompt | null;
  /** Redacts plain data and prints it as a line of JSON. */
  readonly json: (value: object) => void;
  readonly columns: () => number;
  /** Resolves when the streams have accepted everything that was written. */
  readonly flush: () => Promise<void>;
};

const defaultColumns = 100;

export function openTerminal(
  environment: { readonly [name: string]: string | undefined },
  firstPrompt: Prompt | null = null,
  theme: Theme = "auto",
): Terminal {
  let prompt = firstPrompt;
  const isLive = stderr.isTTY === true && environment.TERM !== "dumb";
  let isStatusShown = false;
  const closed = new Set<typeof stdout | typeof stderr>();
  let isAtLineStart = true;
  let bufferedWrites: (() => void)[] | null = null;
  // A reader that exits (`| head`) and a closed terminal are not failures: the rest of the output is in the session.
  for (const stream of [stdout, stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      closed.add(stream);
      if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
    });

  function status(line: string | null): void {
    if (!isLive || bufferedWrites !== null || (line === null && !isStatusShown)) return;
    if (!closed.has(stderr)) stderr.write(`\r\x1b[2K${line ?? ""}`);
    isStatusShown = line !== null;
  }

  function write(stream: typeof stdout | typeof stderr, text: string): void {
    if (bufferedWrites !== null) {
      bufferedWrites.push(() => write(stream, text));
      return;
    }
    status(null);
    takePrompt()?.close();
    if (text !== "" && stream.isTTY) isAtLineStart = text.endsWith("\n");
    if (!closed.has(stream)) stream.write(text);
  }

  function takePrompt(): Prompt | null {
    const takenPrompt = prompt;
    prompt = null;
    return takenPrompt;
  }

  function bufferOutput(): () => void {
    status(null);
    if (!isAtLineStart) write(stderr, "\n");
    bufferedWrites = [];
    return () => {
      const writes = bufferedWrites ?? [];
      bufferedWrites = null;
      for (const writeNow of writes) writeNow();
    };
  }

  const redaction = createTerminalRedaction(environment);
  return {
    redaction,
    takePrompt,
    json: (value) => write(stdout, formatJsonLine(redaction.value(value))),
    out: (text) => write(stdout, text),
    err: (text) => write(stderr, text),
    hint: (text) => write(stderr, nameAsStarted(text)),
    status,
    bufferOutput,
    isInteractive: stdin.isTTY === true && stderr.isTTY === true,
    isLive,
    isOutLive: stdout.isTTY === true,
    style: createStyleText(stderr, environment, theme),
    styleOut: createStyleText(stdout, environment, theme),
    // A terminal that does not know its width reports 0.
    columns: () => stderr.columns || stdout.columns || defaultColumns,
    async flush() {
      status(null);
      const open = [stdout, stderr].filter((stream) => !closed.has(stream));
      await Promise.all(open.map((stream) => new Promise((done) => stream.write("", done))));
    },
  };
}
