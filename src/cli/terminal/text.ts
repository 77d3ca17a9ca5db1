/**
 * Makes text safe to show on a terminal, and short enough for a line.
 *
 * Text from models, tools and files may be hostile: an escape sequence in it could rewrite the screen.
 */
import { escapeCharacter, showHidden } from "../../core/index.js";
import type { Json } from "../../index.js";
import { formatNumber } from "../../view/format-number.js";

/**
 * Control characters, characters that reorder or hide text, and lone surrogates. Excluded are newlines, tabs, and joiners of
 * letters and emoji.
 */
const hidden = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Escapes characters that a terminal would obey or hide. */
export function sanitize(text: string): string {
  return isPlainText(text) ? text : text.replace(hidden, escapeCharacter);
}

/** Like `sanitize`, for text that a person approves: also escapes every other character that cannot be seen. */
export const sanitizeStrictly = showHidden;

/** Latin letters, dashes, arrows, boxes, check marks and Braille: each takes one column, and none combines with another. */
const plainPattern =
  /^[\x20-\x7e\xa1-\xac\xae-\u02ff\u2010-\u2027\u2190-\u21ff\u2500-\u25cf\u2713-\u2718\u2800-\u28ff]*$/;

/** Whether text is plain, as almost all text is: no line breaks, no tabs, and nothing that a terminal would obey. */
export function isPlainText(text: string): boolean {
  return plainPattern.test(text);
}

let segmenter: Intl.Segmenter | undefined;

/** The grapheme clusters of the text. Segmenters are slow, so plain text is split without one. */
export function segmentText(text: string): Iterable<{ readonly segment: string }> {
  if (isPlainText(text)) return Array.from(text, (segment) => ({ segment }));
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return segmenter.segment(text);
}

const invisible = /^[\p{M}\p{Cf}]+$/u;
const wide =
  /^(?:\p{Emoji_Presentation}|.\ufe0f|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}])/u;

/** The columns that text occupies on a terminal. */
export function widthOf(text: string): number {
  if (isPlainText(text)) return text.length;
  let width = 0;
  for (let start = 0; start < text.length; start += maxSegmentedLength)
    for (const { segment } of segmentText(text.slice(start, start + maxSegmentedLength)))
      width += invisible.test(segment) ? 0 : wide.test(segment) ? 2 : 1;
  return width;
}

/** Node 20's segmenter takes quadratic time. In longer text, a character at a seam may count one column more. */
const maxSegmentedLength = 240;

/** Truncates a line to `columns`, never within a character. */
export function truncate(line: string, columns: number): string {
  const candidate = line.slice(0, columns * maxUnitsOfColumn);
  if (candidate.length === line.length && widthOf(line) <= columns) return line;
  let [shown, width] = ["", 0];
  for (const { segment } of segmentText(candidate)) {
    width += widthOf(segment);
    if (width > columns - 1) break;
    shown += segment;
  }
  return `${shown}…`;
}

/** UTF-16 units per column: longer text cannot fit, whatever its characters are. */
const maxUnitsOfColumn = 40;

/** Wraps text between words. A word that is longer than `columns` gets its own line. */
export function wrapWords(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  let width = 0;
  for (const word of text.split(" ")) {
    const wordWidth = widthOf(word);
    const last = lines.length - 1;
    if (last < 0 || width + 1 + wordWidth > columns) {
      lines.push(word);
      width = wordWidth;
    } else {
      lines[last] += ` ${word}`;
      width += 1 + wordWidth;
    }
  }
  return lines;
}

/** Collapses text to one line that is safe on a terminal. */
export function toOneLine(text: string): string {
  return sanitize(text.replace(/\s+/g, " ").trim());
}

/** Summarizes the input of a call: `path="src" pattern="*.ts"`. */
export function summarizeInput(input: Json, columns: number): string {
  if (typeof input !== "object" || input === null || Array.isArray(input))
    return truncate(sanitize(JSON.stringify(input)), columns);
  const values = Object.entries(input).map(([key, value]) => `${sanitize(key)}=${sanitize(JSON.stringify(value))}`);
  const maxValueColumns = values.length > 1 ? Math.max(24, Math.floor(columns * 0.6)) : columns;
  return truncate(values.map((value) => truncate(value, maxValueColumns)).join(" "), columns);
}

