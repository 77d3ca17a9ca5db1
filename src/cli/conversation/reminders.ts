/**
 * Delivers the reminders of a session while its terminal is open, because no worker runs on most machines.
 *
 * A reminder is posted before it is removed from the schedule. A run id counts once, so neither a kill in between nor a worker that delivers
 * the same reminder repeats it.
 */
import type { Agent } from "../../index.js";
import { reminderTool } from "../permissions/rule.js";
import type { RunSettingsStore } from "./run-settings.js";

/**
 * How long a timer may wait, in milliseconds. After that, the reminders are looked up again: timers do not count the time that the machine
 * sleeps, and the store may have been busy.
 */
const maxTimerMs = 60_000;

export type Reminders = {
  /** Delivers the reminders that are due, and sets a timer for the next one. */
  readonly look: () => void;
  readonly close: () => void;
};

/** @param callbacks `options`: the options of the run that a reminder starts */
export function createReminders(
  session: ReturnType<Agent["session"]>,
  {
    options,
    onDelivered,
    fail,
  }: {
    readonly options: RunSettingsStore["options"];
    readonly onDelivered: () => void;
    readonly fail: (error: unknown) => void;
  },
): Reminders {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isClosed = false;
  let hasFailed = false;
  let looking = Promise.resolve();

  async function deliverDue(): Promise<void> {
    clearTimeout(timer);
    const reminders = (await session.scheduled()).filter(({ by }) => by === reminderTool);
    for (const { at, runId } of reminders) {
      if (isClosed) return;
      const ms = at - Date.now();
      if (ms > 0) {
        timer = setTimeout(look, Math.min(maxTimerMs, ms));
        return;
      }
      // The list cuts long texts.
      const [whole] = await session.scheduled({ runId });
      if (whole === undefined) continue;
      const { input, mode } = whole;
      await session.send(input, { ...options(), runId, mode, by: reminderTool });
      await session.unsend(runId);
      onDelivered();
    }
  }

  /** A failure that lasts is reported once. */
  function retryLater(error: unknown): void {
    if (isClosed) return;
    if (!hasFailed) fail(error);
    hasFailed = true;
    timer = setTimeout(look, maxTimerMs);
  }

  function look(): void {
    looking = looking.then(deliverDue).then(() => {
      hasFailed = false;
    }, retryLater);
  }

  return {
    look,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
