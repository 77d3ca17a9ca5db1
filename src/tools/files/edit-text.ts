/**
 * The text operations of `edit_file`: finds the old text, replaces it, and explains why it was not found. All take linear time and
 * work in pieces.
 */
import { compileNeedle, findText } from "../lib/literal-search.js";
import { type Pace, pieceSize } from "../lib/pace.js";

export type Occurrences = {
  /** The number of non-overlapping occurrences. */
  readonly count: number;
  /** The line numbers of the first ten occurrences. */
  readonly lines: readonly number[];
};

export async function findOccurrences(text: string, oldText: string, pace: Pace): Promise<Occurrences> {
  const lines: number[] = [];
  let count = 0;
  await findText(text, compileNeedle(oldText), pace, {
    onMatch: ({ line }) => {
      count += 1;
      if (lines.length < 10) lines.push(line);
      return "after";
    },
  });
  return { count, lines };
}

export async function containsText(text: string, part: string, pace: Pace): Promise<boolean> {
  let isFound = false;
  await findText(text, compileNeedle(part), pace, {
    onMatch: () => {
      isFound = true;
      return "stop";
    },
  });
  return isFound;
}

/** Replaces all occurrences. The caller has bounded the size of the result. */
export async function replaceOccurrences(text: string, oldText: string, newText: string, pace: Pace): Promise<string> {
  const joined: string[] = [];
  let parts: string[] = [];
  let from = 0;
  let bufferedLength = 0;
  await findText(text, compileNeedle(oldText), pace, {
    onMatch: ({ at }) => {
      parts.push(text.slice(from, at), newText);
      from = at + oldText.length;
      // Joined now and then, so that a million small parts are never in memory at once.
      bufferedLength += newText.length;
      if (parts.length >= 2 * maxParts || bufferedLength > pieceSize) {
        joined.push(parts.join(""));
        [parts, bufferedLength] = [[], 0];
      }
      return "after";
    },
  });
  return joined.join("") + parts.join("") + text.slice(from);
}

const maxParts = 1000;

/** The form of a text file, which is preserved when its content is replaced: a model writes neither a byte order mark nor `\r\n`. */
export type TextForm = { readonly hasByteOrderMark: boolean; readonly hasCarriageReturns: boolean };

export const byteOrderMark = "\ufeff";

/** @returns whether most lines of the text end in `\r\n`, and whether it begins with a byte order mark */
export async function detectTextForm(text: string, pace: Pace): Promise<TextForm> {
  let [lfCount, crlfCount] = [0, 0];
  for (let from = 0; from < text.length; from += pieceSize) {
    const to = Math.min(text.length, from + pieceSize);
    for (let at = from; at < to; at += 1) {
      if (text.charCodeAt(at) !== 10) continue;
      if (text.charCodeAt(at - 1) === 13) crlfCount += 1;
      else lfCount += 1;
    }
    await pace();
  }
  return { hasByteOrderMark: text.startsWith(byteOrderMark), hasCarriageReturns: crlfCount > lfCount };
}

/** Describes what was added to the content to preserve the file's form. */
export function describeKeptForm({ hasByteOrderMark, hasCarriageReturns }: TextForm): string {
  if (!hasByteOrderMark && !hasCarriageReturns) return "";
  const parts = [
    ...(hasByteOrderMark ? ["byte order mark"] : []),
    ...(hasCarriageReturns ? ["CRLF line endings"] : []),
  ];
  return `; its ${parts.join(" and ")} ${hasCarriageReturns ? "are" : "is"} kept`;
}

/** Converts every line ending to CRLF. */
export async function convertToCrlf(text: string, pace: Pace): Promise<string> {
  return (await mapPieces(text, pace, (piece) => piece.replace(/\r?\n/g, "\r\n"))).join("");
}

/** Whether the old text occurs if every run of white space counts as one space. */
export async function occursIgnoringWhitespace(text: string, oldText: string, pace: Pace): Promise<boolean> {
  const needle = (await collapseWhitespace(oldText, pace)).trim();
  return needle !== "" && (await containsText(await collapseWhitespace(text, pace), needle, pace));
}

async function collapseWhitespace(text: string, pace: Pace): Promise<string> {
  const pieces = await mapPieces(text, pace, (piece) => piece.replace(/\s+/g, " "));
  // A run of white space may span pieces.
  return pieces
    .map((piece, index) =>
      pieces[index - 1]?.endsWith(" ") === true && piece.startsWith(" ") ? piece.slice(1) : piece,
    )
    .join("");
}

/** Maps a text piece by piece. A piece never ends between a carriage return and a line feed. */
async function mapPieces(text: string, pace: Pace, mapPiece: (piece: string) => string): Promise<string[]> {
  const pieces: string[] = [];
  for (let from = 0; from < text.length; ) {
    const end = from + pieceSize;
    const to = text[end - 1] === "\r" ? end - 1 : end;
    pieces.push(mapPiece(text.slice(from, to)));
    from = to;
    await pace();
  }
  return pieces;
}
