/**
 * Keeps the text of an answer that was cut off while it was streamed (FIN-10).
 *
 * Only text is kept. An incomplete call cannot run, and incomplete reasoning has no signature, so a provider would reject it.
 */

import { untrimmedTextOf } from "../../core/data/message.js";
import { byteLength } from "../../platform/bytes.js";
import { toMessage } from "./assembled-message.js";
import type { MessageAssembly } from "./message-assembly.js";

/** The size of a log entry is limited. A UTF-16 code unit takes at most six bytes as JSON. */
const maxBytes = 1_000_000;
const maxSafeCharacters = Math.floor(maxBytes / 6);

/** The text parts so far, joined without separators; undefined if blank. */
export function cutOffText(assembly: MessageAssembly): { readonly text: string } | undefined {
  const whole = untrimmedTextOf(toMessage(assembly));
  const fits = whole.length <= maxSafeCharacters || byteLength(JSON.stringify(whole)) <= maxBytes;
  const text = trimHalfCharacter(fits ? whole : whole.slice(0, maxSafeCharacters));
  return text.trim() === "" ? undefined : { text };
}

/** Providers reject text that ends with the first half of a surrogate pair. */
function trimHalfCharacter(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? text.slice(0, -1) : text;
}
