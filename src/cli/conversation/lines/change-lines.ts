/**
 * Renders a change to text: removed lines, added lines, and the words that differ, with the line numbers of the file if they
 * are known.
 *
 * 1. Without the marks, all lines except the added ones are the old text, and all except the removed ones are the new text. No
 *    line is omitted.
 * 2. The time is bounded: lines are compared for 300 ms and words for 50 ms, over all places of an edit together. After that,
 *    the old text is shown before the new one.
 */
import { diffArrays, diffWordsWithSpace } from "diff";
import type { FileEdit } from "../../../core/index.js";
import { formatNumber } from "../../../view/format-number.js";
import { type Line, type Span, spanOf } from "../../screen/line.js";
import { sanitizeStrictly } from "../../terminal/text.js";
import type { TextStyle } from "../../terminal/text-style.js";

/** The time to compare lines and words; milliseconds. */
const compareTimeoutMs = { lines: 300, words: 50 } as const;
/** If two lines share less than this fraction of their characters, no words are marked. */
const minShareInCommon = 0.4;
/** The words of a longer line are not compared; characters. */
const maxLine = 400;
/** Lines of context around a change. */
const contextLines = 3;

export type Changes = { readonly lines: readonly Line[]; readonly added: number; readonly removed: number };

/** Renders text on one line. Tabs are shown as arrows, to distinguish them from spaces. */
export function renderExact(text: string, style?: TextStyle): readonly Span[] {
  return text.split("\t").flatMap((part, at) => {
    const own = part === "" ? [] : [spanOf(sanitizeStrictly(part), style)];
    return at === 0 ? own : [spanOf("→   ", "dim"), ...own];
  });
}

type DiffPart = { readonly type: "same" | "removed" | "added"; readonly lines: readonly string[] };

/** The remaining time to compare; milliseconds. Each comparison subtracts its own time. */
type TimeBudget = { lines: number; words: number };

/** @param firstLine the line number, in the file, of the first line of both texts */
export function diffTexts(
  before: string,
  after: string,
  firstLine?: number,
  left: TimeBudget = { ...compareTimeoutMs },
): Changes {
  const startedAt = performance.now();
  // Even when the time is up, a small difference is found within a millisecond.
  const parts = diffLines(before.split("\n"), after.split("\n"), Math.max(1, left.lines));
  left.lines -= performance.now() - startedAt;
  const count = (type: DiffPart["type"]) =>
    parts.reduce((sum, part) => sum + (part.type === type ? part.lines.length : 0), 0);
  const lines = createLineNumberer(firstLine, Math.max(before.split("\n").length, after.split("\n").length));
  const comparedAt = performance.now();
  const until = comparedAt + left.words;
  const shown = parts.flatMap((part, at): Line[] => {
    const { type } = part;
    if (type === "same") return part.lines.map((text) => lines.same(renderExact(text)));
    const other = parts[at + (type === "removed" ? 1 : -1)];
    const hasPair = other !== undefined && other.type !== "same" && other.type !== type;
    return part.lines.map((text, row) => {
      const pairedLine = hasPair ? other.lines[row] : undefined;
      const spans = pairedLine === undefined ? null : renderWordDiff(text, pairedLine, type, until);
      return lines[type](spans ?? renderExact(text, styles[type].plain));
    });
  });
  left.words -= performance.now() - comparedAt;
  return { lines: shown, added: count("added"), removed: count("removed") };
}

function diffLines(old: readonly string[], now: readonly string[], timeoutMs: number): readonly DiffPart[] {
  const parts = diffArrays([...old], [...now], { timeout: timeoutMs });
  if (parts === undefined)
    return [
      { type: "removed", lines: old },
      { type: "added", lines: now },
    ];
  return parts.map(({ value, added, removed }) => ({
    type: added ? "added" : removed ? "removed" : "same",
    lines: value,
  }));
}

const styles = {
  removed: { plain: "red", strong: "red-strong" },
  added: { plain: "green", strong: "green-strong" },
} as const;

/** Renders the line, and marks the words that are not in the paired line. Null if too much differs, or time is up. */
function renderWordDiff(
  line: string,
  pairedLine: string,
  type: "removed" | "added",
  until: number,
): readonly Span[] | null {
  const left = until - performance.now();
  if (left <= 0 || Math.max(line.length, pairedLine.length) > maxLine) return null;
  const [old, now] = type === "removed" ? [line, pairedLine] : [pairedLine, line];
  const parts = diffWordsWithSpace(old, now, { timeout: left });
  if (parts === undefined) return null;
  const same = parts.reduce((sum, { added, removed, value }) => sum + (added || removed ? 0 : value.length), 0);
  if (same < minShareInCommon * Math.max(line.length, pairedLine.length)) return null;
  return parts
    .filter((part) => !part[type === "removed" ? "added" : "removed"])
    .flatMap(({ value, added, removed }) => renderExact(value, styles[type][added || removed ? "strong" : "plain"]));
}

/** Puts marks and numbers in front of lines, in their order. */
function createLineNumberer(firstLine: number | undefined, count: number) {
  let [old, now] = [firstLine ?? 0, firstLine ?? 0];
  const width = String((firstLine ?? 0) + count).length;
  const number = (at: number) => (firstLine === undefined ? "" : `${String(at).padStart(width)} `);
  return {
    same(spans: readonly Span[]): Line {
      const lead = number(now);
      [old, now] = [old + 1, now + 1];
      return [spanOf(`    ${lead}`, "dim"), spanOf("  "), ...spans];
    },
    removed(spans: readonly Span[]): Line {
      const lead = number(old);
      old += 1;
      return [spanOf(`    ${lead}`, "dim"), spanOf("- ", "red"), ...spans];
    },
    added(spans: readonly Span[]): Line {
      const lead = number(now);
      now += 1;
      return [spanOf(`    ${lead}`, "dim"), spanOf("+ ", "green"), ...spans];
    },
  };
}

