/**
 * Streams a session and its descendants. Each reader reads its own items, without a hub. A reader that lags gets `lagged`, and
 * continues from the logs.
 */
import { createStreamRedaction, type FamilyItem, type Redact, type StreamItem } from "../index.js";
import type { ControlFrame, LiveSource } from "./client/index.js";
import { createByeFrame, encodeControlFrame, encodeItem, heartbeatFrame, retryFrame } from "./frames.js";
import { recheckEveryMs } from "./read-permission.js";
import { type Sink, unsentHighWaterMark } from "./sink.js";
import type { OpenStream } from "./watch.js";

export type FamilyStreamDeps = {
  readonly redact: Redact;
  /** Whether a session of the family may be shown. Called at most once a second for each session. */
  readonly mayRead: (sessionId: string) => Promise<boolean>;
  readonly live: LiveSourceState;
};

/** The latest known source of the top session's live items, and a listener for its changes. */
export type LiveSourceState = { latest: LiveSource; onChange: (live: LiveSource) => void };

/**
 * @param opening the first frame, without the source of live items
 * @param connection aborted when the stream has ended
 */
export function startFamilyStream(
  items: AsyncIterable<FamilyItem>,
  opening: Omit<Extract<ControlFrame, { readonly type: "open" }>, "live">,
  connection: AbortController,
  { redact, mayRead, live }: FamilyStreamDeps,
  sink: Sink,
): OpenStream {
  let isQuiet = true;
  let isClosed = false;
  const write = (bytes: Uint8Array): void => {
    if (isClosed) return;
    isQuiet = false;
    sink.write(bytes);
  };

  function end(bytes: Uint8Array): void {
    if (isClosed) return;
    write(bytes);
    isClosed = true;
    sink.end();
    connection.abort();
  }

  async function pump(): Promise<void> {
    const redactItem = createFamilyRedaction(redact);
    const isReadable = createReadableCheck(mayRead);
    write(retryFrame);
    write(encodeControlFrame({ ...opening, live: live.latest }));
    live.onChange = (source) => write(encodeControlFrame({ type: "live", live: source }));
    for await (const item of items) {
      // Whoever may read the stream may read the top session.
      if (item.depth > 0 && !(await isReadable(item.sessionId))) continue;
      for (const redacted of redactItem(item)) {
        if (isClosed) return;
        write(encodeItem(redacted));
      }
      if (sink.unsentBytes() > unsentHighWaterMark) await sink.whenDrained();
    }
    end(createByeFrame("drain"));
  }

  sink.onClose(() => {
    isClosed = true;
    connection.abort();
  });
  pump().catch(() => end(createByeFrame("error")));
  return {
    bye: (why, retryMs) => end(createByeFrame(why, retryMs)),
    heartbeat() {
      if (isQuiet && !isClosed) sink.write(heartbeatFrame);
      isQuiet = true;
    },
  };
}

/** A session that was refused once stays excluded, because the reader would miss the items in between. */
function createReadableCheck(mayRead: FamilyStreamDeps["mayRead"]): (sessionId: string) => Promise<boolean> {
  const checkedAt = new Map<string, number>();
  const deniedIds = new Set<string>();
  return async (sessionId) => {
    if (deniedIds.has(sessionId)) return false;
    const now = Date.now();
    if (now - (checkedAt.get(sessionId) ?? Number.NEGATIVE_INFINITY) < recheckEveryMs) return true;
    checkedAt.set(sessionId, now);
    if (await mayRead(sessionId)) return true;
    deniedIds.add(sessionId);
    return false;
  };
}

/** Redacts each session separately, because redaction buffers text. */
function createFamilyRedaction(redact: Redact): (item: FamilyItem) => readonly FamilyItem[] {
  const bySession = new Map<string, (item: StreamItem) => readonly StreamItem[]>();
  return (item) => {
    if (item.type === "children_omitted") return [item];
    const { sessionId, parent, depth } = item;
    const redactItem = bySession.get(sessionId) ?? createStreamRedaction(redact);
    bySession.set(sessionId, redactItem);
    const family = { sessionId, depth, ...(parent === undefined ? {} : { parent }) };
    const cursor = "cursor" in item ? { cursor: item.cursor } : {};
    const redactedItems = redactItem(item as StreamItem).map((redacted) => {
      const isEvent = "seq" in redacted;
      return { ...redacted, ...family, ...(isEvent ? cursor : {}) } as FamilyItem;
    });
    // The end of a run flushes the session's buffer.
    if (item.type === "final") bySession.delete(sessionId);
    return redactedItems;
  };
}
