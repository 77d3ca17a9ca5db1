/**
 * One entry of the log after its commit, with what it means.
 */
import type { Entry } from "../../core/event.js";
import type { PublicEvent } from "../../core/public-event.js";
import type { State } from "../../core/state.js";

/** One entry that was committed, and what it means. `shown` counts the messages of the transcript at that point. */
export type CommittedEntry = {
  readonly entry: Entry;
  readonly events: readonly PublicEvent[];
  readonly before: State;
  readonly after: State;
  readonly shown: number;
};
