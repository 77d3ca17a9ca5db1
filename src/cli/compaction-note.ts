/**
 * The line about a compaction: how much it saved, or why it failed.
 */
import type { PublicEvent } from "../index.js";
import { counted, oneLine } from "./text.js";

type Compacted = Extract<PublicEvent, { readonly type: "compacted" }>;

export function compactionNote({ runId, summary, replaced, tokensBefore, tokensAfter, fault }: Compacted): string {
  if (summary === undefined) {
    // At rest, a person asked for it.
    const what = runId === undefined ? "The conversation stays as it is" : "The conversation could not be summarised";
    return `${what}${fault === undefined ? "" : `: ${oneLine(fault.message)}`}`;
  }
  const subject = replaced === undefined ? "the conversation so far" : counted(replaced.messages, "message");
  return `Summarised ${subject} to make room${sizes(tokensBefore, tokensAfter)}.`;
}

function sizes(before: number | undefined, after: number | undefined): string {
  if (before === undefined || after === undefined) return "";
  return `: about ${before.toLocaleString("en-US")} tokens are now ${after.toLocaleString("en-US")}`;
}
