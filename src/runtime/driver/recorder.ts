/**
 * How an effect commits something before it settles.
 *
 * 1. Only the holder records: once the driver is closed, nothing is written.
 * 2. `closed` says that the work goes on elsewhere, also if this was committed while the session was given back. Work that
 *    was over in the last state of this process is `stale`.
 */
import type { State } from "../../core/machine/state.js";
import type { Recorder } from "../work/effect-context.js";
import type { Events } from "./batch.js";

type Recording = {
  readonly isClosed: () => boolean;
  readonly isGivenBack: () => boolean;
  readonly isLeaving: () => boolean;
  /** The committed state. */
  readonly state: () => State;
  /** Resolves to false if the driver closes before the events are durable. */
  readonly dispatch: (events: Events) => Promise<boolean>;
  readonly letGo: (key: string) => void;
};

export function createRecorder({ isClosed, isGivenBack, isLeaving, state, dispatch, letGo }: Recording): Recorder {
  return {
    async record(events) {
      let made = 0;
      const isDurable = await dispatch((present) => {
        const bodies = events(present);
        made = bodies.length;
        return bodies;
      });
      if (isDurable && made === 0) return "stale";
      if (isDurable) return isGivenBack() ? "closed" : "recorded";
      return events(state()).length === 0 ? "stale" : "closed";
    },
    isLost: (isOpen) => isClosed() && isOpen(state()),
    isLeaving,
    isGivenBack,
    letGo,
  };
}
