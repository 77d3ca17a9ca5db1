/**
 * Delivers the reminders of a session while its terminal is open, because no worker runs on most machines.
 *
 * A reminder is posted before it is removed from the schedule. A run id counts once, so neither a kill in between nor a worker that delivers
 * the same reminder repeats it.
 */
import type { Agent } from "../../index.js";
import { reminderTool } from "../permissions/rule.js";
import type { RunSettingsStore } from "./run-settings.js";

/** The longest delay of a Node timer. Later reminders are looked up again when it ends. */
const maxTimerMs = 2 ** 31 - 1;

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

  function look(): void {
    looking = looking.then(deliverDue).catch(fail);
  }

  return {
    look,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
