/**
 * The text of an answer that was cut off while it was streamed (FIN-10).
 *
 * Only text is kept. Half a call cannot be run, and half a thought has no signature that a provider would take back.
 */

import { untrimmedTextOf } from "../../core/data/message.js";
import { byteLength } from "../../platform/bytes.js";
import { messageOf } from "./assembled-message.js";
import type { MessageAssembly } from "./message-assembly.js";

/** An entry of the log has a bound. A UTF-16 unit takes at most six bytes as JSON. */
const mostBytes = 1_000_000;
const charactersThatFit = Math.floor(mostBytes / 6);

/** The text parts so far, joined as they came; undefined if they are blank. */
export function cutOffText(assembly: MessageAssembly): { readonly text: string } | undefined {
  const whole = untrimmedTextOf(messageOf(assembly));
  const fits = whole.length <= charactersThatFit || byteLength(JSON.stringify(whole)) <= mostBytes;
  const text = withoutHalfCharacter(fits ? whole : whole.slice(0, charactersThatFit));
  return text.trim() === "" ? undefined : { text };
}

/** Providers refuse a text that ends with the first half of a surrogate pair. */
function withoutHalfCharacter(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? text.slice(0, -1) : text;
}
