/**
 * Reads a secret from a person on a terminal, without showing it.
 */
import { stderr, stdin } from "node:process";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";

/** Returns the typed line; empty at the end of the input and on Ctrl-C. */
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
