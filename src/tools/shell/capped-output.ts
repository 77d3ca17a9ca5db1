/**
 * Collects the output of a process in bounded memory, as a terminal would show it (plain-output.ts). Only the beginning and the end
 * are retained.
 */
import { isContinuation } from "../../core/data/text-bytes.js";
import { createPlainOutput } from "./plain-output.js";

export type CappedOutput = {
  add(bytes: Uint8Array): void;
  /** The beginning and the end, with a note on how much is omitted in between. Invalid UTF-8 becomes U+FFFD. */
  text(): string;
  /** How much is omitted, such as `812 lines (30211 bytes)`; null if nothing is omitted. */
  describeOmitted(): string | null;
};

/** @param maxBytes half for the beginning, half for the end; memory use is at most twice this size, plus one line */
export function createCappedOutput(maxBytes: number): CappedOutput {
  const half = Math.max(1, Math.floor(maxBytes / 2));
  const head: Uint8Array[] = [];
  let tail: Uint8Array[] = [];
  let [headBytes, tailBytes, total, lines] = [0, 0, 0, 0];
  const plain = createPlainOutput(append);

  function append(bytes: Uint8Array): void {
    total += bytes.length;
    lines += countNewlines(bytes);
    const toHead = bytes.subarray(0, half - headBytes);
    if (toHead.length > 0) head.push(Buffer.from(toHead));
    headBytes += toHead.length;
    if (toHead.length < bytes.length) addToTail(bytes.subarray(toHead.length));
  }

  function addToTail(bytes: Uint8Array): void {
    tail.push(Buffer.from(bytes));
    tailBytes += bytes.length;
    if (tailBytes < 2 * half) return;
    const joined = Buffer.concat(tail);
    tail = [Buffer.from(joined.subarray(joined.length - half))];
    tailBytes = half;
  }

  function split() {
    const lastLine = plain.lastLine();
    const beginning = Buffer.concat([...head, lastLine.subarray(0, half - headBytes)]);
    const joined = Buffer.concat([...tail, lastLine.subarray(half - headBytes)]);
    const end = joined.subarray(Math.max(0, joined.length - half));
    const omittedBytes = total + lastLine.length - beginning.length - end.length;
    const omittedLines = lines - countNewlines(beginning) - countNewlines(end);
    return { beginning, end, omittedBytes, omittedLines };
  }

  return {
    add: plain.add,
    text() {
      const { beginning, end, ...omitted } = split();
      if (omitted.omittedBytes === 0) return Buffer.concat([beginning, end]).toString("utf8");
      return `${trimCutEnd(beginning).toString("utf8")}\n[… ${formatOmitted(omitted)} left out …]\n${trimCutStart(end).toString("utf8")}`;
    },
    describeOmitted() {
      const omitted = split();
      return omitted.omittedBytes === 0 ? null : formatOmitted(omitted);
    },
  };
}

type Omitted = { readonly omittedBytes: number; readonly omittedLines: number };

function formatOmitted({ omittedBytes, omittedLines }: Omitted): string {
  return omittedLines === 0 ? `${omittedBytes} bytes` : `${omittedLines} lines (${omittedBytes} bytes)`;
}

function countNewlines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(newline); at !== -1; at = bytes.indexOf(newline, at + 1)) count += 1;
  return count;
}

const newline = 10;

/** Drops a trailing character that was split by the cut. */
function trimCutEnd(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isContinuation(byte)) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return back < length ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

function trimCutStart(bytes: Buffer): Buffer {
  let start = 0;
  while (start < 3 && isContinuation(bytes[start] ?? 0)) start += 1;
  return bytes.subarray(start);
}
