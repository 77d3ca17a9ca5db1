/**
 * A run that has ended but whose end is not delivered yet, to the parent session or to the `afterRun` hooks.
 */

import type { EventOf } from "./event.js";
import { dropCompaction, isCompacting } from "./requested-compaction.js";
import { isTerminal, maxRestarts, type State, type TerminalState } from "./state.js";

/**
 * Whether the run has ended, but the parent session or the `afterRun` hooks have not been notified. No other run starts before they have
 * been.
 */
export function hasPendingNotice(state: State): boolean {
  return isTerminal(state) && (state.parentNotificationPending === true || state.afterRunHooksPending === true);
}

/** In a fork of a child session, which has no parent, `parent_notified` applies but changes nothing. */
export function applyNoticeDelivered(
  state: State,
  event: EventOf<"parent_notified" | "after_run_hooks_called">,
): State {
  if (event.type === "parent_notified" && isTerminal(state) && state.session?.parent === undefined)
    return state.runId === event.runId ? { ...state } : state;
  const notice = event.type === "after_run_hooks_called" ? "afterRunHooksPending" : "parentNotificationPending";
  return isTerminal(state) && state[notice] === true && state.runId === event.runId
    ? clearNotice(state, notice)
    : state;
}

function clearNotice(
  state: TerminalState,
  notice: "parentNotificationPending" | "afterRunHooksPending",
): TerminalState {
  const { [notice]: _, ...rest } = state;
  return rest;
}

/** After several restarts, the hooks or the compaction are abandoned, because they may be what kills the process. */
export function applyRestartAtEnd(state: TerminalState, { runId }: EventOf<"restarted">): State {
  const hasHooks = state.afterRunHooksPending === true;
  if (runId !== state.runId || !(hasHooks || isCompacting(state))) return state;
  const counted = { ...state, restarts: state.restarts + 1 };
  if (counted.restarts < maxRestarts) return counted;
  return hasHooks
    ? clearNotice({ ...counted, restarts: 0 }, "afterRunHooksPending")
    : dropCompaction(counted, "crash_loop");
}
