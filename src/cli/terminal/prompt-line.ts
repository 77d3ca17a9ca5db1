/**
 * Reads a line, or a secret, from a person on a terminal.
 */
import { stderr, stdin } from "node:process";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import type { Interruptions } from "./interruptions.js";

export type PromptLineOptions = {
  /** The initial text of the line, which the person may edit. */
  readonly initialText?: string;
  /** Cancels the prompt. */
  readonly signal?: AbortSignal;
  /** Lines pasted together with the first one are part of the answer. */
  readonly joinsPastedLines?: true;
};

/** @returns the line; null on Ctrl-C, at the end of the input, when `signal` aborts, or when the process should exit */
export async function promptLine(
  prompt: string,
  interruptions: Interruptions,
  { initialText = "", signal, joinsPastedLines }: PromptLineOptions = {},
): Promise<string | null> {
  if (interruptions.shutdown.aborted || interruptions.stop.aborted) return null;
  const lines = createInterface({ input: stdin, output: stderr });
  const cancelled = new AbortController();
  const end = () => cancelled.abort();
  lines.once("SIGINT", () => {
    interruptions.interrupt();
    end();
  });
  lines.once("close", end);
  const signals = [interruptions.shutdown, ...(signal === undefined ? [] : [signal])];
  for (const source of signals) source.addEventListener("abort", end, { once: true });
  try {
    const answer = lines.question(prompt, { signal: cancelled.signal });
    const pastedLines: string[] = [];
    // `question` takes the first line, so this listener gets only the lines after it.
    lines.on("line", (line) => pastedLines.push(line));
    if (initialText !== "") lines.write(initialText);
    const first = await answer;
    return joinsPastedLines === true ? [first, ...pastedLines].join("\n") : first;
  } catch (error) {
    if (!cancelled.signal.aborted) throw error;
    stderr.write("\n");
    return null;
  } finally {
    for (const source of signals) source.removeEventListener("abort", end);
    lines.close();
  }
}

/** Whether a person's line says yes. Anything else counts as no. */
export function isYes(line: string): boolean {
  return /^\s*y(es)?\s*$/i.test(line);
}

/** Reads a line without showing it. Returns an empty string at the end of the input and on Ctrl-C. */
export async function promptSecret(prompt: string): Promise<string> {
  stderr.write(prompt);
  // Discards what `readline` would echo.
  const discard = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: discard, terminal: true, historySize: 0 });
  const cancelled = new AbortController();
  lines.once("SIGINT", () => cancelled.abort());
  lines.once("close", () => cancelled.abort());
  try {
    return await lines.question("", { signal: cancelled.signal });
  } catch (error) {
    if (!cancelled.signal.aborted) throw error;
    return "";
  } finally {
    lines.close();
    stderr.write("\n");
  }
}
