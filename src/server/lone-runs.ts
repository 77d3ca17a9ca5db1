/**
 * Ends runs that chat requests began, and that nobody watches any more (`abortWhenAlone`).
 *
 * 1. Each process counts the streams of its own, and those that other processes read here. Only the process that holds a
 *    session aborts its run: no other one knows who watches.
 * 2. A page that comes back in time stops the clock.
 */
import type { Client, Clock } from "../index.js";
import type { Links } from "./peers/links.js";
import type { ServerSettings } from "./server-options.js";

export type LoneRuns = {
  /** A chat request has begun a run. Its stream is not open yet. */
  readonly runStarted: (sessionId: string, runId: string) => void;
  /** A stream of the session is open; the returned function tells that it has ended. */
  readonly streamOpened: (sessionId: string) => () => void;
  readonly close: () => void;
};

export type LoneRunsDeps = {
  readonly afterMs: number;
  readonly clock: Pick<Clock, "after">;
  /**
   * Aborts these runs if this process holds the session. `later`: nobody has taken the session yet; `parked`: it waits for
   * somebody, and is looked at again when its next stream has ended.
   */
  readonly abort: (sessionId: string, runIds: readonly string[]) => Promise<"done" | "later" | "parked">;
};

type WatchedSession = { streams: number; runs: readonly string[]; cancel: (() => void) | null };

/** Sessions that are remembered although they wait for somebody and have no stream, before all of them are forgotten. */
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

  /** Runs that have waited for somebody for long are left alone from then on. */
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

/** Those of a server; null if runs that nobody watches go on. */
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
