/**
 * A session that somebody watches in this process: one follower of its log, one source of deltas, any number of watchers.
 *
 * 1. A frame is made once, and each watcher is sent the same bytes.
 * 2. Deltas of one text that come within a moment after a frame share the next one; the more watch, the longer it is.
 * 3. The hub holds the message that is being streamed, as clients do, so that a watcher who joins is told it.
 * 4. A watcher that does not keep up is closed. No queue grows, and no run waits.
 */

import type { StreamItem } from "../index.js";
import { createSessionView } from "../view/session-view.js";
import type { ByeReason, LiveSource, SnapshotFrame } from "./client/index.js";
import { createDeltaFrame, createItemFrame, encodeControlFrame, type SharedFrame } from "./frames.js";

/** Somebody who watches a session. */
export type Watcher = {
  /** Sends a frame, if the watcher wants it. */
  readonly send: (frame: SharedFrame) => void;
  /** Sends a control frame, or what is not shared. */
  readonly sendControl: (bytes: Uint8Array) => void;
  /** Says why, and ends the stream. */
  readonly bye: (reason: ByeReason) => void;
};

export type HubSource = {
  /**
   * The items of the session behind the present end of its log, until the signal is aborted. Deltas of one text that wait
   * are joined. `onLive` is told where live items come from, at first and whenever that changes.
   */
  readonly openItems: (signal: AbortSignal, onLive: (liveSource: LiveSource) => void) => AsyncIterable<StreamItem>;
};

export type Hub = {
  readonly liveSource: () => LiveSource;
  /**
   * Joins: what follows is sent to the watcher. Gives the message that is being streamed by now; null if the hub is over,
   * because its last watcher has left.
   */
  readonly addWatcher: (watcher: Watcher) => { readonly snapshot: SnapshotFrame | null } | null;
  readonly removeWatcher: (watcher: Watcher) => void;
};

/**
 * How long the hub reads no further after a piece of text, in milliseconds: what comes meanwhile becomes one frame. This
 * saves the work of many sockets. One watcher costs little and sees each word at once; a hundred wait as long as no
 * reader notices.
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
