/**
 * The terminal in the hands of another program, as an editor or a pager. Meanwhile the conversation goes on, and writes nothing.
 */
import type { Prompt } from "../screen/prompt.js";

/** Without a handler, a Ctrl-C that is the other program's would end this one. */
const letPass = () => {};

/**
 * @param interrupt what a Ctrl-C does otherwise
 * @param resumed called when the terminal is back
 */
export async function lendTerminal<T>(
  { screen, tty }: Pick<Prompt, "screen" | "tty">,
  interrupt: () => void,
  use: () => Promise<T>,
  resumed: () => void,
): Promise<T> {
  screen.close();
  tty.leave();
  process.off("SIGINT", interrupt).on("SIGINT", letPass);
  try {
    return await use();
  } finally {
    process.off("SIGINT", letPass).on("SIGINT", interrupt);
    resumed();
  }
}
