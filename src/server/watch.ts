/**
 * Streams one session to one client: first the log after its cursor, then live frames from the hub.
 *
 * 1. The watcher joins the hub, and then reads the log to its end. Everything that the hub has sent before is in the log;
 *    everything after it waits here. So nothing is skipped, and what comes twice is known by its cursor.
 * 2. The log is read as fast as the socket takes it. Live frames that the socket does not take end the stream, except one
 *    large frame: a client that was cut off for it would be told it again.
 */

import type { PublicEvent } from "../index.js";
import { type Cursor, isAfter } from "../stream/cursor.js";
import type { ByeReason, SnapshotFrame } from "./client/index.js";
import { beatFrame, byeFrame, controlFrame, itemFrame, retryFrame, type SharedFrame } from "./frames.js";
import type { Hub, Watcher } from "./hub.js";
import type { Sink } from "./sink.js";

export type WatchOptions = {
  /** Where to go on from; null: from the beginning. */
  readonly after: Cursor | null;
  /** Whether the cursor that was asked for is beyond the log. */
  readonly isReset: boolean;
  /** Only what belongs to this run, or to no run. */
  readonly runId: string | undefined;
  /** Whether deltas and everything else that the log does not keep are wanted. */
  readonly deltas: boolean;
  /** The stream ends with this run. Null: the run has ended already. Undefined: the stream does not end by itself. */
  readonly until: string | null | undefined;
};

export type WatchSource = {
  readonly hub: () => Promise<Hub>;
  /** The events of the log after a cursor, to its present end, as they may be shown. */
  readonly logged: (after: Cursor | null, runId: string | undefined) => AsyncIterable<PublicEvent>;
  /** The first frame. */
  readonly opening: () => Promise<Uint8Array>;
  /** The most bytes that may wait for the socket. */
  readonly mostUnsent: number;
};

/** A stream that is open. */
export type OpenStream = {
  readonly bye: (why: ByeReason, retryMs?: number) => void;
  /** Writes a comment if nothing was written since the last beat. */
  readonly beat: () => void;
};

/**
 * Starts to watch. The stream ends when the other side leaves, or with a `bye`. What has joined the hub no longer holds its
 * source: a process may have many watchers in whose sessions nothing happens.
 */
export function watch(source: WatchSource, options: WatchOptions, sink: Sink): OpenStream {
  const { mostUnsent } = source;
  let cursor = options.after;
  let hub: Hub | null = null;
  let waiting: SharedFrame[] | null = [];
  let waitingBytes = 0;
  let closed = false;
  let quiet = true;
  /** The bytes of the largest frame since the socket had taken everything. */
  let largest = 0;

  function write(bytes: Uint8Array): void {
    if (closed) return;
    quiet = false;
    if (sink.unsent() === 0) largest = 0;
    largest = Math.max(largest, bytes.byteLength);
    sink.write(bytes);
  }

  function bye(why: ByeReason, retryMs?: number): void {
    if (closed) return;
    write(byeFrame(why, retryMs));
    leave();
    sink.end();
  }

  function leave(): void {
    closed = true;
    hub?.leave(watcher);
    hub = null;
  }

  function isWanted({ cursor: at, runId }: SharedFrame): boolean {
    if (at === null ? !options.deltas : cursor !== null && !isAfter(at, cursor)) return false;
    return options.runId === undefined || runId === null || runId === options.runId;
  }

  function pass(frame: SharedFrame): void {
    if (isWanted(frame)) write(frame.bytes);
    if (frame.cursor !== null && (cursor === null || isAfter(frame.cursor, cursor))) cursor = frame.cursor;
    if (frame.ends !== null && frame.ends === options.until) bye("end");
  }

  const watcher: Watcher = {
    send(frame) {
      if (closed) return;
      if (waiting === null) pass(frame);
      else {
        waiting.push(frame);
        waitingBytes += frame.bytes.byteLength;
      }
      if (sink.unsent() + waitingBytes > mostUnsent + largest) bye("slow");
    },
    tell: write,
    bye: (why) => bye(why),
  };

  async function tellLog({ logged }: WatchSource): Promise<void> {
    for await (const event of logged(cursor, options.runId)) {
      if (closed) return;
      pass(itemFrame(event));
      await sink.drained();
    }
  }

  /** A hub ends with its last watcher: then the next one is asked for. */
  async function join({ hub: open }: WatchSource): Promise<SnapshotFrame | null> {
    while (!closed) {
      const found = await open();
      const joined = closed ? found.leave(watcher) : found.join(watcher);
      if (joined === undefined || joined === null) continue;
      hub = found;
      return joined.snapshot;
    }
    return null;
  }

  async function tell(from: WatchSource): Promise<void> {
    write(retryFrame);
    write(await from.opening());
    if (options.isReset) write(controlFrame({ type: "reset" }));
    await tellLog(from);
    // All of a run that has ended is in the log.
    if (options.until === null) return bye("end");
    const snapshot = await join(from);
    await tellLog(from);
    const isOfRun = options.runId === undefined || snapshot?.runId === options.runId;
    if (snapshot !== null && options.deltas && isOfRun) write(controlFrame(snapshot));
    const before = waiting ?? [];
    waiting = null;
    waitingBytes = 0;
    for (const frame of before) pass(frame);
  }

  sink.onClose(leave);
  tell(source).catch(() => bye("error"));
  return {
    bye,
    beat() {
      if (quiet && !closed) sink.write(beatFrame);
      quiet = true;
    },
  };
}
