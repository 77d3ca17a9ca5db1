/**
 * Continues the session of a terminal when a sleep of its tools ends, because no worker runs on most machines.
 */
import type { RunWait } from "../../index.js";
import { createAlarm } from "../../platform/alarm.js";

export type SleepAlarm = {
  /** Sets the alarm for the end of the first of these waits. */
  readonly set: (waits: readonly RunWait[]) => void;
  readonly clear: () => void;
};

export function createSleepAlarm(wake: () => void): SleepAlarm {
  const alarm = createAlarm(wake);
  return {
    set(waits) {
      const ends = waits.flatMap(({ until }) => until ?? []);
      if (ends.length > 0) alarm.set(Math.min(...ends));
    },
    clear: alarm.clear,
  };
}
