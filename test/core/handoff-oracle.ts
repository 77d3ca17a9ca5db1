/**
 * What must hold of handoffs: which call hands over, when, and what becomes of the others.
 */
import { type Call, type Event, hasCalls, type State } from "../../src/core/index.js";
import { check } from "./check.js";
import type { Session } from "./session.js";

/** Watches the entries of one session. */
export function createHandoffWatch({ transcript }: Session) {
  /** The agent that each call of the step would hand over to, in the order of the calls; and how the call ended. */
  const handoffCalls = new Map<string, { readonly to: string; outcome?: string }>();
  const open = new Set<string>();
  let agent = "";
  let handoffs = 0;
  let maxHandoffs = 10;
  const queuedAgents = new Map<number, string>();

  function observe(event: Event, before: State, after: State): void {
    switch (event.type) {
      case "session_created":
        agent = event.agent;
        break;
      case "run_queued":
        if (event.options?.agent !== undefined) queuedAgents.set(after.seq, event.options.agent);
        break;
      case "run_started":
        agent = event.options?.agent ?? queuedAgents.get(event.queuedSeq ?? 0) ?? agent;
        handoffs = 0;
        maxHandoffs = event.limits.maxHandoffs ?? 10;
        break;
      case "model_finished":
        handoffCalls.clear();
        open.clear();
        if (hasCalls(after)) for (const call of after.calls) open.add(call.callKey);
        break;
      case "tool_decided":
        handoffCalls.delete(event.callKey);
        if ("policy" in event.decision && event.decision.policy.handoff !== undefined)
          handoffCalls.set(event.callKey, { to: event.decision.policy.handoff });
        break;
      case "tool_finished": {
        open.delete(event.callKey);
        const handoff = handoffCalls.get(event.callKey);
        if (handoff !== undefined) handoff.outcome = event.outcome;
        if (handoff !== undefined && event.outcome === "ok" && event.causeSeq !== undefined)
          check(
            [...open].every((key) => handoffCalls.has(key)),
            "a handoff is decided while another call of its step is open",
          );
        break;
      }
      case "handed_off": {
        check(open.size === 0, "handed over before all calls of the step were done");
        const order = [...handoffCalls].sort(([a], [b]) => Number(a.split("/").at(-1)) - Number(b.split("/").at(-1)));
        const first = order.find(([, { outcome }]) => outcome === "ok" || outcome === "not_run");
        check(first?.[0] === event.callKey && first[1].outcome === "ok", "a later handoff of the step counts");
        check(first[1].to === event.to && agent === event.from, "handed over to or by another agent");
        check(handoffs < maxHandoffs, "handed over more often than allowed");
        handoffs += 1;
        agent = event.to;
        break;
      }
      default:
        break;
    }
    if (event.type === "migrated") return;
    check((after.session?.agent ?? "") === agent, "the session has another agent");
    if (after.status === "idle") return;
    check((after.counters.handoffs ?? 0) === handoffs, "handoffs are counted differently");
    if (event.type === "handed_off") {
      check(after.fallback === 0 && after.failing === null, "an agent begins with the failures of another");
      // The next run may have begun already, in the same commit.
      const { systemPrompt, activeTools, toolChoice } =
        transcript.run?.runId === event.runId ? transcript.run.options : {};
      check(
        [systemPrompt, activeTools, toolChoice].every((one) => one === undefined),
        "what a run overrides goes over",
      );
      check(before.status === "preparing" && before.for === "handoff", "handed over from nowhere");
    }
  }

  return { observe };
}

/** A handoff waits until nothing else of its step is open. */
export function isWaitingHandoff(call: Call): boolean {
  return call.status === "ready" && call.policy.handoff !== undefined;
}
