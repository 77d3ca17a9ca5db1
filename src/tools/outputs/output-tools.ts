/**
 * The tools for truncated outputs: `read_output` and `search_output`.
 *
 * An output's number is the number of its entry in the session's own log, so a model cannot name another session's output. The
 * results of these tools stay within the limit of any output, so they are never truncated themselves.
 */

import { countLines, decodeText, findCharacterStart } from "../../core/data/text-bytes.js";
import { byteLength } from "../../platform/bytes.js";
import type { WholeOutput } from "../../ports/services.js";
import type { Tool, ToolContext } from "../../ports/tool.js";
import { assertMaxLength, maxSearchCharacters } from "../lib/input-bounds.js";
import { countLineEnds, decodeInPieces, findLineStartInBytes } from "../lib/long-bytes.js";
import { createPace, type Pace } from "../lib/pace.js";
import { formatHexDump } from "./hex-dump.js";
import { searchOutput } from "./search-output.js";

type ReadInput = {
  readonly output: number;
  readonly fromLine?: number;
  readonly toLine?: number;
  readonly fromByte?: number;
  readonly toByte?: number;
};

type SearchInput = {
  readonly output: number;
  readonly text: string;
  readonly ignoreCase?: boolean;
  readonly fromByte?: number;
  readonly limit?: number;
};

/** Bytes reserved for the first line of a page, which describes the page and how to continue. */
const frameBytes = 1_000;

/** The maximum size of a page as JSON, in bytes, because the size of a log entry is limited. */
const maxPageJsonBytes = 800_000;

const outputNumberSchema = {
  type: "integer",
  minimum: 1,
  description: "The number in the note on the truncated output.",
} as const;
const byteNumberSchema = { type: "integer", minimum: 0 } as const;
const lineNumberSchema = { type: "integer", minimum: 1 } as const;

/** @param maxBytes the maximum number of bytes of an output that a model sees */
export function createOutputTools(maxBytes: number): readonly [Tool<ReadInput, string>, Tool<SearchInput, string>] {
  const maxTextBytes = Math.max(maxBytes, 4 * frameBytes) - frameBytes;
  return [
    {
      name: "read_output",
      lenientInput: true,
      description:
        "Reads more of a truncated tool output: from a line or a byte on, as much as fits. The first line of the result describes the excerpt, and how to continue.",
      input: {
        type: "object",
        properties: {
          output: outputNumberSchema,
          fromLine: lineNumberSchema,
          toLine: lineNumberSchema,
          fromByte: byteNumberSchema,
          toByte: { ...byteNumberSchema, description: "Exclusive." },
        },
        required: ["output"],
        additionalProperties: false,
      },
      readOnly: true,
      maxOutputBytes: maxTextBytes + frameBytes,
      execute: async (input, context) =>
        readPage(input, await loadOutput(input.output, context), maxTextBytes, createPace(context.signal)),
    },
    {
      name: "search_output",
      lenientInput: true,
      description:
        "Searches a truncated tool output in full for literal text. Returns the matching lines with their numbers.",
      input: {
        type: "object",
        properties: {
          output: outputNumberSchema,
          text: { type: "string", minLength: 1, maxLength: maxSearchCharacters, description: "A part of one line." },
          ignoreCase: { type: "boolean" },
          fromByte: { ...byteNumberSchema, description: "Where to continue." },
          limit: {
            type: "integer",
            minimum: 1,
            maximum: 1_000,
            description: "The maximum number of matches. Default 100.",
          },
        },
        required: ["output", "text"],
        additionalProperties: false,
      },
      readOnly: true,
      maxOutputBytes: maxTextBytes + frameBytes,
      execute: async (input, context) => {
        assertMaxLength("The text", input.text, maxSearchCharacters);
        const { bytes, mediaType } = await loadOutput(input.output, context);
        if (mediaType !== null)
          throw new Error(`Output ${input.output} is ${mediaType}, not text. Read it with read_output.`);
        return await searchOutput(bytes, { limit: 100, ...input, maxTextBytes }, createPace(context.signal));
      },
    },
  ];
}

async function loadOutput(output: number, { services, sessionId }: ToolContext): Promise<WholeOutput> {
  const whole = await services.output?.read?.(sessionId, output);
  if (whole != null) return whole;
  throw new Error(`This session has no output ${output}. Use the number in the note on a truncated output.`);
}

