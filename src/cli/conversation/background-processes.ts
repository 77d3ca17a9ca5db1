/**
 * The processes in the background of a conversation. When one ends, the person is told, and the session's data no longer
 * has it: so the next start of the program tells only of those that ran until the end.
 */
import type { Agent } from "../../index.js";
import { type BackgroundProcess, type BackgroundProcesses, createBackgroundProcesses } from "../../tools/index.js";
import { lineOf } from "../screen/line.js";
import { cut, oneLine } from "../text.js";
import type { SessionControl } from "./session-control.js";

export type Background = {
  readonly processes: BackgroundProcesses;
  /** Who is told from now on. */
  readonly tellTo: (control: SessionControl, agent: Agent) => void;
  /** Stops all processes, and says how many there were. */
  readonly close: () => Promise<void>;
};

/** @param safe hides secrets */
export function openBackground(safe: (text: string) => string): Background {
  let talk: { readonly control: SessionControl; readonly agent: Agent } | null = null;
  let isClosing = false;
  const updates = new Set<Promise<void>>();
  const processes = createBackgroundProcesses({ onEnd });

  function onEnd({ sessionId, number, command, ended }: BackgroundProcess): void {
    if (talk === null) return;
    const { control, agent } = talk;
    if (!isClosing && sessionId === control.sessionId) {
      const what = `Process ${number} in the background ended (${ended}): ${cut(oneLine(safe(command)), 60)}`;
      control.say([lineOf(`${what} · /ps ${number} shows its output`, "dim")]);
    }
    // Without this, the next start would tell of the process once more.
    const update = agent
      .session(sessionId)
      .setData({ unset: [`process ${number}`] })
      .catch(() => {})
      .finally(() => updates.delete(update));
    updates.add(update);
  }

  return {
    processes,
    tellTo(control, agent) {
      talk = { control, agent };
    },
    async close() {
      isClosing = true;
      const running = processes.list().filter(({ ended }) => ended === null).length;
      const what = running === 1 ? "1 process" : `${running} processes`;
      if (running > 0) talk?.control.say([lineOf(`Stopped ${what} in the background.`, "dim")]);
      await processes.stopAll();
      await Promise.all(updates);
    },
  };
}
