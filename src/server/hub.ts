/**
 * A session that is watched in this process: one follower of its log, one source of deltas, any number of watchers.
 *
 * 1. A frame is encoded once, and each watcher gets the same bytes.
 * 2. Deltas of one text that arrive shortly after a frame share the next one. The more watchers, the longer this time is.
 * 3. The hub assembles the message that is being streamed, as clients do, so that a new watcher gets it.
 * 4. A watcher that lags is closed. No queue grows, and no run waits.
 */

import type { StreamItem } from "../index.js";
import { createSessionView } from "../view/session-view.js";
import type { ByeReason, LiveSource, SnapshotFrame } from "./client/index.js";
import { createDeltaFrame, createItemFrame, encodeControlFrame, type SharedFrame } from "./frames.js";

/** A subscriber of a hub. */
export type Watcher = {
  /** Sends a frame, unless the watcher's options exclude it. */
  readonly send: (frame: SharedFrame) => void;
  /** Sends a control frame, or another frame that is not shared. */
  readonly sendControl: (bytes: Uint8Array) => void;
  /** Sends the reason, and ends the stream. */
  readonly bye: (reason: ByeReason) => void;
};

export type HubSource = {
  /**
   * The items of the session after the current end of its log, until the signal is aborted. Buffered deltas of one text are
   * joined. `onLive` is called with the source of live items, at first and whenever it changes.
   */
  readonly openItems: (signal: AbortSignal, onLive: (liveSource: LiveSource) => void) => AsyncIterable<StreamItem>;
};

export type Hub = {
  readonly liveSource: () => LiveSource;
  /**
   * Adds a watcher, which gets all further frames. Returns the message that is being streamed at present; null if the hub has
   * ended, because its last watcher has left.
   */
  readonly addWatcher: (watcher: Watcher) => { readonly snapshot: SnapshotFrame | null } | null;
  readonly removeWatcher: (watcher: Watcher) => void;
};

/**
 * How long the hub pauses reading after a piece of text, in milliseconds: the text that arrives meanwhile becomes one frame. This
 * saves work for many sockets. One watcher costs little and sees each word at once; with a hundred, the pause is too short to be
 * noticed.
 */
function pauseMs(watchers: number): number {
  return Math.min(25, Math.max(1, watchers / 4));
}

/** @param onEmpty called when the last watcher has left */
export function createHub(source: HubSource, initialLiveSource: LiveSource, onEmpty: () => void): Hub {
  const watchers = new Set<Watcher>();
  const view = createSessionView();
  const lifetime = new AbortController();
  let liveSource = initialLiveSource;
  let started = false;

  function publish(frame: SharedFrame): void {
    for (const watcher of watchers) watcher.send(frame);
  }

  function publishItem(item: StreamItem): void {
    view.apply(item);
    if (item.type === "delta") publish(createDeltaFrame({ n: 1, ...item }));
    else publish(createItemFrame(item));
  }

  function publishLiveSource(newSource: LiveSource): void {
    if (newSource === liveSource || lifetime.signal.aborted) return;
    liveSource = newSource;
    for (const watcher of watchers) watcher.sendControl(encodeControlFrame({ type: "live", live: liveSource }));
  }

  async function follow(): Promise<void> {
    let reason: ByeReason = "drain";
    try {
      for await (const item of source.openItems(lifetime.signal, publishLiveSource)) {
        publishItem(item);
        if (item.type === "delta" && "text" in item.delta) await pause(pauseMs(watchers.size));
      }
    } catch {
      reason = "error";
    }
    for (const watcher of [...watchers]) watcher.bye(reason);
  }

  return {
    liveSource: () => liveSource,
    addWatcher(watcher) {
      if (lifetime.signal.aborted) return null;
      watchers.add(watcher);
      if (!started) void follow();
      started = true;
      return { snapshot: view.snapshot().streamed };
    },
    removeWatcher(watcher) {
      watchers.delete(watcher);
      if (watchers.size > 0 || lifetime.signal.aborted) return;
      lifetime.abort();
      onEmpty();
    },
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
