/**
 * The events between the steps of a session: runs, steers, compactions, restarts, late results, aborts, handoffs, redactions.
 */
import { parseCallKey } from "../../core/data/call-key.js";
import type { PublicEvent } from "../../index.js";
import { formatShortCount, toOneLine } from "./format.js";

const markTypeNames = [
  ...["run_queued", "run_started", "steered", "compacted", "restarted", "late_result", "abort_requested"],
  ...["handed_off", "content_redacted", "final"],
] as const;

export type Mark = Extract<PublicEvent, { readonly type: (typeof markTypeNames)[number] }>;

const markTypes: ReadonlySet<string> = new Set(markTypeNames);

export function isMark(event: PublicEvent): event is Mark {
  return markTypes.has(event.type);
}

/** Adds the marks among the events, in the order of the log, each once. */
export function withMarks(marks: readonly Mark[], events: readonly PublicEvent[]): readonly Mark[] {
  const newMarks = events.filter(isMark);
  if (newMarks.length === 0) return marks;
  const all = [...marks, ...newMarks].sort(comparePositions);
  return all.filter((mark, at) => {
    const previous = all[at - 1];
    return previous === undefined || comparePositions(previous, mark) !== 0;
  });
}

function comparePositions(a: Mark, b: Mark): number {
  return a.seq - b.seq || a.index - b.index;
}

/** Whether a mark has its own line. The start of a run is its heading, which also shows its end. */
export function hasOwnLine(mark: Mark): boolean {
  return mark.type !== "run_started" && mark.type !== "final" && mark.type !== "run_queued";
}

export type MarkTone = "plain" | "warn" | "bad";

/** Formats a mark on one line. `figure` is shown at its end. */
export function formatMark(mark: Mark): { readonly text: string; readonly figure: string; readonly tone: MarkTone } {
  const line = (text: string, figure = "", tone: MarkTone = "plain") => ({ text: toOneLine(text, 200), figure, tone });
  switch (mark.type) {
    case "steered":
      return line(`Steered${formatBy(mark.by)}: ${formatInput(mark.input)}`);
    case "compacted": {
      const { fault, replaced, tokensBefore, tokensAfter } = mark;
      if (fault !== undefined) return line(`Compaction failed: ${fault.message}`, "", "bad");
      const size =
        tokensBefore === undefined ? "" : `${formatShortCount(tokensBefore)} → ${formatShortCount(tokensAfter)}`;
      return line(replaced === undefined ? "Nothing was compacted" : `Compacted ${replaced.messages} messages`, size);
    }
    case "restarted":
      return line(mark.fault === undefined ? "Restarted" : `Restarted: ${mark.fault.message}`, "", "warn");
    case "late_result": {
      const { modelCallIndex, position } = parseCallKey(mark.callKey);
      return line(`Late result of ${modelCallIndex}/${position}`, mark.outcome, "warn");
    }
    case "abort_requested":
      return line(`Abort requested${formatBy(mark.by)}${mark.note === undefined ? "" : `: ${mark.note}`}`, "", "warn");
    case "handed_off":
      return line(`Handed over from ${mark.from} to ${mark.to}`);
    case "content_redacted":
      return line(
        `Content of ${mark.entries.length} entries redacted${formatBy(mark.by)}${mark.note === undefined ? "" : `: ${mark.note}`}`,
      );
    case "run_queued":
      return line(`Queued: ${formatInput(mark.input)}`);
    case "run_started":
      return line(formatInput(mark.input));
    case "final":
      return line(mark.result.text);
  }
}

function formatBy(name: string | undefined): string {
  return name === undefined ? "" : ` by ${name}`;
}

function formatInput(input: Extract<Mark, { readonly type: "steered" }>["input"]): string {
  return input
    .flatMap(({ parts }) => parts)
    .map((part) => (part.type === "text" ? part.text : `[${part.filename ?? part.mediaType}]`))
    .join(" ");
}
