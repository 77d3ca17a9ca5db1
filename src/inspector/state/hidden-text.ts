/**
 * A text with the characters that a person might not see marked: controls, bidirectional marks, blanks of other kinds. What
 * somebody is asked to approve is shown with them, because exactly this text runs.
 */
import { showHidden } from "../../core/data/hidden-characters.js";

export type TextPiece = { readonly text: string; readonly isHidden: boolean };

/** A hidden character is a piece of its own, as `\r` or `\u{202e}`. */
export function splitHidden(text: string): readonly TextPiece[] {
  const pieces: TextPiece[] = [];
  let plain = "";
  const add = (piece: TextPiece) => {
    if (plain !== "") pieces.push({ text: plain, isHidden: false });
    plain = "";
    pieces.push(piece);
  };
  for (const line of text.split(/(?<=\n)/)) {
    if (showHidden(line) === line) {
      plain += line;
      continue;
    }
    for (const character of line) {
      const escaped = showHidden(character);
      if (escaped === character) plain += character;
      else add({ text: escaped, isHidden: true });
    }
  }
  if (plain !== "") pieces.push({ text: plain, isHidden: false });
  return pieces;
}

export function countHidden(pieces: readonly TextPiece[]): number {
  return pieces.filter(({ isHidden }) => isHidden).length;
}
