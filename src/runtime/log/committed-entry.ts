/**
 * A committed entry of the log, with its public events and states.
 */
import type { Entry } from "../../core/machine/event.js";
import type { State } from "../../core/machine/state.js";
import type { PublicEvent } from "../../core/view/public-event.js";

/** `before` and `after` are the states around the entry. `shown` counts the transcript's messages after the entry. */
export type CommittedEntry = {
  readonly entry: Entry;
  readonly events: readonly PublicEvent[];
  readonly before: State;
  readonly after: State;
  readonly shown: number;
};
