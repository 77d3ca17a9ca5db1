/**
 * Reports background processes of a conversation. When one ends, the person is notified and the process is removed from the
 * session's data. So the next start of the program reports only processes that were running when it ended.
 */
import type { Agent } from "../../index.js";
import { type BackgroundProcess, type BackgroundProcesses, createBackgroundProcesses } from "../../tools/index.js";
import { lineOf } from "../screen/line.js";
import { toOneLine, truncate } from "../terminal/text.js";
import type { SessionControl } from "./session-control.js";

export type BackgroundNotifier = {
  readonly processes: BackgroundProcesses;
  /** The number of the session's processes that run. */
  readonly count: (sessionId: string) => number;
  /** Sets the conversation that is notified from now on. */
  readonly notify: (control: SessionControl, agent: Agent) => void;
  /** Stops all processes, and resolves to their number. */
  readonly close: () => Promise<void>;
};

/** @param redact hides secrets */
export function createBackgroundNotifier(redact: (text: string) => string): BackgroundNotifier {
  let recipient: { readonly control: SessionControl; readonly agent: Agent } | null = null;
  let isClosing = false;
  const updates = new Set<Promise<void>>();
  const processes = createBackgroundProcesses({ onEnd });

  function onEnd({ sessionId, number, command, ended }: BackgroundProcess): void {
    if (recipient === null) return;
    const { control, agent } = recipient;
    if (!isClosing && sessionId === control.sessionId) {
      const what = `Process ${number} in the background ended (${ended}): ${truncate(toOneLine(redact(command)), 60)}`;
      control.say([lineOf(`${what} · /ps ${number} shows its output`, "dim")]);
    }
    // Otherwise, the next start would report the process again.
    const update = agent
      .session(sessionId)
      .setData({ unset: [`process ${number}`] })
      .catch(() => {})
      .finally(() => updates.delete(update));
    updates.add(update);
  }

  return {
    processes,
    count: (sessionId) => processes.list().filter((one) => one.sessionId === sessionId && one.ended === null).length,
    notify(control, agent) {
      recipient = { control, agent };
    },
    async close() {
      isClosing = true;
      const running = processes.list().filter(({ ended }) => ended === null).length;
      const what = running === 1 ? "1 process" : `${running} processes`;
      if (running > 0) recipient?.control.say([lineOf(`Stopped ${what} in the background.`, "dim")]);
      await processes.stopAll();
      await Promise.all(updates);
    },
  };
}
