/**
 * Shows a long text whole: in the person's pager or, if there is none, its end where the conversation stands.
 */
import { lineOf, linesOf } from "../../screen/line.js";
import { sanitize } from "../../terminal/text.js";
import type { CommandContext } from "./sessions.js";

export type FullText = {
  readonly title: string;
  /** It may have secrets and control characters. */
  readonly text: string;
  /** The lines that are shown without a pager, at most. */
  readonly maxLines: number;
  /** What stands in the place of an empty text. */
  readonly empty?: string;
};

/** @returns how many lines at the beginning were not shown */
export async function showFullText(
  { redaction, page, say }: CommandContext,
  { title, text, maxLines: mostLines, empty = "" }: FullText,
): Promise<number> {
  const safeText = sanitize(redaction.text(text));
  if (await page(safeText)) return 0;
  const lines = linesOf(safeText === "" ? empty : safeText);
  say([lineOf(`${title}:`, "dim"), ...lines.slice(-mostLines)]);
  return Math.max(0, lines.length - mostLines);
}
