/**
 * What happens between the steps of a session: runs, steers, compactions, restarts, late results, aborts, handoffs, redactions.
 */
import type { PublicEvent } from "../../index.js";
import { oneLine, short } from "./format.js";

const types = [
  ...["run_queued", "run_started", "steered", "compacted", "restarted", "late_result", "abort_requested"],
  ...["handed_off", "content_redacted", "final"],
] as const;

export type Mark = Extract<PublicEvent, { readonly type: (typeof types)[number] }>;

const known: ReadonlySet<string> = new Set(types);

export function isMark(event: PublicEvent): event is Mark {
  return known.has(event.type);
}

/** The marks with those among the events, in the order of the log, each once. */
export function withMarks(marks: readonly Mark[], events: readonly PublicEvent[]): readonly Mark[] {
  const more = events.filter(isMark);
  if (more.length === 0) return marks;
  const all = [...marks, ...more].sort(inOrder);
  return all.filter((mark, at) => {
    const before = all[at - 1];
    return before === undefined || inOrder(before, mark) !== 0;
  });
}

function inOrder(a: Mark, b: Mark): number {
  return a.seq - b.seq || a.index - b.index;
}

/** Marks with a line of their own. What begins a run is its heading, which shows its end, too. */
export function hasLine(mark: Mark): boolean {
  return mark.type !== "run_started" && mark.type !== "final" && mark.type !== "run_queued";
}

export type MarkTone = "plain" | "warn" | "bad";

/** A mark on one line. `figure` stands at its end. */
export function markText(mark: Mark): { readonly text: string; readonly figure: string; readonly tone: MarkTone } {
  const line = (text: string, figure = "", tone: MarkTone = "plain") => ({ text: oneLine(text, 200), figure, tone });
  switch (mark.type) {
    case "steered":
      return line(`Steered${byOf(mark.by)}: ${textIn(mark.input)}`);
    case "compacted": {
      const { fault, replaced, tokensBefore, tokensAfter } = mark;
      if (fault !== undefined) return line(`Compaction failed: ${fault.message}`, "", "bad");
      const size = tokensBefore === undefined ? "" : `${short(tokensBefore)} → ${short(tokensAfter)}`;
      return line(replaced === undefined ? "Nothing was compacted" : `Compacted ${replaced.messages} messages`, size);
    }
    case "restarted":
      return line(mark.fault === undefined ? "Restarted" : `Restarted: ${mark.fault.message}`, "", "warn");
    case "late_result":
      return line(`Late result of ${mark.callKey.split("/").slice(-2).join("/")}`, mark.outcome, "warn");
    case "abort_requested":
      return line(`Abort asked for${byOf(mark.by)}${mark.note === undefined ? "" : `: ${mark.note}`}`, "", "warn");
    case "handed_off":
      return line(`Handed over from ${mark.from} to ${mark.to}`);
    case "content_redacted":
      return line(
        `Content of ${mark.entries.length} entries redacted${byOf(mark.by)}${mark.note === undefined ? "" : `: ${mark.note}`}`,
      );
    case "run_queued":
      return line(`Queued: ${textIn(mark.input)}`);
    case "run_started":
      return line(textIn(mark.input));
    case "final":
      return line(mark.result.text);
  }
}

function byOf(name: string | undefined): string {
  return name === undefined ? "" : ` by ${name}`;
}

function textIn(input: Extract<Mark, { readonly type: "steered" }>["input"]): string {
  return input
    .flatMap(({ parts }) => parts)
    .map((part) => (part.type === "text" ? part.text : `[${part.filename ?? part.mediaType}]`))
    .join(" ");
}
