/**
 * Converts a program's output to the text that a terminal would still show: without escape sequences, and without text that was
 * overwritten in its line.
 *
 * 1. All work is linear, and memory is bounded by one line of at most `maxLineBytes`. The already emitted part of a longer line
 *    stays, even if it is overwritten later.
 * 2. Output without control characters is passed on byte for byte. So are line endings, including "\r\n".
 */
import { isContinuation } from "../../core/data/text-bytes.js";

export type PlainOutput = {
  add(bytes: Uint8Array): void;
  /** The last line, as long as it has no line ending. */
  lastLine(): Uint8Array;
};

const maxLineBytes = 64 * 1024;
/** The rest of a longer sequence is treated as text, as in a terminal. */
const maxSequenceBytes = 4096;

const [backspace, newline, carriageReturn, escapeByte, bell] = [0x08, 0x0a, 0x0d, 0x1b, 0x07] as const;

/**
 * The part of an escape sequence that is expected next. `control`: ESC [ and its parameters. `string`: ESC ] and text until BEL or
 * ESC \, such as a window title. `intermediate`: ESC ( and one more character.
 */
type ParserState = "text" | "escape" | "control" | "string" | "intermediate";

/** @param emit receives the lines that can no longer change, with their line endings. It must copy the bytes that it retains. */
export function createPlainOutput(emit: (bytes: Uint8Array) => void): PlainOutput {
  let state: ParserState = "text";
  let sequence = "";
  let sequenceBytes = 0;
  const line = Buffer.alloc(maxLineBytes);
  let length = 0;
  /** Whether the cursor is at the start of the line, so that the next character overwrites it. */
  let isAtStart = false;
  /** Whether the beginning of the line was emitted, because it was too long. */
  let hasEmitted = false;

  function emitLine(): void {
    if (length > 0) emit(line.subarray(0, length));
    length = 0;
  }

  function endLine(): void {
    if (isAtStart) putByte(carriageReturn);
    putByte(newline);
    emitLine();
    isAtStart = false;
    hasEmitted = false;
  }

  function putByte(byte: number): void {
    if (length === maxLineBytes) {
      emitLine();
      hasEmitted = true;
    }
    line[length] = byte;
    length += 1;
  }

  function overwriteLine(): void {
    isAtStart = false;
    length = 0;
    if (hasEmitted) emit(Buffer.from("\n"));
    hasEmitted = false;
  }

  function removeCharacter(): void {
    let start = length - 1;
    while (start > 0 && isContinuation(line[start] ?? 0)) start -= 1;
    length = Math.max(0, start);
  }

  function handleText(byte: number): void {
    switch (byte) {
      case newline:
        endLine();
        break;
      case carriageReturn:
        isAtStart = true;
        break;
      case escapeByte:
        state = "escape";
        break;
      case backspace:
        removeCharacter();
        break;
      default:
        if (isAtStart) overwriteLine();
        putByte(byte);
    }
  }

  function handleEscape(byte: number): void {
    sequence = "";
    sequenceBytes = 0;
    if (byte === 0x5b) state = "control";
    else if ([0x5d, 0x50, 0x58, 0x5e, 0x5f].includes(byte)) state = "string";
    else if (byte >= 0x20 && byte <= 0x2f) state = "intermediate";
    else endSequence(byte >= 0x30 && byte <= 0x7e ? null : byte);
  }

  /** @param rest a byte that does not belong to the sequence */
  function endSequence(rest: number | null): void {
    state = "text";
    if (rest !== null) handleText(rest);
  }

  function handleControl(byte: number): void {
    if (byte >= 0x20 && byte <= 0x3f) {
      if (sequence.length < 8) sequence += String.fromCharCode(byte);
      return;
    }
    const isFinal = byte >= 0x40 && byte <= 0x7e;
    const code = isFinal ? `${sequence}${String.fromCharCode(byte)}` : "";
    // These sequences move to the first column, or erase the whole line.
    if (/^[01]?G$|^2K$/.test(code)) isAtStart = true;
    endSequence(isFinal ? null : byte);
  }

  function handleString(byte: number): void {
    sequenceBytes += 1;
    if (byte === escapeByte) state = "escape";
    else if (byte === bell) endSequence(null);
    else if (byte === newline || sequenceBytes > maxSequenceBytes) endSequence(byte);
  }

  const handlers: { readonly [state in ParserState]: (byte: number) => void } = {
    text: handleText,
    escape: handleEscape,
    control: handleControl,
    string: handleString,
    intermediate: (byte) => endSequence(byte >= 0x20 && byte <= 0x7e ? null : byte),
  };

  /** The fast path: whole lines without control characters are not processed byte by byte. */
  function emitPlainLines(bytes: Uint8Array): number {
    const isPlain = state === "text" && !isAtStart && !controlBytes.some((control) => bytes.includes(control));
    const end = isPlain ? bytes.lastIndexOf(newline) + 1 : 0;
    if (end === 0) return 0;
    emitLine();
    emit(bytes.subarray(0, end));
    hasEmitted = false;
    return end;
  }

  return {
    add(bytes) {
      for (let index = emitPlainLines(bytes); index < bytes.length; index += 1) handlers[state](bytes[index] ?? 0);
    },
    lastLine: () => line.subarray(0, length),
  };
}

const controlBytes = [escapeByte, carriageReturn, backspace] as const;

/** Converts a complete output. */
export function toPlainText(bytes: Uint8Array): string {
  const pieces: Uint8Array[] = [];
  const plain = createPlainOutput((piece) => void pieces.push(Buffer.from(piece)));
  plain.add(bytes);
  return Buffer.concat([...pieces, plain.lastLine()]).toString("utf8");
}
