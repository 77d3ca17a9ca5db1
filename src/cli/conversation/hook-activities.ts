/**
 * The hook commands that are running, for the activity line of the view.
 */
import { truncate } from "../terminal/text.js";
import type { Activity } from "./view/fold.js";
import type { ViewState } from "./view/view-state.js";

export type HookActivities = {
  /** Shows the command that started first, instead of the view's activity. */
  readonly showIn: (state: ViewState) => ViewState;
  /** @returns a function to call when the command has ended */
  readonly start: (name: string) => () => void;
};

/** Leaves room for the time and for `esc stops` on a screen of 40 columns. */
const maxHookName = 24;

export function createHookActivities(onChange: () => void): HookActivities {
  /** Agents that run in parallel may each have a command. */
  const running = new Set<Activity>();
  return {
    showIn(state) {
      const [first] = running;
      return first === undefined ? state : { ...state, activity: first };
    },
    start(name) {
      const command = { name: truncate(`hook ${name}`, maxHookName), since: Date.now() };
      running.add(command);
      onChange();
      return () => {
        running.delete(command);
        onChange();
      };
    },
  };
}
