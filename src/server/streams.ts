/**
 * The open streams of a server: one timer for the heartbeats, the ages and the rights of them all.
 */
import type { ByeReason } from "./client/index.js";
import { createCheckedSink, createReadRight, type ReadRight } from "./read-right.js";
import type { Sink } from "./sink.js";
import type { OpenStream } from "./watch.js";

export type StreamRules = {
  readonly heartbeatMs: number;
  readonly streamAgeMs: number;
  readonly now: () => number;
};

export type OpenStreams = {
  /**
   * Opens a stream that a person reads: it ends when they may not read any more, and shows nothing after that.
   * @param mayStay asked at most once a second while something is written, and within a minute in any case
   * @param start starts to write to the sink that it is given
   */
  readonly open: (sink: Sink, mayStay: () => Promise<boolean>, start: (sink: Sink) => OpenStream) => OpenStream;
  /** Keeps a stream between processes. @param mayStay asked within a minute */
  readonly add: (stream: OpenStream, mayStay: () => Promise<boolean>) => () => void;
  readonly count: () => number;
  /** Ends all, spread over a time in which they may come back. */
  readonly endAll: (why: ByeReason, spreadMs: number) => void;
};

type Entry = {
  readonly stream: OpenStream;
  readonly right: ReadRight;
  readonly since: number;
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
      if (entry.right.ageMs() >= askEveryMs) void entry.right.ask();
      if (at - entry.beatAt < heartbeatMs) continue;
      entry.beatAt = at;
      entry.stream.beat();
    }
  }

  function keep(stream: OpenStream, right: ReadRight): () => void {
    const at = now();
    const entry: Entry = { stream, right, since: at, beatAt: at };
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
  }

  return {
    open(sink, mayStay, start) {
      const right = createReadRight(mayStay, now, () => checked.refuse(() => stream.bye("auth")));
      const checked = createCheckedSink(sink, right);
      const stream = start(checked.sink);
      sink.onClose(keep(stream, right));
      return stream;
    },
    add: (stream, mayStay) =>
      keep(
        stream,
        createReadRight(mayStay, now, () => stream.bye("auth")),
      ),
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