/** Summarizes a result: its only line, a remark in parentheses on its last line, or the number of lines. */
export function summarizeResult(result: string, isOk: boolean): string {
  const lines = result.split("\n").filter((line) => line.trim() !== "");
  const [first = "(no output)"] = lines;
  const last = lines.at(-1) ?? "";
  // The mark before the line already shows that the call failed.
  if (!isOk) return toOneLine(first.replace(/^Error: /, ""));
  if (lines.length <= 1) return toOneLine(first);
  const remark = /^\((.*)\)$/.exec(last.trim())?.[1];
  return remark === undefined ? formatCount(lines.length, "line") : toOneLine(remark);
}

/** The text before the first line break. */
export function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

const maxFailureLines = 12;

/** The reason for a failure, in full unless it is long, because a truncated reason does not say what to change. */
export function formatFailure(text: string, width: number): readonly string[] {
  const lines = text
    .replace(/(^|: )Error: /, "$1")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .slice(0, maxFailureLines + 1)
    .flatMap((line) => wrapWords(toOneLine(line), width));
  const hidden = lines.length - maxFailureLines;
  return hidden > 0 ? [...lines.slice(0, maxFailureLines), "…"] : lines;
}

/** Whether the result of the shell tool reports a command that failed: an exit code other than 0, or a signal. */
export function hasFailedCommand(result: string): boolean {
  const last = result.slice(result.lastIndexOf("\n") + 1);
  return /^\((?:exit code (?!0\b)|killed by )/.test(last);
}

/** The whole input of a call, exactly as it would run. */
export function formatInput(input: Json): string {
  if (typeof input !== "object" || input === null || Array.isArray(input))
    return sanitizeStrictly(JSON.stringify(input, null, 2));
  const lines = Object.entries(input).map(([key, value]) => {
    if (typeof value !== "string") return `${sanitizeStrictly(key)}: ${sanitizeStrictly(JSON.stringify(value))}`;
    if (!value.includes("\n")) return `${sanitizeStrictly(key)}: ${sanitizeStrictly(value)}`;
    return `${sanitizeStrictly(key)}:\n${sanitizeStrictly(value).replace(/^/gm, "  | ")}`;
  });
  return lines.length === 0 ? "(no input)" : lines.join("\n");
}

/** `40 ms`, `1.2 s`, `12 s`, `3 min 5 s`, `2 h 10 min`, `1 h`. */
export function formatDuration(ms: number): string {
  if (ms < 950) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  const [large, small] =
    minutes < 60 ? [`${minutes} min`, `${whole % 60} s`] : [`${Math.floor(minutes / 60)} h`, `${minutes % 60} min`];
  return small.startsWith("0 ") ? large : `${large} ${small}`;
}

/** `now`, `5 min`, `3 h`, `12 d`. */
export function formatAge(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}

/** `1 line`, `2 lines`, `12,000 lines`. */
export function formatCount(count: number, noun: string): string {
  return `${formatNumber(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** A line of JSON that is safe on a terminal: control characters are written as `\uXXXX`. */
export function formatJsonLine(value: unknown): string {
  const text = JSON.stringify(value).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    [...Array(character.length).keys()]
      .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`)
      .join(""),
  );
  return `${text}\n`;
}

const unitsInMs: { readonly [unit: string]: number } = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a length of time such as `90s`, `30m`, `12h` or `7d`. @returns milliseconds; null if it is invalid or 0 */
export function parseDuration(text: string): number | null {
  const [, count = "", unit = ""] = /^([1-9]\d{0,5})([smhd])$/.exec(text) ?? [];
  const ms = unitsInMs[unit];
  return ms === undefined ? null : Number(count) * ms;
}

/** Parses an amount of US dollars; null if it is invalid or 0. */
export function parseDollars(text: string): number | null {
  return /^\d{1,6}(\.\d{1,6})?$/.test(text) && Number(text) > 0 ? Number(text) : null;
}

/** Quotes a path for a shell, if that is necessary. */
export function quotePath(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

/** Joins words for a sentence: `a, b or c`. */
export function joinWords(words: readonly string[], conjunction: "and" | "or"): string {
  return [words.slice(0, -1).join(", "), ...words.slice(-1)].filter((part) => part !== "").join(` ${conjunction} `);
}
