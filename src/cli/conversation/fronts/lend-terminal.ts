/**
 * Lends the terminal to another program, such as an editor or a pager. Meanwhile the conversation continues, but writes nothing.
 */
import type { Prompt } from "../../screen/early-prompt.js";

/** Without a handler, a Ctrl-C for the other program would end this one. */
const ignoreInterrupt = () => {};

/**
 * @param interrupt the usual handler of Ctrl-C
 * @param onReturned called when this program has the terminal again
 */
export async function lendTerminal<T>(
  { screen, tty }: Pick<Prompt, "screen" | "tty">,
  interrupt: () => void,
  run: () => Promise<T>,
  onReturned: () => void,
): Promise<T> {
  screen.close();
  tty.leave();
  process.off("SIGINT", interrupt).on("SIGINT", ignoreInterrupt);
  try {
    return await run();
  } finally {
    process.off("SIGINT", ignoreInterrupt).on("SIGINT", interrupt);
    onReturned();
  }
}
