/**
 * The line about a compaction: what it came to, or why nothing changed.
 */
import type { PublicEvent } from "../index.js";
import { counted, oneLine } from "./text.js";

type Compacted = Extract<PublicEvent, { readonly type: "compacted" }>;

export function compactionNote({ summary, replaced, tokensBefore, tokensAfter, fault }: Compacted): string {
  if (summary === undefined)
    return `The conversation is long and could not be summed up${fault === undefined ? "" : `: ${oneLine(fault.message)}`}`;
  const what = replaced === undefined ? "the conversation so far" : counted(replaced.messages, "message");
  return `Summed up ${what} to make room${sizes(tokensBefore, tokensAfter)}.`;
}

function sizes(before: number | undefined, after: number | undefined): string {
  if (before === undefined || after === undefined) return "";
  return `: about ${before.toLocaleString("en-US")} tokens are now ${after.toLocaleString("en-US")}`;
}
