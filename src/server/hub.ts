/**
 * The hub of a session that is watched in this process: it redacts the items once, and has a tail for each watcher.
 *
 * 1. Text deltas that arrive shortly after each other are joined into one. The more watchers, the longer the hub waits.
 * 2. The hub assembles the message that is streaming, as clients do, and sends it to new watchers.
 * 3. All watchers get the same objects, so that each is encoded once.
 */

import { createStreamRedaction, PawlError, type Redact, type StreamItem } from "../index.js";
import {
  createTail,
  defaultMaxBehind,
  endTail,
  pushItem,
  type Tail,
  type TailError,
  type TailOptions,
  type TailSource,
} from "../stream/tail/tail.js";
import { addWaiting, createWaitingItems, takeWaiting } from "../stream/tail/waiting-items.js";
import { createSessionView } from "../view/session-view.js";
import type { LiveSource } from "./client/index.js";
import type { LinkListener, SessionLink } from "./peers/session-link.js";

export type HubSource = {
  readonly openLink: () => Pick<SessionLink, "join" | "leave" | "inProgress">;
  /** The redacted events after a cursor, to the current end of the log. */
  readonly logged: TailSource["logged"];
  readonly redact: Redact;
};

export type Hub = {
  readonly liveSource: () => LiveSource;
  /**
   * Returns the tail of a new watcher, or null if the hub has ended because its last watcher has left. If the items end before the
   * session does, the tail fails with `shut_down`.
   * @param onLive called whenever the source of live items changes
   */
  readonly join: (
    options: Pick<TailOptions, "after" | "live" | "runId" | "until" | "hasEnded">,
    onLive: (liveSource: LiveSource) => void,
  ) => Tail | null;
};

/**
 * How long the hub waits after a piece of text, in milliseconds. The text that arrives meanwhile becomes one frame, which saves work
 * for many sockets. A single watcher sees each word at once; with a hundred, the pause is too short to be noticed.
 */
function pauseMs(watchers: number): number {
  return Math.min(25, Math.max(1, watchers / 4));
}

const waitingOptions = { maxBehind: defaultMaxBehind, joinDeltas: true };

/** @param onEmpty called when the last watcher has left */
export function createHub(
  { openLink, logged, redact }: HubSource,
  initialLiveSource: LiveSource,
  onEmpty: () => void,
): Hub {
  const watchers = new Map<Tail, (liveSource: LiveSource) => void>();
  const view = createSessionView();
  const waiting = createWaitingItems();
  let link: ReturnType<typeof openLink> | null = null;
  /** Created with the first item, because a process may have many idle hubs. */
  let redactItem: ReturnType<typeof createStreamRedaction> | null = null;
  let timer: ReturnType<typeof setTimeout> | null = null;
  /** The last entry that the watchers got. */
  let seq = 0;
  let liveSource = initialLiveSource;
  let hasEnded = false;

  function publish(item: StreamItem): void {
    redactItem ??= createStreamRedaction(redact);
    for (const redacted of redactItem(item)) {
      view.apply(redacted);
      if ("seq" in redacted) ({ seq } = redacted);
      Object.freeze(redacted);
      for (const tail of watchers.keys()) pushItem(tail, redacted);
    }
  }

  /** Publishes the waiting items. After a piece of text, the next items wait for a moment. */
  function publishWaiting(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    let hasText = false;
    try {
      for (let item = takeWaiting(waiting); item !== undefined; item = takeWaiting(waiting)) {
        publish(item);
        hasText ||= item.type === "delta" && "text" in item.delta;
      }
    } catch (cause) {
      // The redaction may be the caller's function, and throw.
      endTails({ cause });
    }
    if (hasText && !hasEnded) timer = setTimeout(publishWaiting, pauseMs(watchers.size));
  }

  function endTails(error: TailError): void {
    for (const tail of [...watchers.keys()]) endTail(tail, error);
  }

  const listener: LinkListener = {
    item(item) {
      if (!addWaiting(waiting, item, waitingOptions)) {
        publishWaiting();
        addWaiting(waiting, item, waitingOptions);
      }
      if (timer === null) publishWaiting();
    },
    live(newSource) {
      if (newSource === liveSource) return;
      liveSource = newSource;
      for (const onLive of watchers.values()) onLive(liveSource);
    },
    end(error: TailError = { cause: new PawlError("shut_down", "The agent was shut down in this process.") }) {
      publishWaiting();
      endTails(error);
    },
  };

  const tailSource: TailSource = {
    logged,
    inProgress() {
      const { streamed } = view.snapshot();
      return streamed === null ? [] : [streamed];
    },
  };

  function removeWatcher(tail: Tail): void {
    watchers.delete(tail);
    if (watchers.size > 0 || hasEnded) return;
    hasEnded = true;
    if (timer !== null) clearTimeout(timer);
    link?.leave(listener);
    onEmpty();
  }

  return {
    liveSource: () => liveSource,
    join(options, onLive) {
      if (hasEnded) return null;
      const knownSource = liveSource;
      const opened = link === null ? openLink() : null;
      if (opened !== null) {
        link = opened;
        seq = opened.join(listener);
      }
      const tail: Tail = createTail(tailSource, seq, { ...options, onLeave: () => removeWatcher(tail) });
      watchers.set(tail, onLive);
      // If other readers opened the link earlier, it reports its source at once, and has the beginning of the message.
      if (liveSource !== knownSource) onLive(liveSource);
      for (const item of opened?.inProgress() ?? []) listener.item(item);
      return tail;
    },
  };
}