/** The mark of a line: `+` if it is added, `-` if it is removed, and empty if it is unchanged. */
export function readMark(line: Line): string {
  return line[1]?.text.trim() ?? "";
}

/** The changed lines, with their context. */
export function excerptChanges(lines: readonly Line[]): readonly Line[] {
  const shownLines = new Set<number>();
  for (const [at, line] of lines.entries())
    if (readMark(line) !== "")
      for (let near = at - contextLines; near <= at + contextLines; near += 1) shownLines.add(near);
  const last = lines.findLastIndex((line) => readMark(line) !== "");
  return lines.flatMap((line, at): Line[] => {
    if (shownLines.has(at)) return [line];
    return shownLines.has(at - 1) && at < last ? [[spanOf("    …", "dim")]] : [];
  });
}

/**
 * The change that an edit makes to a file: whole lines with their numbers, and the lines around them. The result shows the
 * text that will be written. Null if the old text does not occur in the file.
 */
export function diffInFile(file: string, { before, after, all }: Omit<FileEdit, "fields">): Changes | null {
  const text = before.includes("\r") ? file : file.replaceAll("\r\n", "\n");
  const occurrences = before === "" ? [] : findOccurrences(text, before, all);
  const [first] = occurrences;
  if (first === undefined) return null;
  const regions = groupRegions(text, occurrences, before.length);
  const time = { ...compareTimeoutMs };
  const shown = regions.slice(0, maxRegions).map((region) => diffRegion(text, region, before.length, after, time));
  const left = regions.slice(maxRegions).reduce((sum, region) => sum + region.occurrences.length, 0);
  const others = all ? "" : formatLaterOccurrences(text, before, first);
  const gap: Line = [spanOf("    …", "dim")];
  const note = (line: string): Line => [spanOf(`    ${line}`, "dim")];
  return {
    lines: [
      ...shown.flatMap(({ lines }, at) => (at === 0 ? lines : [gap, ...lines])),
      ...(left > 0 ? [note(`… and ${formatNumber(left)} more places, replaced in the same way`)] : []),
      ...(others === "" ? [] : [note(`The old text also occurs in ${others}`)]),
    ],
    added: shown.reduce((sum, { added }) => sum + added, 0),
    removed: shown.reduce((sum, { removed }) => sum + removed, 0),
  };
}

/** The maximum number of regions that are shown for one edit. */
const maxRegions = 50;

function findOccurrences(text: string, searchText: string, all: boolean): readonly number[] {
  const occurrences: number[] = [];
  for (let at = text.indexOf(searchText); at !== -1; at = text.indexOf(searchText, at + searchText.length)) {
    occurrences.push(at);
    if (!all) break;
  }
  return occurrences;
}

/** Whole lines in which the text is replaced, and the offsets of the occurrences in them. */
type Region = { readonly start: number; readonly end: number; readonly occurrences: readonly number[] };

/** Occurrences whose lines or context lines touch are in one region. */
function groupRegions(text: string, occurrences: readonly number[], length: number): readonly Region[] {
  const regions: { start: number; end: number; occurrences: number[] }[] = [];
  for (const at of occurrences) {
    const start = at === 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1;
    const next = text.indexOf("\n", at + length);
    const end = next === -1 ? text.length : next;
    const last = regions.at(-1);
    if (last !== undefined && (start <= last.end || countLinesBetween(text, last.end, start) <= 2 * contextLines)) {
      last.end = Math.max(last.end, end);
      last.occurrences.push(at);
    } else regions.push({ start, end, occurrences: [at] });
  }
  return regions;
}

/** Counts the lines between two offsets, up to one more than the limit that matters. */
function countLinesBetween(text: string, from: number, to: number): number {
  let lines = 0;
  for (
    let at = text.indexOf("\n", from + 1);
    at !== -1 && at < to && lines <= 2 * contextLines;
    at = text.indexOf("\n", at + 1)
  )
    lines += 1;
  return lines;
}

function diffRegion(
  text: string,
  { start, end, occurrences }: Region,
  length: number,
  after: string,
  time: TimeBudget,
): Changes {
  const above =
    start === 0
      ? []
      : text
          .slice(0, start - 1)
          .split("\n")
          .slice(-contextLines);
  const rest = text.slice(end + 1).replace(/\n$/, "");
  const below = rest === "" ? [] : rest.split("\n", contextLines);
  const withContext = (middle: string) => [...above, middle, ...below].join("\n");
  let [replaced, from] = ["", start];
  for (const at of occurrences) {
    replaced += text.slice(from, at) + after;
    from = at + length;
  }
  const lineNumber = text.slice(0, start).split("\n").length;
  return diffTexts(
    withContext(text.slice(start, end)),
    withContext(replaced + text.slice(from, end)),
    lineNumber - above.length,
    time,
  );
}

const maxPlaces = 5;

/** `line 9`, `lines 9, 12`, or `lines 9, 12, 15, 20, 31 and more`; empty if the text does not occur again. */
function formatLaterOccurrences(text: string, searchText: string, first: number): string {
  const numbers: number[] = [];
  let [line, from] = [1, 0];
  for (
    let at = text.indexOf(searchText, first + searchText.length);
    at !== -1;
    at = text.indexOf(searchText, at + searchText.length)
  ) {
    if (numbers.length === maxPlaces) return `lines ${numbers.join(", ")} and more`;
    line += text.slice(from, at).split("\n").length - 1;
    from = at;
    numbers.push(line);
  }
  if (numbers.length === 0) return "";
  return `${numbers.length === 1 ? "line" : "lines"} ${numbers.join(", ")}`;
}
