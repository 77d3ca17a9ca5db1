/**
 * How an effect commits something before it settles.
 *
 * 1. Only the holder records: once the driver is closed, nothing is written.
 * 2. `closed` says that the work goes on elsewhere, also if this was committed while the session was given back. Work that
 *    was over in the last state of this process is `stale`.
 */
import type { Recorder } from "../work/effect-context.js";
import type { Driver } from "./driver-types.js";
import type { CreateEvents } from "./pending-commit.js";

type RecorderState = Pick<Driver, "closed" | "released" | "draining" | "flushing" | "state">;

type RecorderActions<Recorded> = {
  /** Resolves to false if the driver closes before the events are durable. */
  readonly dispatch: (driver: Recorded, events: CreateEvents) => Promise<boolean>;
  readonly letGo: (driver: Recorded, key: string) => void;
};

/** @param driver gives the driver, which is made with its recorder */
export function createRecorder<Recorded extends RecorderState>(
  driver: () => Recorded,
  { dispatch, letGo }: RecorderActions<Recorded>,
): Recorder {
  const isClosed = () => driver().closed || driver().released;
  return {
    async record(events) {
      let made = 0;
      const isDurable = await dispatch(driver(), (present) => {
        const bodies = events(present);
        made = bodies.length;
        return bodies;
      });
      if (isDurable && made === 0) return "stale";
      if (isDurable) return driver().released ? "closed" : "recorded";
      return events(driver().state).length === 0 ? "stale" : "closed";
    },
    isLost: (isOpen) => isClosed() && isOpen(driver().state),
    isDriving: (isOpen) => !isClosed() && isOpen(driver().state),
    committing: () => driver().flushing,
    isDraining: () => driver().draining !== null,
    isReleased: () => driver().released,
    detachJob: (key) => letGo(driver(), key),
  };
}
