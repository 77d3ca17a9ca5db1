/**
 * Lets an effect commit events before it settles.
 *
 * 1. Only the holder records: once the driver is closed, nothing is written.
 * 2. `closed` means that the work continues elsewhere, even if the events were committed while the session was being
 *    released. Work that was over in the last state of this process is `stale`.
 */
import type { Recorder } from "../work/effect-context.js";
import type { Driver } from "./driver-types.js";
import type { CreateEvents } from "./pending-commit.js";

type RecorderState = Pick<Driver, "closed" | "released" | "draining" | "onDraining" | "flushing" | "state">;

type RecorderActions<Recorded> = {
  /** Resolves to false if the driver closes before the events are durable. */
  readonly dispatch: (driver: Recorded, events: CreateEvents) => Promise<boolean>;
  readonly detachJob: (driver: Recorded, key: string) => void;
};

/** @param driver returns the driver, which is created with its recorder */
export function createRecorder<Recorded extends RecorderState>(
  driver: () => Recorded,
  { dispatch, detachJob }: RecorderActions<Recorded>,
): Recorder {
  const isClosed = () => driver().closed || driver().released;
  return {
    async record(events) {
      let eventCount = 0;
      const isDurable = await dispatch(driver(), (current) => {
        const bodies = events(current);
        eventCount = bodies.length;
        return bodies;
      });
      if (isDurable && eventCount === 0) return "stale";
      if (isDurable) return driver().released ? "closed" : "recorded";
      return events(driver().state).length === 0 ? "stale" : "closed";
    },
    isLost: (isOpen) => isClosed() && isOpen(driver().state),
    isDriving: (isOpen) => !isClosed() && isOpen(driver().state),
    committing: () => driver().flushing,
    isDraining: () => driver().draining !== null,
    onDraining(listener) {
      if (driver().draining !== null) listener();
      driver().onDraining ??= new Set();
      const listeners = driver().onDraining;
      listeners?.add(listener);
      return () => void listeners?.delete(listener);
    },
    isReleased: () => driver().released,
    detachJob: (key) => detachJob(driver(), key),
  };
}
