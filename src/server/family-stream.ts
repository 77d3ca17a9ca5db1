/**
 * The stream of a session and the sessions below it. Each reader has items of its own: there is no hub. A reader that does
 * not keep up is told `lagged`, and goes on from the logs.
 */
import { createStreamRedaction, type FamilyItem, type Redact, type StreamItem } from "../index.js";
import type { ControlFrame, LiveSource } from "./client/index.js";
import { beatFrame, byeFrame, controlFrame, retryFrame } from "./frames.js";
import { askEveryMs } from "./read-right.js";
import { enoughUnsent, type Sink } from "./sink.js";
import type { OpenStream } from "./watch.js";

export type FamilyRules = {
  readonly redact: Redact;
  /** Whether a session of the family may be shown. Asked about each at most once a second. */
  readonly mayRead: (sessionId: string) => Promise<boolean>;
  readonly live: LiveNews;
};

/** Where the live items of the session at the top come from, as far as this is known, and who is told when it changes. */
export type LiveNews = { latest: LiveSource; onChange: (live: LiveSource) => void };

const encoder = new TextEncoder();

/**
 * @param opening the first frame, except for where live items come from
 * @param left is aborted when the stream has ended
 */
export function familyStream(
  items: AsyncIterable<FamilyItem>,
  opening: Omit<Extract<ControlFrame, { readonly type: "open" }>, "live">,
  left: AbortController,
  { redact, mayRead, live }: FamilyRules,
  sink: Sink,
): OpenStream {
  let isQuiet = true;
  let isOver = false;
  const write = (bytes: Uint8Array): void => {
    if (isOver) return;
    isQuiet = false;
    sink.write(bytes);
  };

  function end(bytes: Uint8Array): void {
    if (isOver) return;
    write(bytes);
    isOver = true;
    sink.end();
    left.abort();
  }

  async function pump(): Promise<void> {
    const shown = createFamilyRedaction(redact);
    const isReadable = createReadableCheck(mayRead);
    write(retryFrame);
    write(controlFrame({ ...opening, live: live.latest }));
    live.onChange = (found) => write(controlFrame({ type: "live", live: found }));
    for await (const item of items) {
      // The right to the session at the top is that to the stream.
      if (item.depth > 0 && !(await isReadable(item.sessionId))) continue;
      for (const one of shown(item)) {
        if (isOver) return;
        write(frameOf(one));
      }
      if (sink.unsent() > enoughUnsent) await sink.drained();
    }
    end(byeFrame("drain"));
  }

  sink.onClose(() => {
    isOver = true;
    left.abort();
  });
  pump().catch(() => end(byeFrame("error")));
  return {
    bye: (why, retryMs) => end(byeFrame(why, retryMs)),
    beat() {
      if (isQuiet && !isOver) sink.write(beatFrame);
      isQuiet = true;
    },
  };
}

/** A session that was refused once stays out of the stream: what came between would be missing. */
function createReadableCheck(mayRead: FamilyRules["mayRead"]): (sessionId: string) => Promise<boolean> {
  const askedAt = new Map<string, number>();
  const refused = new Set<string>();
  return async (sessionId) => {
    if (refused.has(sessionId)) return false;
    const at = Date.now();
    if (at - (askedAt.get(sessionId) ?? Number.NEGATIVE_INFINITY) < askEveryMs) return true;
    askedAt.set(sessionId, at);
    if (await mayRead(sessionId)) return true;
    refused.add(sessionId);
    return false;
  };
}

function frameOf(item: FamilyItem): Uint8Array {
  const id = "cursor" in item ? `id: ${item.cursor}\n` : "";
  const data = item.type === "delta" ? { n: 1, ...item } : item;
  return encoder.encode(`${id}data: ${JSON.stringify(data)}\n\n`);
}

/** Texts are held back apart for each session. */
function createFamilyRedaction(redact: Redact): (item: FamilyItem) => readonly FamilyItem[] {
  const bySession = new Map<string, (item: StreamItem) => readonly StreamItem[]>();
  return (item) => {
    if (item.type === "children_omitted") return [item];
    const { sessionId, parent, depth } = item;
    const clean = bySession.get(sessionId) ?? createStreamRedaction(redact);
    bySession.set(sessionId, clean);
    const family = { sessionId, depth, ...(parent === undefined ? {} : { parent }) };
    const cursor = "cursor" in item ? { cursor: item.cursor } : {};
    const cleaned = clean(item as StreamItem).map((one) => {
      const isEvent = "seq" in one;
      return { ...one, ...family, ...(isEvent ? cursor : {}) } as FamilyItem;
    });
    // The end of a run ends what is held back of its session.
    if (item.type === "final") bySession.delete(sessionId);
    return cleaned;
  };
}
