/**
 * A session that somebody watches in this process: one follower of its log, one source of deltas, any number of watchers.
 *
 * 1. A frame is made once, and each watcher is sent the same bytes.
 * 2. Text deltas of one part that come within 25 ms share a frame.
 * 3. The hub holds the message that is being streamed, by the rule of clients, so that a watcher who joins is told it.
 * 4. A watcher that does not keep up is closed. No queue grows, and no run waits.
 */
import type { StreamItem } from "../index.js";
import {
  type ByeReason,
  createStreamView,
  type DeltaFrame,
  type LiveSource,
  type SnapshotFrame,
  type StreamView,
} from "./client/index.js";
import { controlFrame, deltaFrame, itemFrame, type SharedFrame } from "./frames.js";

/** Somebody who watches a session. */
export type Watcher = {
  /** Sends a frame, if the watcher wants it. */
  readonly send: (frame: SharedFrame) => void;
  /** Sends a control frame, or what is not shared. */
  readonly tell: (bytes: Uint8Array) => void;
  /** Says why, and ends the stream. */
  readonly bye: (why: ByeReason) => void;
};

export type HubSource = {
  /**
   * The items of the session behind the present end of its log, until the signal is aborted. `onLive` is told where live
   * items come from, at first and whenever that changes.
   */
  readonly items: (signal: AbortSignal, onLive: (live: LiveSource) => void) => AsyncIterable<StreamItem>;
};

export type Hub = {
  readonly live: () => LiveSource;
  /**
   * Joins: what follows is sent to the watcher. Gives the message that is being streamed by now; null if the hub is over,
   * because its last watcher has left.
   */
  readonly join: (watcher: Watcher) => { readonly snapshot: SnapshotFrame | null } | null;
  readonly leave: (watcher: Watcher) => void;
};

/** How long a text delta waits for others of the same part, in milliseconds. */
const gatherMs = 25;

/** @param onEmpty called when the last watcher has left */
export function createHub(source: HubSource, firstLive: LiveSource, onEmpty: () => void): Hub {
  const watchers = new Set<Watcher>();
  const view: StreamView = createStreamView();
  const over = new AbortController();
  let live = firstLive;
  let gathered: DeltaFrame | null = null;
  let timer: ReturnType<typeof setTimeout> | null = null;
  let started = false;

  function publish(frame: SharedFrame): void {
    for (const watcher of watchers) watcher.send(frame);
  }

  function flush(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (gathered === null) return;
    const frame = gathered;
    gathered = null;
    publish(deltaFrame(frame));
  }

  function takeDelta(item: Extract<StreamItem, { readonly type: "delta" }>): void {
    const { delta } = item;
    view.apply({ data: { type: "delta", n: 1, delta } });
    const joined = gathered === null ? null : joinedWith(gathered, delta);
    if (joined === null) flush();
    gathered = joined ?? { type: "delta", n: 1, delta };
    const isText = delta.kind === "text-delta" || delta.kind === "reasoning-delta" || delta.kind === "tool-input-delta";
    if (!isText) flush();
    else timer ??= setTimeout(flush, gatherMs);
  }

  function take(item: StreamItem): void {
    if (item.type === "delta") {
      takeDelta(item);
      return;
    }
    flush();
    if ("seq" in item) {
      view.apply({ id: `${item.seq}.${item.index}`, data: item });
    } else if (item.type === "snapshot") view.apply({ data: item });
    publish(itemFrame(item));
  }

  function tellLive(found: LiveSource): void {
    if (found === live || over.signal.aborted) return;
    flush();
    live = found;
    for (const watcher of watchers) watcher.tell(controlFrame({ type: "live", live }));
  }

  async function follow(): Promise<void> {
    let why: ByeReason = "drain";
    try {
      for await (const item of source.items(over.signal, tellLive)) take(item);
    } catch {
      why = "error";
    }
    flush();
    for (const watcher of [...watchers]) watcher.bye(why);
  }

  return {
    live: () => live,
    join(watcher) {
      if (over.signal.aborted) return null;
      flush();
      watchers.add(watcher);
      if (!started) void follow();
      started = true;
      return { snapshot: snapshotOf(view) };
    },
    leave(watcher) {
      watchers.delete(watcher);
      if (watchers.size > 0 || over.signal.aborted) return;
      over.abort();
      if (timer !== null) clearTimeout(timer);
      onEmpty();
    },
  };
}

function snapshotOf(view: StreamView): SnapshotFrame | null {
  const partial = view.partial();
  if (partial === null) return null;
  const { seq, ...rest } = partial;
  return { type: "snapshot", ...rest, deltaSeq: seq };
}

/** Both deltas as one, if the second continues the text of the first. */
function joinedWith({ n, delta }: DeltaFrame, next: DeltaFrame["delta"]): DeltaFrame | null {
  if (!("text" in delta) || !("text" in next) || delta.kind !== next.kind || delta.id !== next.id) return null;
  const isSame =
    delta.runId === next.runId && delta.modelCallIndex === next.modelCallIndex && delta.attempt === next.attempt;
  if (!isSame || next.seq !== delta.seq + 1 || "providerMetadata" in delta || "providerMetadata" in next) return null;
  return { type: "delta", n: n + 1, delta: { ...next, text: delta.text + next.text } };
}
