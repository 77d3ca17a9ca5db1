/**
 * The signals of a SQLite store. A signal with very many waits reaches them in pages, each in its own transaction.
 */
import type { SignalStore } from "../../ports/signal.js";
import { checkId } from "../shared/rules.js";
import type { Database } from "./schema.js";
import { addSignal, dropSignals, listSignals, type ServedPage, servePage, type WaitPosition } from "./signals.js";

/** How the modules of a store run their work. */
export type SqliteAccess = {
  readonly read: <Result>(work: () => Result) => Promise<Result>;
  readonly write: <Result>(work: () => Result, bytes?: number) => Promise<Result>;
  /** Reports a change to a session's inbox. */
  readonly notify: (sessionId: string) => void;
};

export function createSignalStore(db: Database, { read, write, notify }: SqliteAccess): SignalStore {
  return {
    async send(signal) {
      checkId("message", signal.id);
      const { id, key } = signal;
      const bytes = JSON.stringify(signal.value).length;
      const sessions: string[] = [];
      const note = (page: ServedPage): void => {
        if (page.id === id) sessions.push(...page.sessions);
        for (const sessionId of page.sessions) notify(sessionId);
      };
      const [added, first] = await write(() => {
        const added = addSignal(db, signal);
        return [added, added === "new" || added === "pending" ? servePage(db, key, null) : null] as const;
      }, bytes);
      if (added === "full") return { type: "full" };
      // Earlier signals that have not reached all waits come first, so that each wait gets the oldest.
      let page = first;
      while (page !== null) {
        note(page);
        if (page.id === id && page.after === null) break;
        const from: WaitPosition | null = page.after;
        page = await write(() => servePage(db, key, from), bytes);
      }
      return { type: "ok", isNew: added === "new", sessions: [...new Set(sessions)] };
    },
    list: (now, options) => read(() => listSignals(db, now, options)),
    drop: (now, limit) => write(() => dropSignals(db, now, limit)),
  };
}
