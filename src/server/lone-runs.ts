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
  readonly begun: (sessionId: string, runId: string) => void;
  /** A stream of the session is open; the returned function tells that it has ended. */
  readonly joined: (sessionId: string) => () => void;
  readonly close: () => void;
};

export type LoneRunsParts = {
  readonly afterMs: number;
  readonly clock: Pick<Clock, "after">;
  /**
   * Aborts these runs if this process holds the session. `later`: nobody has taken the session yet; `parked`: it waits for
   * somebody, and is looked at again when its next stream has ended.
   */
  readonly abort: (sessionId: string, runIds: readonly string[]) => Promise<"done" | "later" | "parked">;
};

type Watched = { streams: number; runs: readonly string[]; cancel: (() => void) | null };

/** Sessions that are remembered although they wait for somebody and have no stream, before all of them are forgotten. */
const mostParked = 10_000;

export function createLoneRuns({ afterMs, clock, abort }: LoneRunsParts): LoneRuns {
  const sessions = new Map<string, Watched>();

  function of(sessionId: string): Watched {
    const known = sessions.get(sessionId);
    if (known !== undefined) return known;
    if (sessions.size >= mostParked) forgetParked();
    const watched: Watched = { streams: 0, runs: [], cancel: null };
    sessions.set(sessionId, watched);
    return watched;
  }

  /** Runs that have waited for somebody for long are left alone from then on. */
  function forgetParked(): void {
    for (const [id, { streams, cancel }] of sessions) if (streams === 0 && cancel === null) sessions.delete(id);
  }

  function wait(sessionId: string, watched: Watched): void {
    if (watched.streams > 0) return;
    watched.cancel?.();
    watched.cancel = null;
    if (watched.runs.length === 0) sessions.delete(sessionId);
    else watched.cancel = clock.after(afterMs, () => void end(sessionId, watched));
  }

  async function end(sessionId: string, watched: Watched): Promise<void> {
    watched.cancel = null;
    const outcome = await abort(sessionId, watched.runs).catch(() => "later" as const);
    if (outcome === "done") watched.runs = [];
    if (outcome !== "parked" && sessions.get(sessionId) === watched) wait(sessionId, watched);
  }

  return {
    begun(sessionId, runId) {
      const watched = of(sessionId);
      if (!watched.runs.includes(runId)) watched.runs = [...watched.runs, runId];
      wait(sessionId, watched);
    },
    joined(sessionId) {
      const watched = of(sessionId);
      watched.streams += 1;
      watched.cancel?.();
      watched.cancel = null;
      let isOpen = true;
      return () => {
        if (!isOpen) return;
        isOpen = false;
        watched.streams -= 1;
        wait(sessionId, watched);
      };
    },
    close() {
      for (const { cancel } of sessions.values()) cancel?.();
      sessions.clear();
    },
  };
}

/** Those of a server; null if runs that nobody watches go on. */
export function loneRunsOf({ aloneMs, store }: ServerSettings, client: Client, links: Links): LoneRuns | null {
  if (aloneMs === null) return null;
  return createLoneRuns({
    afterMs: aloneMs,
    clock: {
      after(ms, call) {
        const timer = setTimeout(call, ms);
        return () => clearTimeout(timer);
      },
    },
    async abort(sessionId, runIds) {
      const summary = await store.describe(sessionId);
      if (summary === null) return "done";
      const { holder, activity, inbox } = summary;
      if (holder === null && inbox === 0 && activity !== "active") return activity === "waiting" ? "parked" : "done";
      if (holder === null) return "later";
      if (links.isHere(holder))
        for (const runId of runIds) await client.session(sessionId).abort({ runId, note: "Nobody watched the chat." });
      return "done";
    },
  });
}
