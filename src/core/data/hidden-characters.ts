/**
 * Makes visible every character that a person might not see or that a terminal would interpret. For text that a person approves, because
 * exactly this text will run.
 */

/**
 * By Unicode property: controls, formats, surrogates, private-use and unassigned characters, spaces other than U+0020, and all
 * default-ignorable characters; then the blank characters that Unicode classifies as letters or symbols. Newlines and tabs are excluded.
 */
const hiddenCharacters =
  /(?![\n\t ])(?:[\p{C}\p{Z}\u2800\u{13441}\u{13442}\u{16fe4}\u{1d159}]|\p{Default_Ignorable_Code_Point}|\p{Variation_Selector})/gu;

/**
 * Replaces the hidden characters of a string with `\r`, `\xNN` or `\u{N}`.
 *
 * @example
 * ```ts
 * import { showHidden } from "pawl/core";
 *
 * const [approval] = await session.pendingApprovals();
 * if (approval !== undefined) console.log(showHidden(JSON.stringify(approval.input, null, 2))); // for the person who decides
 * ```
 */
export function showHidden(text: string): string {
  return text.replace(hiddenCharacters, escapeCharacter);
}

/** Escapes a character as `\r`, `\xNN` or `\u{N}`. */
export function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code === 0x0d) return "\\r";
  return code <= 0xff ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
}
