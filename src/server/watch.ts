/**
 * Streams one session to one client, from the client's tail in the session's hub.
 *
 * The log is read as fast as the socket accepts it. If the socket does not keep up with live frames, the stream ends. A single large
 * frame does not end it, because a client that was disconnected for it would get the same frame again.
 */

import { PawlError } from "../index.js";
import { type Cursor, startCursor } from "../stream/cursor.js";
import { createItems, isCatchingUp, type Tail } from "../stream/tail/tail.js";
import type { ByeReason, LiveSource } from "./client/index.js";
import { createByeFrame, encodeControlFrame, encodeItem, heartbeatFrame, retryFrame } from "./frames.js";
import type { Hub } from "./hub.js";
import type { Sink } from "./sink.js";

export type WatchOptions = {
  /** The cursor after which the stream continues; null: from the beginning. */
  readonly after: Cursor | null;
  /** Whether the requested cursor is beyond the log. */
  readonly isReset: boolean;
  /** If set, only items of this run, or of no run, are sent. */
  readonly runId: string | undefined;
  /** Whether to send deltas and everything else that is not in the log. */
  readonly deltas: boolean;
  /** The run with which the stream ends. Null: the run has already ended. Undefined: the stream does not end by itself. */
  readonly until: string | null | undefined;
};

export type WatchSource = {
  readonly hub: () => Promise<Hub>;
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
 * Starts watching. The stream ends when the client disconnects, or with a `bye`. Once it has joined the hub, it releases its source,
 * because a process may have many watchers of inactive sessions.
 */
export function watchSession(source: WatchSource, options: WatchOptions, sink: Sink): OpenStream {
  const { maxUnsent } = source;
  let items: ReturnType<typeof createItems> | null = null;
  let isClosed = false;
  let isQuiet = true;
  /** The size of the largest frame since the socket last had no unsent data. */
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
    void items?.return();
    items = null;
  }

  async function openTail({ hub: openHub, opening }: WatchSource): Promise<Tail> {
    write(retryFrame);
    write(await opening());
    if (options.isReset) write(encodeControlFrame({ type: "reset" }));
    const { runId, until } = options;
    const wanted = {
      after: options.after ?? startCursor,
      live: options.deltas,
      ...(runId === undefined ? {} : { runId }),
      ...(typeof until === "string" ? { until } : {}),
      // The rest of an ended run is in the log, although the hub may not have read as far yet.
      ...(until === null ? { hasEnded: async () => true } : {}),
    };
    const onLive = (live: LiveSource) => write(encodeControlFrame({ type: "live", live }));
    // A hub ends with its last watcher. Join the next hub in that case.
    let tail = (await openHub()).join(wanted, onLive);
    while (tail === null) tail = (await openHub()).join(wanted, onLive);
    return tail;
  }

  async function sendItems(tail: Tail): Promise<void> {
    const opened = createItems(tail);
    items = opened;
    if (isClosed) closeStream();
    for await (const item of opened) {
      write(encodeItem(item));
      if (isCatchingUp(tail)) await sink.whenDrained();
      else if (sink.unsentBytes() > maxUnsent + maxFrameBytes) return bye("slow");
    }
    bye("end");
  }

  sink.onClose(closeStream);
  openTail(source)
    .then(sendItems)
    .catch((error) => bye(error instanceof PawlError && error.code === "shut_down" ? "drain" : "error"));
  return {
    bye,
    heartbeat() {
      if (isQuiet && !isClosed) sink.write(heartbeatFrame);
      isQuiet = true;
    },
  };
}
