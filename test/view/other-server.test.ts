/**
 * A reader whose connection is cut goes on at another server. Each server redacts the stream on its own, and so cuts the
 * text elsewhere: the numbers of the deltas are the same, but not which of them carries a word.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { createStreamRedaction, type MessageDelta, type PublicEvent, type StreamItem } from "../../src/index.js";
import { createStreamView, type FrameData, type StreamView } from "../../src/server/client/index.js";
import { formatCursor, isAfter, parseCursor, startCursor } from "../../src/stream/cursor.js";
import { createSessionView, type SessionView } from "../../src/view/session-view.js";

/** A server that joins a session when so many of its items have come: what it sends to a reader who comes later. */
function createServerStream(joinedAt: number) {
  const redact = createStreamRedaction((text) => text);
  const source = foldItems(live.slice(0, joinedAt)).snapshot().streamed;
  const view = createSessionView();
  const follow = (items: readonly StreamItem[]): readonly FrameData[] =>
    items.flatMap(redact).map((item) => {
      view.apply(item);
      return toFrame(item);
    });
  if (source !== null) follow([source]);
  let at = joinedAt;
  return {
    /** The frames for a reader who is connected between two positions of the stream, and had read the log before. */
    read(from: number, to: number, reader: StreamView): readonly FrameData[] {
      follow(live.slice(at, from));
      const cursor = parseCursor(reader.lastId()) ?? startCursor;
      const logged = live
        .slice(0, from)
        .flatMap((item) => ("seq" in item && isAfter(item, cursor) ? [toFrame(item)] : []));
      const { streamed } = view.snapshot();
      at = to;
      const open: FrameData = { type: "open", seq: 0, status: "model_running", live: "here" };
      return [open, ...logged, ...(streamed === null ? [] : [streamed]), ...follow(live.slice(from, to))];
    },
  };
}

function toFrame(item: StreamItem): FrameData {
  return item.type === "delta" ? { ...item, n: item.n ?? 1 } : item;
}

function foldItems(items: readonly StreamItem[]): SessionView {
  const view = createSessionView();
  for (const item of items) view.apply(item);
  return view;
}

/** Some pieces end within a word, so they wait for the next one: in the end, too. */
const said = Array.from({ length: 41 }, (_, index) => (index % 3 === 1 ? "half" : `word${index} `));
const ids = { runId: "r1", modelCallIndex: 1, attempt: 1 } as const;
const bodies = [
  { kind: "start" },
  { kind: "text-start", id: "t" },
  ...said.map((text) => ({ kind: "text-delta", id: "t", text })),
  { kind: "text-end", id: "t" },
];

function createEvent(seq: number, body: object): StreamItem {
  return { ...body, sessionId: "s", runId: "r1", seq, index: 1, at: seq } as unknown as PublicEvent;
}

/** A run of one message, as its holder streams it. */
const live: readonly StreamItem[] = [
  createEvent(1, { type: "run_started", input: [] }),
  ...bodies.map((body, at) => ({ type: "delta", delta: { ...body, ...ids, seq: at + 1 } as MessageDelta }) as const),
  createEvent(2, {
    type: "message",
    ...ids,
    message: { role: "assistant", parts: [{ type: "text", text: said.join("") }] },
  }),
  createEvent(3, { type: "final", result: { status: "completed", text: said.join("") } }),
];

/** How many frames come before the connection is cut, how far the next server is behind, and since when it has watched. */
const connections = fc.array(fc.tuple(fc.nat(20), fc.nat(12), fc.nat(12)), { minLength: 1, maxLength: 8 });

test("a reader who goes on at another server holds a beginning of what was said, and in the end all of it", () => {
  fc.assert(
    fc.property(connections, (cuts) => {
      const reader = createStreamView();
      let shown = "";
      let at = 0;
      const connect = (frames: readonly FrameData[]) => {
        for (const data of frames) {
          const frame = "seq" in data && "index" in data ? { id: formatCursor(data), data } : { data };
          if (reader.apply(frame) === "reconnect") return;
          shown =
            reader
              .partial()
              ?.message.parts.map((part) => ("text" in part ? part.text : ""))
              .join("") ?? "";
          expect(said.join("").startsWith(shown), shown).toBe(true);
        }
      };
      for (const [length, behind, watchedFor] of cuts) {
        const from = Math.max(1, at - behind);
        at = Math.min(live.length - 2, from + length);
        connect(createServerStream(Math.max(0, from - watchedFor)).read(from, at, reader));
      }
      connect(createServerStream(at).read(at, live.length - 2, reader));
      if (shown !== "") expect(shown).toBe(said.join(""));
      connect(createServerStream(live.length).read(live.length, live.length, reader));
      expect(reader.partial()).toBeNull();
    }),
    { numRuns: 500 },
  );
});

test("a snapshot within a secret, and another attempt after it, let out nothing of what waited", () => {
  const secret = "sk-0123456789";
  const redact = createStreamRedaction((text) => text.replaceAll(secret, "[secret]"));
  const delta = (seq: number, text: string, attempt = 1): StreamItem => ({
    type: "delta",
    delta: { ...ids, attempt, kind: "text-delta", id: "t", seq, text },
  });
  const snapshot: StreamItem = {
    type: "snapshot",
    ...ids,
    deltaSeq: 4,
    message: { role: "assistant", parts: [{ type: "text", text: `key ${secret.slice(0, 9)}` }] },
    open: [{ id: "t", type: "text", index: 0 }],
    inputs: [],
  };
  const items = [delta(1, "key "), delta(2, secret.slice(0, 5)), delta(3, secret.slice(5, 7)), snapshot];
  const ends = [delta(5, secret.slice(9)), delta(6, " and sk-0"), delta(1, "again", 2), delta(2, " and on", 2)];
  const sent = JSON.stringify([...items, ...ends].flatMap(redact));
  expect(sent).toContain("[secret]");
  expect(sent).toContain("again");
  expect(sent).not.toContain("sk-0");
});
