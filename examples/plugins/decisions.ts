/**
 * The decisions in an entry of a session's log: the decision, its call, who decided, and why.
 */
import type { Json } from "pawl";
import type { Event, EventOf, Transcript } from "pawl/core";

export type Decision = {
  /** `allow`, `ask`, `deny`, `approve`, `retry`, `abort`, `end` and so on. */
  readonly decision: string;
  /**
   * `rules` (policies, hooks that block, schemas), `loop`, `time`, `hook NAME`, or the program's name for the
   * person.
   */
  readonly by: string;
  readonly runId?: string;
  readonly callKey?: string;
  readonly tool?: string;
  /** The input as it would run. */
  readonly input?: Json;
  readonly why?: string;
};

/** @param transcript the session's, after the event */
export function decisionsOf(event: Event, transcript: Transcript): readonly Decision[] {
  const runId = "runId" in event ? event.runId : transcript.run?.runId;
  const decisions = [...hookDecisions(event), ...loopDecisions(event, transcript)];
  return runId === undefined ? decisions : decisions.map((decision) => ({ runId, ...decision }));
}

/** The changes that hooks made, and the hooks that failed. */
function hookDecisions({ hooks = [] }: Event): readonly Decision[] {
  return hooks
    .filter(({ outcome }) => outcome !== "ok")
    .map(({ name, hook, outcome, message = hook }) => ({ decision: outcome, by: `hook ${name}`, why: message }));
}

function loopDecisions(event: Event, transcript: Transcript): readonly Decision[] {
  switch (event.type) {
    case "tool_decided":
      return [
        { decision: event.decision.verdict, by: "rules", ...callOf(event, transcript), ...because(whyOf(event)) },
      ];
    case "answered": {
      const note = "note" in event.answer ? event.answer.note : undefined;
      return [
        { decision: event.answer.type, by: event.by ?? "a person", ...callOf(event, transcript), ...because(note) },
      ];
    }
    case "timer_fired":
      return event.timer === "approval" ? [{ decision: "expire", by: "time", ...callOf(event, transcript) }] : [];
    case "tool_finished": {
      const call = transcript.calls.get(event.callKey);
      if (call?.decided === true && !givenUp.has(event.outcome)) return [];
      return [{ decision: event.outcome, by: "loop", ...callOf(event, transcript), ...because(call?.cause?.text) }];
    }
    case "model_failed":
      return [{ decision: event.next.type, by: "loop", why: `${event.failure.kind}: ${event.failure.message}` }];
    case "abort_requested":
      return [{ decision: "abort", by: event.by ?? "the program", ...because(event.note) }];
    case "run_finished":
      return [{ decision: "end", by: "loop", why: event.fault?.message ?? event.reason }];
    default:
      return [];
  }
}

/** Ends of calls that only the loop decided. */
const givenUp: ReadonlySet<string> = new Set(["skipped", "aborted", "interrupted"]);

function callOf({ callKey }: { readonly callKey?: string }, { calls }: Transcript) {
  const call = callKey === undefined ? undefined : calls.get(callKey);
  return call === undefined ? {} : { callKey: call.callKey, tool: call.part.name, input: call.input };
}

function whyOf({ decision }: EventOf<"tool_decided">): string | undefined {
  switch (decision.verdict) {
    case "allow":
      return undefined;
    case "ask":
      return decision.question;
    case "deny":
    case "block":
      return decision.reason;
    case "reject":
      return decision.message;
  }
}

function because(why: string | undefined): { readonly why?: string } {
  return why === undefined ? {} : { why };
}
