/**
 * A run that has ended while somebody is still to be told: the session that asked for it, or the hooks that come after it.
 */
import type { EventOf } from "./event.js";
import { isTerminal, maxLives, type State, type TerminalState } from "./state.js";

/** The run has ended, and somebody is still to be told: the session that asked for it, or hooks. Nothing else starts before. */
export function owesNotice(state: State): boolean {
  return isTerminal(state) && (state.notifyParent === true || state.leaving === true);
}

export function told(state: State, event: EventOf<"parent_notified" | "run_left">): State {
  const debt = event.type === "run_left" ? "leaving" : "notifyParent";
  return isTerminal(state) && state[debt] === true && state.runId === event.runId ? withoutDebt(state, debt) : state;
}

function withoutDebt(state: TerminalState, debt: "notifyParent" | "leaving"): TerminalState {
  const { [debt]: _, ...rest } = state;
  return rest;
}

/** Hooks that keep killing their process are not called for ever. */
export function restartedAtEnd(state: TerminalState, { runId }: EventOf<"restarted">): State {
  if (state.leaving !== true || runId !== state.runId) return state;
  const lives = state.lives + 1;
  return lives >= maxLives ? withoutDebt({ ...state, lives }, "leaving") : { ...state, lives };
}
