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
import {
  createByeFrame,
  createItemFrame,
  encodeControlFrame,
  heartbeatFrame,
  retryFrame,
  type SharedFrame,
} from "./frames.js";
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
  readonly maxUnsent: number;
};

/** A stream that is open. */
export type OpenStream = {
  readonly bye: (why: ByeReason, retryMs?: number) => void;
  /** Writes a comment if nothing was written since the last beat. */
  readonly heartbeat: () => void;
};

/**
 * Starts to watch. The stream ends when the other side leaves, or with a `bye`. What has joined the hub no longer holds its
 * source: a process may have many watchers in whose sessions nothing happens.
 */
export function watchSession(source: WatchSource, options: WatchOptions, sink: Sink): OpenStream {
  const { maxUnsent } = source;
  let cursor = options.after;
  let hub: Hub | null = null;
  let buffered: SharedFrame[] | null = [];
  let bufferedBytes = 0;
  let isClosed = false;
  let isQuiet = true;
  /** The bytes of the largest frame since the socket had taken everything. */
  let maxFrameBytes = 0;

  function write(bytes: Uint8Array): void {
    if (isClosed) return;
    isQuiet = false;
    if (sink.unsentBytes() === 0) maxFrameBytes = 0;
    maxFrameBytes = Math.max(maxFrameBytes, bytes.byteLength);
    sink.write(bytes);
  }

  function bye(why: ByeReason, retryMs?: number): void {
    if (isClosed) return;
    write(createByeFrame(why, retryMs));
    closeStream();
    sink.end();
  }

  function closeStream(): void {
    isClosed = true;
    hub?.removeWatcher(watcher);
    hub = null;
  }

  function isWanted({ cursor: frameCursor, runId }: SharedFrame): boolean {
    if (frameCursor === null ? !options.deltas : cursor !== null && !isAfter(frameCursor, cursor)) return false;
    return options.runId === undefined || runId === null || runId === options.runId;
  }

  function sendIfWanted(frame: SharedFrame): void {
    if (isWanted(frame)) write(frame.bytes);
    if (frame.cursor !== null && (cursor === null || isAfter(frame.cursor, cursor))) cursor = frame.cursor;
    if (frame.endsRunId !== null && frame.endsRunId === options.until) bye("end");
  }

  const watcher: Watcher = {
    send(frame) {
      if (isClosed) return;
      if (buffered === null) sendIfWanted(frame);
      else {
        buffered.push(frame);
        bufferedBytes += frame.bytes.byteLength;
      }
      if (sink.unsentBytes() + bufferedBytes > maxUnsent + maxFrameBytes) bye("slow");
    },
    sendControl: write,
    bye: (why) => bye(why),
  };

  async function sendLog({ logged }: WatchSource): Promise<void> {
    for await (const event of logged(cursor, options.runId)) {
      if (isClosed) return;
      sendIfWanted(createItemFrame(event));
      await sink.whenDrained();
    }
  }

  /** A hub ends with its last watcher: then the next one is asked for. */
  async function joinHub({ hub: open }: WatchSource): Promise<SnapshotFrame | null> {
    while (!isClosed) {
      const opened = await open();
      const joining = isClosed ? opened.removeWatcher(watcher) : opened.addWatcher(watcher);
      if (joining === undefined || joining === null) continue;
      hub = opened;
      return joining.snapshot;
    }
    return null;
  }

  async function streamSession(watchSource: WatchSource): Promise<void> {
    write(retryFrame);
    write(await watchSource.opening());
    if (options.isReset) write(encodeControlFrame({ type: "reset" }));
    await sendLog(watchSource);
    // All of a run that has ended is in the log.
    if (options.until === null) return bye("end");
    const snapshot = await joinHub(watchSource);
    await sendLog(watchSource);
    const isOfRun = options.runId === undefined || snapshot?.runId === options.runId;
    if (snapshot !== null && options.deltas && isOfRun) write(encodeControlFrame(snapshot));
    const pending = buffered ?? [];
    buffered = null;
    bufferedBytes = 0;
    for (const frame of pending) sendIfWanted(frame);
  }

  sink.onClose(closeStream);
  streamSession(source).catch(() => bye("error"));
  return {
    bye,
    heartbeat() {
      if (isQuiet && !isClosed) sink.write(heartbeatFrame);
      isQuiet = true;
    },
  };
}
