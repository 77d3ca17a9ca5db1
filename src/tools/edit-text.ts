/**
 * The work of `edit_file` on a text of any size: find the old text, replace it, and say why it was not found. All of it
 * is linear and done in pieces.
 */
import { findText, prepareWanted } from "./find-text.js";
import { type Pace, pieceSize } from "./pace.js";

export type Occurrences = {
  /** Occurrences that do not overlap. */
  readonly count: number;
  /** The lines on which the first ten of them begin. */
  readonly lines: readonly number[];
};

export async function findOccurrences(text: string, oldText: string, pace: Pace): Promise<Occurrences> {
  const lines: number[] = [];
  let count = 0;
  await findText(text, prepareWanted(oldText), pace, {
    onMatch: ({ line }) => {
      count += 1;
      if (lines.length < 10) lines.push(line);
      return "after";
    },
  });
  return { count, lines };
}

export async function contains(text: string, part: string, pace: Pace): Promise<boolean> {
  let isFound = false;
  await findText(text, prepareWanted(part), pace, {
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
  let held = 0;
  await findText(text, prepareWanted(oldText), pace, {
    onMatch: ({ at }) => {
      parts.push(text.slice(from, at), newText);
      from = at + oldText.length;
      // Joined now and then, so that a million small parts are never held at once.
      held += newText.length;
      if (parts.length >= 2 * mostParts || held > pieceSize) {
        joined.push(parts.join(""));
        [parts, held] = [[], 0];
      }
      return "after";
    },
  });
  return joined.join("") + parts.join("") + text.slice(from);
}

const mostParts = 1000;

/** What of a text file is kept when its content is replaced: a model writes neither a byte order mark nor `\r\n`. */
export type TextForm = { readonly hasMark: boolean; readonly hasCarriageReturns: boolean };

export const byteOrderMark = "\ufeff";

/** @returns whether most lines of the text end in `\r\n`, and whether it begins with a byte order mark */
export async function formOf(text: string, pace: Pace): Promise<TextForm> {
  let [plain, returns] = [0, 0];
  for (let from = 0; from < text.length; from += pieceSize) {
    const to = Math.min(text.length, from + pieceSize);
    for (let at = from; at < to; at += 1) {
      if (text.charCodeAt(at) !== 10) continue;
      if (text.charCodeAt(at - 1) === 13) returns += 1;
      else plain += 1;
    }
    await pace();
  }
  return { hasMark: text.startsWith(byteOrderMark), hasCarriageReturns: returns > plain };
}

/** What was added to a content so that the file keeps its form, in words. */
export function formNote({ hasMark, hasCarriageReturns }: TextForm): string {
  if (!hasMark && !hasCarriageReturns) return "";
  const parts = [...(hasMark ? ["byte order mark"] : []), ...(hasCarriageReturns ? ["CRLF line ends"] : [])];
  return `; its ${parts.join(" and ")} ${hasCarriageReturns ? "are" : "is"} kept`;
}

/** Makes every line end a carriage return and a line feed. */
export async function withCarriageReturns(text: string, pace: Pace): Promise<string> {
  return (await changePieces(text, pace, (piece) => piece.replace(/\r?\n/g, "\r\n"))).join("");
}

/** Whether the old text occurs if any run of white space counts as one space. */
export async function occursWithOtherSpaces(text: string, oldText: string, pace: Pace): Promise<boolean> {
  const wanted = (await squeeze(oldText, pace)).trim();
  return wanted !== "" && (await contains(await squeeze(text, pace), wanted, pace));
}

async function squeeze(text: string, pace: Pace): Promise<string> {
  const pieces = await changePieces(text, pace, (piece) => piece.replace(/\s+/g, " "));
  // A run of white space may lie across pieces.
  return pieces
    .map((piece, index) =>
      pieces[index - 1]?.endsWith(" ") === true && piece.startsWith(" ") ? piece.slice(1) : piece,
    )
    .join("");
}

/** Changes a text piece by piece. A piece never ends between a carriage return and its line feed. */
async function changePieces(text: string, pace: Pace, change: (piece: string) => string): Promise<string[]> {
  const pieces: string[] = [];
  for (let from = 0; from < text.length; ) {
    const end = from + pieceSize;
    const to = text[end - 1] === "\r" ? end - 1 : end;
    pieces.push(change(text.slice(from, to)));
    from = to;
    await pace();
  }
  return pieces;
}
