/**
 * Renders a tool call: while it runs, as a line with the end of its output; when it has ended, as a line with a part of its output.
 */
import { fileEditIn } from "../../../core/index.js";
import type { Json } from "../../../index.js";
import { formatNumber } from "../../../view/format-number.js";
import { questionTools, todoTool } from "../../permissions/rule.js";
import { formatCallTitle } from "../../render/format-call.js";
import { formatCallDuration } from "../../render/render-calls.js";
import { type Line, lineOf, measureLine, spanOf, wrapLine } from "../../screen/line.js";
import {
  firstLine,
  formatCount,
  formatDuration,
  hasFailedCommand,
  summarizeResult,
  toOneLine,
  truncate,
  widthOf,
} from "../../terminal/text.js";
import { type Changes, diffTexts } from "./change-lines.js";

export type OpenCall = {
  readonly name: string;
  readonly input: Json;
  /** Epoch milliseconds. */
  readonly since: number;
  /** The output so far. */
  readonly output: string;
  readonly note: string;
  /** The most important part of the note, for lines with no room for all of it. */
  readonly shortNote?: string;
  readonly wasAsked: boolean;
};

export type EndedCall = {
  readonly name: string;
  readonly input: Json;
  readonly result: string;
  readonly isOk: boolean;
  readonly durationMs: number;
  /** Whether a person was asked before the call ran. */
  readonly wasAsked: boolean;
};

/** The lines of an output that stay in the history. */
const keptLines = { first: 3, last: 7 } as const;
const maxChanges = 20;
/** The maximum length of a line of output. The terminal wraps long lines. */
const maxCharacters = 2_000;
const maxPlanLines = 20;

/** Tools whose output is for the model, so one line summarizes it. */
export const readingTools: ReadonlySet<string> = new Set([
  "read_file",
  "list_files",
  "search_files",
  "read_process",
  "read_agent",
  "read_output",
  "search_output",
  "read_skill",
]);

/** The lines of a running call, at most `limit`. */
export function renderRunningCall(call: OpenCall, columns: number, limit: number, now: number): readonly Line[] {
  const durationText = ` · ${formatDuration(Math.max(0, now - call.since))}`;
  const room = columns - durationText.length - 3;
  const note = fitNote(call, room);
  const titleColumns = room - widthOf(note);
  const title = truncate(formatCallTitle(call.name, call.input, titleColumns), Math.max(1, titleColumns));
  const head: Line = [spanOf("▸ ", "cyan"), spanOf(title), spanOf(`${durationText}${note}`, "dim")];
  const lines = splitOutput(call.output);
  const outputLines = Math.max(0, limit - 1);
  if (lines.length <= outputLines) return [head, ...lines.map(renderOutputLine)];
  if (outputLines < 2) return [head];
  const kept = lines.slice(1 - outputLines);
  const hidden = lines.length - kept.length;
  return [head, lineOf(`  … ${formatCount(hidden, "line")} above`, "dim"), ...kept.map(renderOutputLine)];
}

/** The note of a running call: all of it if that leaves half of the columns to the title, otherwise its most important part. */
function fitNote({ note, shortNote }: OpenCall, columns: number): string {
  if (note === "") return "";
  const text = ` · ${toOneLine(note)}`;
  const half = Math.floor(columns / 2);
  if (widthOf(text) <= half) return text;
  if (shortNote === undefined || shortNote === "") return truncate(text, Math.max(1, half));
  return truncate(` · ${toOneLine(shortNote)}`, Math.max(1, half, columns - minTitleColumns));
}

/** Columns that a short note leaves to the title, on a narrow screen. */
const minTitleColumns = 12;

