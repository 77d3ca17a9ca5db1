/**
 * An alarm at a time of the clock. A timer alone would be late after the machine has slept, because timers do not count that time.
 */

/** How often the clock is read, in milliseconds. */
const maxTimerMs = 60_000;

export type Alarm = {
  /** Sets the alarm, in epoch milliseconds. It replaces the previous time. */
  readonly set: (at: number) => void;
  readonly clear: () => void;
};

export function createAlarm(wake: () => void): Alarm {
  let timer: ReturnType<typeof setTimeout> | undefined;

  function set(at: number): void {
    clearTimeout(timer);
    const ms = Math.max(0, at - Date.now());
    timer = setTimeout(() => (at <= Date.now() ? wake() : set(at)), Math.min(maxTimerMs, ms));
  }

  return { set, clear: () => clearTimeout(timer) };
}
