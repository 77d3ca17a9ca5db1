/**
 * Shows long text in full in the person's pager or, if there is none, the end of it in the conversation.
 */
import { lineOf, linesOf } from "../../screen/line.js";
import { sanitize } from "../../terminal/text.js";
import type { CommandContext } from "./command-context.js";

export type FullText = {
  readonly title: string;
  /** May contain secrets and control characters. */
  readonly text: string;
  /** The maximum number of lines that are shown without a pager. */
  readonly maxLines: number;
  /** Shown if the text is empty. */
  readonly empty?: string;
};

/** @returns the number of lines at the beginning that were not shown */
export async function showFullText(
  { redaction, page, say }: CommandContext,
  { title, text, maxLines, empty = "" }: FullText,
): Promise<number> {
  const safeText = sanitize(redaction.text(text));
  if (await page(safeText)) return 0;
  const lines = linesOf(safeText === "" ? empty : safeText);
  say([lineOf(`${title}:`, "dim"), ...lines.slice(-maxLines)]);
  return Math.max(0, lines.length - maxLines);
}
