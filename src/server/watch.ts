/**
 * Streams one session to one client: first the log after its cursor, then live frames from the hub.
 *
 * 1. The watcher joins the hub, and then reads the log to its end. Everything that the hub sent before is in the log; everything
 *    after it is buffered here. So nothing is skipped, and duplicates are recognized by their cursors. A long log is read once
 *    before that, so that little is buffered.
 * 2. The log is read as fast as the socket accepts it. If the socket does not accept live frames, the stream ends, except for a
 *    single large frame: a client that was disconnected for it would get the same frame again.
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
  /** The cursor after which the stream continues; null: from the beginning. */
  readonly after: Cursor | null;
  /** Whether the requested cursor is beyond the log. */
  readonly isReset: boolean;
  /** Whether many events of the log come after the cursor. */
  readonly isFarBehind: boolean;
  /** Only items of this run, or of no run. */
  readonly runId: string | undefined;
  /** Whether to send deltas and everything else that is not in the log. */
  readonly deltas: boolean;
  /** The run that ends the stream. Null: the run has already ended. Undefined: the stream does not end by itself. */
  readonly until: string | null | undefined;
};

export type WatchSource = {
  readonly hub: () => Promise<Hub>;
  /** The redacted events of the log after a cursor, to its current end. */
  readonly logged: (after: Cursor | null, runId: string | undefined) => AsyncIterable<PublicEvent>;
  /** The first frame. */
  readonly opening: () => Promise<Uint8Array>;
  /** The maximum number of unsent bytes. */
  readonly maxUnsent: number;
};

/** An open stream. */
export type OpenStream = {
  readonly bye: (why: ByeReason, retryMs?: number) => void;
  /** Writes a comment if nothing was written since the last heartbeat. */
  readonly heartbeat: () => void;
};

/**
 * Starts watching. The stream ends when the other side disconnects, or with a `bye`. After it has joined the hub, it no longer
 * holds its source, because a process may have many watchers of inactive sessions.
 */
export function watchSession(source: WatchSource, options: WatchOptions, sink: Sink): OpenStream {
  const { maxUnsent } = source;
  let cursor = options.after;
  let hub: Hub | null = null;
  let buffered: SharedFrame[] | null = [];
  let bufferedBytes = 0;
  let isClosed = false;
  let isQuiet = true;
  /** The size of the largest frame since the socket had last accepted everything. */
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
  async function joinHub({ hub: openHub }: WatchSource): Promise<SnapshotFrame | null> {
    while (!isClosed) {
      const opened = await openHub();
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
    // If the run has ended, all of it is in the log.
    const isOver = options.until === null;
    if (isOver || options.isFarBehind) await sendLog(watchSource);
    if (isOver) return bye("end");
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