async function readPage(
  input: ReadInput,
  { bytes, mediaType }: WholeOutput,
  maxTextBytes: number,
  pace: Pace,
): Promise<string> {
  if (mediaType !== null) return readBinaryPage(input, bytes, mediaType, maxTextBytes);
  const { fromLine, toLine, fromByte, toByte } = input;
  const isByLine = fromByte === undefined && toByte === undefined;
  const from = isByLine
    ? await findLineStartInBytes(bytes, fromLine ?? 1, pace)
    : findCharacterStart(bytes, fromByte ?? 0);
  if (from >= bytes.length && bytes.length > 0)
    throw new Error(
      `Output ${input.output} has only ${bytes.length} bytes in ${await countLinesFrom(bytes, 0, pace)} lines. Read from an earlier position.`,
    );
  const lineEnd = toLine === undefined ? bytes.length : await findLineStartInBytes(bytes, toLine + 1, pace);
  const requestedEnd = isByLine ? lineEnd : (toByte ?? bytes.length);
  const to = findPageEnd(bytes, from, Math.min(requestedEnd, bytes.length), { maxTextBytes, isByLine });
  const text = await decodeInPieces(bytes.subarray(from, to), decodeText, pace);
  // A control character takes six bytes as JSON.
  if (text.length * 6 > maxPageJsonBytes && byteLength(JSON.stringify(text)) > maxPageJsonBytes)
    return await readPage(input, { bytes, mediaType }, Math.floor(maxTextBytes / 6), pace);
  return `(output ${input.output}, ${await describePage(bytes, { from, to, isByLine }, pace)})\n${text}`;
}

const newline = 10;

/** The number of lines from a byte on. A last line without a line ending also counts. */
async function countLinesFrom(bytes: Uint8Array, from: number, pace: Pace): Promise<number> {
  return from >= bytes.length ? 0 : 1 + (await countLineEnds(bytes, from, bytes.length - 1, pace));
}

type PageRange = { readonly from: number; readonly to: number; readonly isByLine: boolean };

/** Describes a page for the model: its range, the total size, and how to continue. */
async function describePage(bytes: Uint8Array, { from, to, isByLine }: PageRange, pace: Pace): Promise<string> {
  const first = 1 + (await countLineEnds(bytes, 0, from, pace));
  const last = first + Math.max(1, countLines(bytes.subarray(from, to))) - 1;
  const isAtLine = bytes[to - 1] === newline;
  const rest = await countLinesFrom(bytes, to, pace);
  const lines = last + (isAtLine ? rest : Math.max(0, rest - 1));
  const next = isByLine && isAtLine ? `fromLine ${last + 1}` : `fromByte ${to}`;
  const more = to >= bytes.length ? "the end" : `continue with ${next}`;
  return `lines ${first} to ${last} of ${lines}, bytes ${from} to ${to} of ${bytes.length}; ${more}`;
}

type PageBounds = { readonly maxTextBytes: number; readonly isByLine: boolean };

/**
 * Finds the end of a page. By lines, a page ends after a whole line if one fits. Every page ends after a whole character, and
 * contains at least one.
 */
function findPageEnd(
  bytes: Uint8Array,
  from: number,
  requestedEnd: number,
  { maxTextBytes, isByLine }: PageBounds,
): number {
  const end = Math.max(from, Math.min(requestedEnd, from + maxTextBytes));
  if (end === bytes.length) return end;
  const line = isByLine && end < requestedEnd ? bytes.lastIndexOf(newline, end - 1) + 1 : 0;
  if (line > from) return line;
  const whole = findCharacterStart(bytes, end);
  return whole > from ? whole : Math.min(bytes.length, end + 4);
}

function readBinaryPage(input: ReadInput, bytes: Uint8Array, mediaType: string, maxTextBytes: number): string {
  const from = input.fromByte ?? 0;
  if (from >= bytes.length && bytes.length > 0)
    throw new Error(`Output ${input.output} has only ${bytes.length} bytes. Read from an earlier position.`);
  const { text, to } = formatHexDump(bytes, from, Math.min(input.toByte ?? bytes.length, bytes.length), maxTextBytes);
  const next = to >= bytes.length ? "the end" : `continue with fromByte ${to}`;
  return `(output ${input.output}, ${mediaType}, bytes ${from} to ${to} of ${bytes.length} bytes; ${next})\n${text}`;
}
