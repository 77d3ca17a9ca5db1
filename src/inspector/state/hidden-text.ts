/**
 * Marks the characters of a text that a person might not see: control characters, bidirectional marks, unusual spaces. Text that a person
 * is asked to approve is shown with them, because exactly this text will run.
 */
import { showHidden } from "../../core/data/hidden-characters.js";

export type TextPiece = { readonly text: string; readonly isHidden: boolean };

/** Each hidden character is a separate piece, as `\r` or `\u{202e}`. */
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
