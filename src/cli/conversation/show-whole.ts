/**
 * Shows a long text whole: in the person's pager or, if there is none, its end where the conversation stands.
 */
import { lineOf, linesOf } from "../screen/line.js";
import { visible } from "../text.js";
import type { CommandContext } from "./session-commands.js";

export type WholeText = {
  readonly title: string;
  /** It may have secrets and control characters. */
  readonly text: string;
  /** The lines that are shown without a pager, at most. */
  readonly mostLines: number;
  /** What stands in the place of an empty text. */
  readonly empty?: string;
};

/** @returns how many lines at the beginning were not shown */
export async function showWhole(
  { redaction, page, say }: CommandContext,
  { title, text, mostLines, empty = "" }: WholeText,
): Promise<number> {
  const shown = visible(redaction.text(text));
  if (await page(shown)) return 0;
  const lines = linesOf(shown === "" ? empty : shown);
  say([lineOf(`${title}:`, "dim"), ...lines.slice(-mostLines)]);
  return Math.max(0, lines.length - mostLines);
}
