/**
 * The line about a compaction: how much it saved, or why it failed.
 */
import type { PublicEvent } from "../../index.js";
import { formatNumber } from "../../view/format-number.js";
import { formatCount, toOneLine } from "../terminal/text.js";

type CompactedEvent = Extract<PublicEvent, { readonly type: "compacted" }>;

export function formatCompaction({
  runId,
  summary,
  replaced,
  tokensBefore,
  tokensAfter,
  fault,
}: CompactedEvent): string {
  if (summary === undefined) {
    // Outside of a run, a person requested the compaction.
    const outcome =
      runId === undefined ? "The conversation stays as it is" : "The conversation could not be summarized";
    return `${outcome}${fault === undefined ? "" : `. ${toOneLine(fault.message)}`}`;
  }
  const subject = replaced === undefined ? "the conversation so far" : formatCount(replaced.messages, "message");
  return `Summarized ${subject} to make room${formatSizes(tokensBefore, tokensAfter)}.`;
}

function formatSizes(before: number | undefined, after: number | undefined): string {
  if (before === undefined || after === undefined) return "";
  return `: about ${formatNumber(before)} tokens are now ${formatNumber(after)}`;
}
