/**
 * Renders a list of names and descriptions: side by side, or one below the other on a narrow screen. Words are not split.
 */
import { type Line, lineOf, spanOf } from "../../screen/line.js";
import type { TextStyle } from "../../terminal/text-style.js";
import { wrapNote } from "./view-lines.js";

export type ListEntry = { readonly head: string; readonly about: string; readonly style?: TextStyle };

/** The maximum width of a name whose text starts on the same line; columns. */
const maxHeadColumns = 40;
/** The minimum width of the text next to the names; columns. */
const minTextColumns = 24;

export function renderList(entries: readonly ListEntry[], columns: number): readonly Line[] {
  return renderEntries(entries, measureHeads(entries), columns);
}

/** Renders lists under headings. The text of all lists begins at the same column. */
export function renderListGroups(
  groups: readonly { readonly heading: string; readonly entries: readonly ListEntry[] }[],
  columns: number,
): readonly Line[] {
  const width = measureHeads(groups.flatMap(({ entries }) => entries)) + groupIndent.length;
  return groups.flatMap(({ heading, entries }, at): readonly Line[] => {
    const indented = entries.map((entry) => ({ ...entry, head: `${groupIndent}${entry.head}` }));
    return [...(at === 0 ? [] : [[]]), lineOf(heading, "dim"), ...renderEntries(indented, width, columns)];
  });
}

const groupIndent = "  ";

function measureHeads(entries: readonly ListEntry[]): number {
  return Math.min(maxHeadColumns, Math.max(0, ...entries.map(({ head }) => head.length))) + 2;
}

function renderEntries(entries: readonly ListEntry[], width: number, columns: number): readonly Line[] {
  const isNarrow = columns - width < minTextColumns;
  return entries.flatMap(({ head, about, style = "bold" }): readonly Line[] => {
    const isSideBySide = !isNarrow && head.length <= maxHeadColumns;
    const indent = " ".repeat(isSideBySide ? width : 4);
    // A single word is a path or an id: the terminal wraps it, so that it can be copied.
    const isWord = !/\s/.test(about.trim());
    const [first = [], ...rest] = isWord ? [lineOf(about)] : wrapNote(about, columns - indent.length);
    const others = rest.map((line): Line => [spanOf(indent), ...line]);
    if (isSideBySide) return [[spanOf(head.padEnd(width), style), ...first], ...others];
    return [lineOf(head.trimEnd(), style), [spanOf(indent), ...first], ...others];
  });
}
