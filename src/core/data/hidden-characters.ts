/**
 * Makes every character visible that a person might not see, or that a terminal would interpret. For text that a person
 * approves: exactly this text runs.
 */

/**
 * By Unicode property: controls, formats, surrogates, private-use and unassigned characters, spaces other than the usual
 * one, and all default-ignorable characters. Then the blank characters that Unicode counts as letters or signs. Newlines
 * and tabs are not included.
 */
const hiddenCharacters =
  /(?![\n\t ])(?:[\p{C}\p{Z}\u2800\u{13441}\u{13442}\u{16fe4}\u{1d159}]|\p{Default_Ignorable_Code_Point}|\p{Variation_Selector})/gu;

/**
 * The text with its hidden characters as `\r`, `\xNN` or `\u{N}`.
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

/** `\r`, `\xNN` or `\u{N}`. */
export function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code === 0x0d) return "\\r";
  return code <= 0xff ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
}
