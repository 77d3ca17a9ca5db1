/**
 * Tracks the open streams of a server, with one timer for the heartbeats, ages and permissions of all of them.
 */
import type { ByeReason } from "./client/index.js";
import { createCheckedSink, createReadPermission, type ReadPermission } from "./read-permission.js";
import type { Sink } from "./sink.js";
import type { OpenStream } from "./watch.js";

export type StreamRules = {
  readonly heartbeatMs: number;
  readonly streamAgeMs: number;
  readonly now: () => number;
};

export type OpenStreams = {
  /**
   * Opens a client's stream. When the client may no longer read, the stream ends and sends nothing else.
   * @param canStay called at most once a second while something is written, and within a minute in any case
   * @param start starts writing to the given sink
   */
  readonly open: (sink: Sink, canStay: () => Promise<boolean>, start: (sink: Sink) => OpenStream) => OpenStream;
  /** Adds a stream between processes. @param canStay called within a minute */
  readonly add: (stream: OpenStream, canStay: () => Promise<boolean>) => () => void;
  readonly count: () => number;
  /** Ends all streams. Their clients are told to reconnect at different times within `spreadMs`. */
  readonly endAll: (why: ByeReason, spreadMs: number) => void;
};

type TrackedStream = {
  readonly stream: OpenStream;
  readonly permission: ReadPermission;
  readonly openedAt: number;
  beatAt: number;
};

/** Together with the sweep interval, this ends a stream within a minute after its permission was withdrawn. */
const recheckEveryMs = 40_000;
const maxSweepIntervalMs = 15_000;

export function createOpenStreams({ heartbeatMs, streamAgeMs, now }: StreamRules): OpenStreams {
  const open = new Set<TrackedStream>();
  /** Set once all streams were ended. A stream that is opened later ends in the same way. */
  let ended: { readonly why: ByeReason; readonly spreadMs: number } | null = null;
  let timer: ReturnType<typeof setInterval> | null = null;

  function sweep(): void {
    const nowMs = now();
    for (const entry of open) {
      if (nowMs - entry.openedAt >= streamAgeMs) {
        entry.stream.bye("age");
        continue;
      }
      if (entry.permission.ageMs() >= recheckEveryMs) void entry.permission.check();
      if (nowMs - entry.beatAt < heartbeatMs) continue;
      entry.beatAt = nowMs;
      entry.stream.heartbeat();
    }
  }

  function trackStream(stream: OpenStream, permission: ReadPermission): () => void {
    const nowMs = now();
    const entry: TrackedStream = { stream, permission, openedAt: nowMs, beatAt: nowMs };
    open.add(entry);
    timer ??= setInterval(sweep, Math.min(heartbeatMs, maxSweepIntervalMs));
    if (ended !== null) {
      const { why, spreadMs } = ended;
      queueMicrotask(() => stream.bye(why, pickRetryMs(spreadMs)));
    }
    return () => {
      open.delete(entry);
      if (open.size > 0 || timer === null) return;
      clearInterval(timer);
      timer = null;
    };
  }

  return {
    open(sink, canStay, start) {
      const permission = createReadPermission(canStay, now, () => checked.revoke(() => stream.bye("auth")));
      const checked = createCheckedSink(sink, permission);
      const stream = start(checked.sink);
      sink.onClose(trackStream(stream, permission));
      return stream;
    },
    add: (stream, canStay) =>
      trackStream(
        stream,
        createReadPermission(canStay, now, () => stream.bye("auth")),
      ),
    count: () => open.size,
    endAll(why, spreadMs) {
      ended = { why, spreadMs };
      for (const { stream } of [...open]) stream.bye(why, pickRetryMs(spreadMs));
    },
  };
}

function pickRetryMs(spreadMs: number): number {
  return Math.round(200 + Math.random() * spreadMs);
}
