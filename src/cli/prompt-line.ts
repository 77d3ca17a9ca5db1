/**
 * A line from a person on a terminal.
 */
import { stderr, stdin } from "node:process";
import { createInterface } from "node:readline/promises";
import type { Interruptions } from "./interruptions.js";

export type QuestionOptions = {
  /** What stands on the line already. */
  readonly given?: string;
  /** Takes the question back. */
  readonly signal?: AbortSignal;
  /** Lines that were pasted with the first one belong to it. */
  readonly takesLines?: true;
};

/** What the person said; null where they leave: end of input, Ctrl-C, or the process is to go. */
export async function question(
  prompt: string,
  interruptions: Interruptions,
  { given = "", signal, takesLines }: QuestionOptions = {},
): Promise<string | null> {
  if (interruptions.leave.aborted || interruptions.stop.aborted) return null;
  const lines = createInterface({ input: stdin, output: stderr });
  const over = new AbortController();
  const end = () => over.abort();
  lines.once("SIGINT", () => {
    interruptions.interrupt();
    end();
  });
  lines.once("close", end);
  const signals = [interruptions.leave, ...(signal === undefined ? [] : [signal])];
  for (const one of signals) one.addEventListener("abort", end, { once: true });
  try {
    const asked = lines.question(prompt, { signal: over.signal });
    const more: string[] = [];
    // The first line is the question's own.
    lines.on("line", (line) => more.push(line));
    if (given !== "") lines.write(given);
    const first = await asked;
    return takesLines === true ? [first, ...more].join("\n") : first;
  } catch (error) {
    if (!over.signal.aborted) throw error;
    stderr.write("\n");
    return null;
  } finally {
    for (const one of signals) one.removeEventListener("abort", end);
    lines.close();
  }
}
