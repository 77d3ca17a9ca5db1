/**
 * The terminal: standard output for what was asked for, standard error for everything about it.
 *
 * A line of progress may stand at the end of standard error. It is taken away before anything else is written.
 */
import { stderr, stdin, stdout } from "node:process";
import { createTerminalRedaction, type Redaction } from "./redaction.js";
import { jsonLine } from "./text.js";
import { createPaint, type Paint } from "./text-style.js";

export type Terminal = {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Shows what goes on, on a terminal only; null takes it away. */
  readonly status: (line: string | null) => void;
  /** Keeps back what is written until the returned function is called; on a line of its own, a person can write meanwhile. */
  readonly hold: () => () => void;
  /** Somebody can be asked. */
  readonly isInteractive: boolean;
  /** Standard error is a terminal. */
  readonly isLive: boolean;
  /** For standard error. */
  readonly paint: Paint;
  /** For standard output. */
  readonly paintOut: Paint;
  /** What is shown goes through it, but for what somebody is asked to approve. */
  readonly redaction: Redaction;
  /** Prints plain data as a line of JSON, redacted. */
  readonly json: (value: object) => void;
  readonly columns: () => number;
  /** Resolves when all that was written has been taken. */
  readonly flush: () => Promise<void>;
};

const defaultColumns = 100;

export function openTerminal(environment: { readonly [name: string]: string | undefined }): Terminal {
  const isLive = stderr.isTTY === true && environment.TERM !== "dumb";
  let shown = false;
  const gone = new Set<typeof stdout | typeof stderr>();
  let isAtLineStart = true;
  let held: (() => void)[] | null = null;
  // A reader that leaves (`| head`) and a terminal that is closed are no failures: what they did not take is in the session.
  for (const stream of [stdout, stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      gone.add(stream);
      if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
    });

  function status(line: string | null): void {
    if (!isLive || held !== null || (line === null && !shown)) return;
    if (!gone.has(stderr)) stderr.write(`\r\x1b[2K${line ?? ""}`);
    shown = line !== null;
  }

  function write(stream: typeof stdout | typeof stderr, text: string): void {
    if (held !== null) {
      held.push(() => write(stream, text));
      return;
    }
    status(null);
    if (text !== "" && stream.isTTY) isAtLineStart = text.endsWith("\n");
    if (!gone.has(stream)) stream.write(text);
  }

  function hold(): () => void {
    status(null);
    if (!isAtLineStart) write(stderr, "\n");
    held = [];
    return () => {
      const kept = held ?? [];
      held = null;
      for (const writeNow of kept) writeNow();
    };
  }

  const redaction = createTerminalRedaction(environment);
  return {
    redaction,
    json: (value) => write(stdout, jsonLine(redaction.value(value))),
    out: (text) => write(stdout, text),
    err: (text) => write(stderr, text),
    status,
    hold,
    isInteractive: stdin.isTTY === true && stderr.isTTY === true,
    isLive,
    paint: createPaint(stderr, environment),
    paintOut: createPaint(stdout, environment),
    // A terminal that does not know its width says 0.
    columns: () => stderr.columns || stdout.columns || defaultColumns,
    async flush() {
      status(null);
      const left = [stdout, stderr].filter((stream) => !gone.has(stream));
      await Promise.all(left.map((stream) => new Promise((done) => stream.write("", done))));
    },
  };
}
