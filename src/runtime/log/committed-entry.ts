/**
 * One entry of the log after its commit, with what it means.
 */
import type { Entry } from "../../core/machine/event.js";
import type { State } from "../../core/machine/state.js";
import type { PublicEvent } from "../../core/view/public-event.js";

/** One entry that was committed, and what it means. `shown` counts the messages of the transcript at that point. */
export type CommittedEntry = {
  readonly entry: Entry;
  readonly events: readonly PublicEvent[];
  readonly before: State;
  readonly after: State;
  readonly shown: number;
};