/** Renders a call that has ended. */
export function renderEndedCall(call: EndedCall, columns: number): readonly Line[] {
  const { name, input, isOk, durationMs, wasAsked } = call;
  // The other lines tell the model what to do.
  const result = isOk && questionTools.has(name) ? firstLine(call.result) : call.result;
  // The shell tool succeeded, but the command failed.
  const isSuccessful = isOk && !(name === "shell" && hasFailedCommand(result));
  const durationText = formatCallDuration(durationMs, isOk);
  const width = headWidth(columns);
  const title = formatCallTitle(name, input, Math.max(20, width - durationText.length - 2));
  const output = splitOutput(result);
  // The reason for a failure is shown in full, because a truncated reason does not say what to change.
  const isShort = output.length <= 1 || (isOk && (readingTools.has(name) || name === todoTool));
  const edit = isOk ? fileEditIn(input) : null;
  const changes = edit === null ? null : diffTexts(edit.before, edit.after, findFirstLine(result));
  const limit = isOk ? 160 : maxCharacters;
  const text = isShort && !(isOk && name === todoTool) ? truncate(summarizeResult(result, isOk), limit) : "";
  const summary = changes === null ? text : `+${changes.added} −${changes.removed}`;
  const head = wrapHead(
    [
      isSuccessful ? spanOf("✓ ", "green") : spanOf("✗ ", isOk ? "yellow" : "red"),
      spanOf(title),
      ...(summary === "" ? [] : [spanOf(` · ${summary}`, "dim")]),
    ],
    durationText,
    width,
  );
  if (name === todoTool && isOk) return [...head, ...abridge(output, maxPlanLines, 0).map(renderOutputLine)];
  if (changes !== null) return wasAsked ? head : [...head, ...limitChanges(changes)];
  return isShort ? head : [...head, ...abridge(output, keptLines.first, keptLines.last).map(renderOutputLine)];
}

function headWidth(columns: number): number {
  return Math.max(12, Math.min(100, columns - 3));
}

/** Wraps the first line of a call. Continuation lines are indented, and the duration stays in one piece. */
function wrapHead(line: Line, durationText: string, width: number): readonly Line[] {
  const rows = [...wrapLine(line, width)];
  const last = rows.pop() ?? [];
  if (durationText === "") rows.push(last);
  else if (measureLine(last) + durationText.length <= width) rows.push([...last, spanOf(durationText, "dim")]);
  else rows.push(last, [spanOf(durationText.trimStart(), "dim")]);
  const [first = [], ...others] = rows;
  return [first, ...others.map((row): Line => [spanOf("  "), ...row])];
}

/** The line of the file in which an edit began, from the tool's result. */
function findFirstLine(result: string): number | undefined {
  const number = /\(lines? (\d{1,9})[,)]/.exec(result)?.[1];
  return number === undefined ? undefined : Number(number);
}

function limitChanges({ lines }: Changes): readonly Line[] {
  if (lines.length <= maxChanges) return lines;
  return [...lines.slice(0, maxChanges), lineOf(`    … ${lines.length - maxChanges} more lines`, "dim")];
}

function splitOutput(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

function abridge(lines: readonly string[], first: number, last: number): readonly string[] {
  const end = lines.length - last;
  if (end - first <= 1) return lines;
  const left = end - first + countOmittedLines(lines.slice(first, end)) + countDiscardedLines(lines);
  return [...lines.slice(0, first), `… ${formatNumber(left)} lines left out`, ...lines.slice(end)];
}

/** Counts the lines that omission marks represent (`formatOmittedOutput` in src/context/prompts.ts). */
function countOmittedLines(lines: readonly string[]): number {
  return lines.reduce((sum, line) => {
    const [, from, to] = /^\[… left out here: lines (\d{1,15}) to (\d{1,15}) of /.exec(line) ?? [];
    return from === undefined ? sum : sum + Number(to) - Number(from);
  }, 0);
}

/** Counts the lines of a command's output that were discarded. The first or the last line of the result says so. */
function countDiscardedLines(lines: readonly string[]): number {
  const found = [lines[0], lines.at(-1)].map((line = "") =>
    /(\d{1,15}) lines? \(\d+ bytes\) of the output were not kept/.exec(line),
  );
  return Number(found.find((match) => match !== null)?.[1] ?? 0);
}

/** The first and the last lines of an output. */
export function renderOutput(text: string, first: number, last: number): readonly Line[] {
  return abridge(splitOutput(text), first, last).map(renderOutputLine);
}

/** The prefix of each line of an output. */
const outputMark = "  │ ";

/** How many columns of the conversation an output leaves free. */
export const outputIndent = outputMark.length;

function renderOutputLine(text: string): Line {
  const short = text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
  return [spanOf(outputMark, "dim"), spanOf(short, "dim")];
}
