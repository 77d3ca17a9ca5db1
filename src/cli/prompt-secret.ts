/**
 * Reads a secret from a person on a terminal, without showing it.
 */
import { stderr, stdin } from "node:process";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";

/** The line that was typed; empty at the end of the input and on Ctrl-C. */
export async function promptSecret(prompt: string): Promise<string> {
  stderr.write(prompt);
  // What `readline` would show of the line goes nowhere.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: nowhere, terminal: true, historySize: 0 });
  const over = new AbortController();
  lines.once("SIGINT", () => over.abort());
  lines.once("close", () => over.abort());
  try {
    return await lines.question("", { signal: over.signal });
  } catch (error) {
    if (!over.signal.aborted) throw error;
    return "";
  } finally {
    lines.close();
    stderr.write("\n");
  }
}
