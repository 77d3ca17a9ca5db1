/**
 * Handoffs: a call passes the session on to another agent.
 *
 * 1. No code runs for such a call: the machine creates its result. It does so when no other call of the step is open, so everything that
 *    the step requested belongs to the agent that requested it.
 * 2. Only the first handoff in call order counts. A stop, a limit or a done tool that comes first cancels all handoffs.
 * 3. The session changes its agent at `handed_off` and at the start of a run, and nowhere else.
 */
import type { EventOf } from "./event.js";
import type { Call, CallOutcome, CallPolicy, Preparing, RunState } from "./state.js";
import { dropHandoff, nextStep } from "./steps.js";

/** The maximum number of handoffs in a run whose limits do not set one. */
export const defaultMaxHandoffs = 10;

type HandoffCall = Extract<Call, { readonly status: "ready" }> & {
  readonly policy: CallPolicy & { readonly handoff: string };
};

/** Whether the call waits to hand the session over. */
export function isHandoff(call: Call): call is HandoffCall {
  return call.status === "ready" && call.policy.handoff !== undefined;
}

/** The outcome of a step's handoffs, once no other call of the step is open. */
export type SettledHandoffs = { readonly calls: readonly Call[]; readonly handoff?: RunState["handoff"] };

/** Settles the handoffs of a step once no other call of it is open. Undefined if there are no handoffs, or if it is too early. */
export function settleHandoffs(
  { counters, limits, seq }: RunState,
  calls: readonly Call[],
): SettledHandoffs | undefined {
  const first = calls.find(isHandoff);
  if (first === undefined || !calls.every((call) => call.status === "done" || isHandoff(call))) return undefined;
  const isExhausted = (counters.handoffs ?? 0) >= (limits.maxHandoffs ?? defaultMaxHandoffs);
  const outcomeOf = (call: Call): CallOutcome => (isExhausted ? "error" : call === first ? "ok" : "not_run");
  const settled = calls.map((call): Call => {
    if (!isHandoff(call)) return call;
    const { callKey, name, inputSeq, inputHash } = call;
    const identity = { callKey, name, inputSeq, ...(inputHash === undefined ? {} : { inputHash }) };
    return { status: "settling", outcome: outcomeOf(call), causeSeq: seq + 1, ...identity };
  });
  if (isExhausted) return { calls: settled };
  return { calls: settled, handoff: { to: first.policy.handoff, callKey: first.callKey } };
}

/** Continues the session with another agent, which starts with its own model and its own retries. */
export function applyHandedOff(state: Preparing, event: EventOf<"handed_off">): Preparing {
  const { handoff, session } = state;
  if (state.for !== "handoff" || state.stopping !== null || handoff === undefined || session === null) return state;
  if (event.callKey !== handoff.callKey || event.to !== handoff.to || event.from !== session.agent) return state;
  const { counters } = state;
  const run: RunState = {
    ...dropHandoff(state),
    session: { ...session, agent: event.to },
    fallback: 0,
    failing: null,
    counters: { ...counters, handoffs: (counters.handoffs ?? 0) + 1 },
  };
  return nextStep(run, state.purpose, event.at);
}
