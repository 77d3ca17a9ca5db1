/**
 * Aborts runs that chat requests have begun and that no client watches anymore (`abortWhenAlone`).
 *
 * 1. Each process counts its own streams, and the streams that other processes read from it. Only the process that holds a session
 *    aborts its run, because no other process knows all of its watchers.
 * 2. A page that reconnects in time cancels the timer.
 */
import type { Client, Clock } from "../index.js";
import type { Links } from "./peers/links.js";
import type { ServerSettings } from "./server-settings.js";

export type LoneRuns = {
  /** Called when a chat request has begun a run, before its stream is open. */
  readonly runStarted: (sessionId: string, runId: string) => void;
  /** Called when a stream of the session is open. Call the returned function when the stream has ended. */
  readonly streamOpened: (sessionId: string) => () => void;
  readonly close: () => void;
};

export type LoneRunsDeps = {
  readonly afterMs: number;
  readonly clock: Pick<Clock, "after">;
  /**
   * Aborts these runs if this process holds the session. `later`: no process has claimed the session yet. `parked`: the session waits
   * for an answer, and is checked again when its next stream has ended.
   */
  readonly abort: (sessionId: string, runIds: readonly string[]) => Promise<"done" | "later" | "parked">;
};

type WatchedSession = { streams: number; runs: readonly string[]; cancel: (() => void) | null };

/** The maximum number of remembered sessions. Beyond it, all parked sessions without a stream are forgotten. */
const maxParkedSessions = 10_000;

export function createLoneRuns({ afterMs, clock, abort }: LoneRunsDeps): LoneRuns {
  const sessions = new Map<string, WatchedSession>();

  function getOrCreate(sessionId: string): WatchedSession {
    const existing = sessions.get(sessionId);
    if (existing !== undefined) return existing;
    if (sessions.size >= maxParkedSessions) forgetParked();
    const watched: WatchedSession = { streams: 0, runs: [], cancel: null };
    sessions.set(sessionId, watched);
    return watched;
  }

  /** Forgets parked sessions, whose runs are then no longer aborted. */
  function forgetParked(): void {
    for (const [id, { streams, cancel }] of sessions) if (streams === 0 && cancel === null) sessions.delete(id);
  }

  function scheduleAbort(sessionId: string, watched: WatchedSession): void {
    if (watched.streams > 0) return;
    watched.cancel?.();
    watched.cancel = null;
    if (watched.runs.length === 0) sessions.delete(sessionId);
    else watched.cancel = clock.after(afterMs, () => void abortRuns(sessionId, watched));
  }

  async function abortRuns(sessionId: string, watched: WatchedSession): Promise<void> {
    watched.cancel = null;
    const outcome = await abort(sessionId, watched.runs).catch(() => "later" as const);
    if (outcome === "done") watched.runs = [];
    if (outcome !== "parked" && sessions.get(sessionId) === watched) scheduleAbort(sessionId, watched);
  }

  return {
    runStarted(sessionId, runId) {
      const watched = getOrCreate(sessionId);
      if (!watched.runs.includes(runId)) watched.runs = [...watched.runs, runId];
      scheduleAbort(sessionId, watched);
    },
    streamOpened(sessionId) {
      const watched = getOrCreate(sessionId);
      watched.streams += 1;
      watched.cancel?.();
      watched.cancel = null;
      let isOpen = true;
      return () => {
        if (!isOpen) return;
        isOpen = false;
        watched.streams -= 1;
        scheduleAbort(sessionId, watched);
      };
    },
    close() {
      for (const { cancel } of sessions.values()) cancel?.();
      sessions.clear();
    },
  };
}

/** Creates the lone runs of a server; null if runs without watchers continue. */
export function createServerLoneRuns(
  { aloneMs, store }: ServerSettings,
  client: Client,
  links: Links,
): LoneRuns | null {
  if (aloneMs === null) return null;
  return createLoneRuns({
    afterMs: aloneMs,
    clock: {
      after(ms, callback) {
        const timer = setTimeout(callback, ms);
        return () => clearTimeout(timer);
      },
    },
    async abort(sessionId, runIds) {
      const summary = await store.describe(sessionId);
      if (summary === null) return "done";
      const { holder, activity, inbox } = summary;
      if (holder === null && inbox === 0 && activity !== "active") return activity === "waiting" ? "parked" : "done";
      if (holder === null) return "later";
      if (links.isLocalHolder(holder))
        for (const runId of runIds) await client.session(sessionId).abort({ runId, note: "Nobody watched the chat." });
      return "done";
    },
  });
}
