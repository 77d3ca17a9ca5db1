/**
 * Delivers the reminders of a session while its terminal is open, because no worker runs on most machines.
 *
 * A reminder is posted before it is removed from the schedule. A run id counts once, so neither a kill in between nor a worker that delivers
 * the same reminder repeats it.
 */
import type { Agent } from "../../index.js";
import { createAlarm } from "../../platform/alarm.js";
import { reminderTool } from "../permissions/rule.js";
import type { RunSettingsStore } from "./run-settings.js";

/** How long to wait after a failure, in milliseconds. The store may have been busy. */
const retryAfterMs = 60_000;

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
  const alarm = createAlarm(look);
  let isClosed = false;
  /** The ids of the reminders whose last attempt failed; null for the list itself. */
  let failing: ReadonlySet<string | null> = new Set();
  let looking = Promise.resolve();

  /** A failure that lasts is reported once. */
  function report(id: string | null, error: unknown): void {
    if (!isClosed && !failing.has(id)) fail(error);
  }

  async function deliver(reminderId: string): Promise<void> {
    // The list cuts long texts.
    const [whole] = await session.scheduled({ runId: reminderId });
    if (whole === undefined) return;
    const { input, runId, mode } = whole;
    await session.send(input, { ...options(), runId, mode, by: reminderTool });
    await session.unsend(runId);
    onDelivered();
  }

  /** Delivers what is due. A reminder that cannot be sent does not keep back the later ones. */
  async function deliverDue(): Promise<void> {
    alarm.clear();
    const failed = new Set<string>();
    const reminders = (await session.scheduled()).filter(({ by }) => by === reminderTool);
    for (const { at, runId } of reminders) {
      if (isClosed) return;
      if (at > Date.now()) {
        alarm.set(failed.size === 0 ? at : Math.min(at, Date.now() + retryAfterMs));
        break;
      }
      await deliver(runId).catch((error: unknown) => {
        report(runId, error);
        failed.add(runId);
        if (!isClosed) alarm.set(Date.now() + retryAfterMs);
      });
    }
    failing = failed;
  }

  function retryLater(error: unknown): void {
    report(null, error);
    failing = new Set([...failing, null]);
    if (!isClosed) alarm.set(Date.now() + retryAfterMs);
  }

  function look(): void {
    looking = looking.then(deliverDue).catch(retryLater);
  }

  return {
    look,
    close() {
      isClosed = true;
      alarm.clear();
    },
  };
}
