/**
 * Continues the session of a terminal when a sleep of its tools ends, because no worker runs on most machines.
 */
import type { RunWait } from "../../index.js";

/** The longest delay of a Node timer. If a sleep is longer, the session is resumed early and waits again. */
const maxTimerMs = 2 ** 31 - 1;

export type SleepAlarm = {
  /** Sets the alarm for the end of the first of these waits. */
  readonly set: (waits: readonly RunWait[]) => void;
  readonly clear: () => void;
};

export function createSleepAlarm(wake: () => void): SleepAlarm {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    set(waits) {
      const ends = waits.flatMap(({ until }) => until ?? []);
      if (ends.length === 0) return;
      clearTimeout(timer);
      timer = setTimeout(wake, Math.min(maxTimerMs, Math.max(0, Math.min(...ends) - Date.now())));
    },
    clear: () => clearTimeout(timer),
  };
}
