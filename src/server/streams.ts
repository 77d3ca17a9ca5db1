/**
 * The open streams of a server: one timer for the heartbeats, the ages and the rights of them all.
 */
import type { ByeReason } from "./client/index.js";
import type { OpenStream } from "./watch.js";

export type StreamRules = {
  readonly heartbeatMs: number;
  readonly streamAgeMs: number;
  readonly now: () => number;
};

export type OpenStreams = {
  /** @param mayStay whether the principal may still read what the stream shows; asked each minute */
  readonly add: (stream: OpenStream, mayStay: () => Promise<boolean>) => () => void;
  readonly count: () => number;
  /** Ends all, spread over a time in which they may come back. */
  readonly endAll: (why: ByeReason, spreadMs: number) => void;
};

type Entry = {
  readonly stream: OpenStream;
  readonly mayStay: () => Promise<boolean>;
  readonly since: number;
  askedAt: number;
  beatAt: number;
};

/** With the time until the next look, a withdrawn right ends a stream within a minute. */
const askEveryMs = 40_000;
const longestUntilLookMs = 15_000;

export function createOpenStreams({ heartbeatMs, streamAgeMs, now }: StreamRules): OpenStreams {
  const open = new Set<Entry>();
  /** Set once all were ended. A stream that is opened later is told the same. */
  let ended: { readonly why: ByeReason; readonly spreadMs: number } | null = null;
  let timer: ReturnType<typeof setInterval> | null = null;

  function look(): void {
    const at = now();
    for (const entry of open) {
      if (at - entry.since >= streamAgeMs) {
        entry.stream.bye("age");
        continue;
      }
      if (at - entry.askedAt >= askEveryMs) void ask(entry, at);
      if (at - entry.beatAt < heartbeatMs) continue;
      entry.beatAt = at;
      entry.stream.beat();
    }
  }

  /** If nobody can say whether it may stay, it may not. */
  async function ask(entry: Entry, at: number): Promise<void> {
    entry.askedAt = at;
    const mayStay = await entry.mayStay().catch(() => false);
    if (!mayStay) entry.stream.bye("auth");
  }

  return {
    add(stream, mayStay) {
      const at = now();
      const entry: Entry = { stream, mayStay, since: at, askedAt: at, beatAt: at };
      open.add(entry);
      timer ??= setInterval(look, Math.min(heartbeatMs, longestUntilLookMs));
      if (ended !== null) {
        const { why, spreadMs } = ended;
        queueMicrotask(() => stream.bye(why, retryAfter(spreadMs)));
      }
      return () => {
        open.delete(entry);
        if (open.size > 0 || timer === null) return;
        clearInterval(timer);
        timer = null;
      };
    },
    count: () => open.size,
    endAll(why, spreadMs) {
      ended = { why, spreadMs };
      for (const { stream } of [...open]) stream.bye(why, retryAfter(spreadMs));
    },
  };
}

function retryAfter(spreadMs: number): number {
  return Math.round(200 + Math.random() * spreadMs);
}
