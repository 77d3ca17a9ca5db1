/**
 * Events from the store and the stream of the holder, each late by chance: the items of the link are in the order in which the
 * holder had them (SRV-2, SRV-3).
 */

import fc from "fast-check";
import { expect, test } from "vitest";
import type { PublicEvent, SessionSource, StreamItem } from "../../src/index.js";
import { createStreamView, type LiveSource } from "../../src/server/client/index.js";
import { createHub } from "../../src/server/hub.js";
import type { LinkFrame } from "../../src/server/peers/link-frames.js";
import { createSessionLink, readLink } from "../../src/server/peers/session-link.js";
import { afterEntry, type Cursor, isAfter, parseCursor, startCursor } from "../../src/stream/cursor.js";
import { createItems } from "../../src/stream/tail/tail.js";
import { verifies } from "../verifies.js";

type Said = StreamItem;

const event = (seq: number, index: number, more: object) =>
  ({ sessionId: "s", seq, index, at: 1, ...more }) as unknown as PublicEvent;

/** A run of some messages: what the holder says, in its order. */
function said(lengths: readonly number[]): readonly Said[] {
  const items: Said[] = [event(2, 1, { type: "run_started", runId: "r" })];
  for (const [step, length] of lengths.entries()) {
    const attempt = { runId: "r", modelCallIndex: step + 1, attempt: 1 };
    const delta = (seq: number, more: object) =>
      items.push({ type: "delta", delta: { ...attempt, seq, ...more } } as unknown as Said);
    delta(1, { kind: "start" });
    delta(2, { kind: "text-start", id: "t" });
    for (let index = 0; index < length; index += 1)
      delta(3 + index, { kind: "text-delta", id: "t", text: `${step}.${index} ` });
    items.push(event(10 * step + 12, 1, { type: "message", ...attempt, message: { role: "assistant", parts: [] } }));
    const callKey = `r/${step + 1}/1`;
    items.push({ type: "progress", callKey, note: "half" });
    items.push(event(10 * step + 14, 1, { type: "call_complete", callKey }));
  }
  return [...items, event(500, 1, { type: "final", runId: "r" })];
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** What the holder has said by now, and how far each way to the watcher has come. */
function createWorld(items: readonly Said[]) {
  let at = 0;
  let followedTo = 0;
  let cut = new AbortController();
  const events = () => items.slice(0, at).filter((item): item is PublicEvent => "seq" in item);
  const frames = async function* (after: Cursor, signal: AbortSignal): AsyncGenerator<LinkFrame> {
    let sent = at;
    const own = cut;
    yield { type: "open" };
    const view = createStreamView();
    for (const item of items.slice(0, sent)) {
      if (item.type === "delta") view.apply({ data: { type: "delta", n: 1, delta: item.delta } });
      else if ("seq" in item) view.apply({ id: `${item.seq}.${item.index}`, data: item });
      if ("seq" in item && isAfter(item, after)) yield item;
    }
    const partial = view.partial();
    if (partial !== null) {
      const { seq: deltaSeq, ...rest } = partial;
      yield { type: "snapshot", ...rest, deltaSeq };
    }
    for (;;) {
      for (; sent < world.linkedTo(); sent += 1) yield items[sent] as LinkFrame;
      if (signal.aborted || own.signal.aborted) return;
      await turn();
    }
  };
  let linked = 0;
  const world = {
    linkedTo: () => Math.min(linked, at),
    events,
    frames,
    isOver: () => at === items.length,
    say: (count: number) => {
      at = Math.min(items.length, at + count);
    },
    link: (count: number) => {
      linked = Math.min(at, linked + count);
    },
    follow: (count: number) => {
      followedTo = Math.min(events().length, followedTo + count);
    },
    cut() {
      cut.abort();
      cut = new AbortController();
    },
    async *followed(): AsyncGenerator<StreamItem, void, undefined> {
      for (let given = 0; given < events().length || at < items.length; ) {
        const found = given < followedTo ? events()[given] : undefined;
        if (found === undefined) await turn();
        else {
          given += 1;
          yield found;
        }
      }
    },
    async *logged(after: Cursor) {
      for (const one of events()) if (isAfter(one, after)) yield one;
    },
  };
  return world;
}

const steps = fc.array(
  fc.oneof(
    fc.record({
      what: fc.constantFrom("say", "link", "follow") as fc.Arbitrary<"say" | "link" | "follow">,
      count: fc.integer({ min: 1, max: 8 }),
    }),
    fc.constant({ what: "cut" as const, count: 0 }),
  ),
  { maxLength: 40 },
);

test(
  "live items come behind the events before them, and never behind their own end",
  verifies("SRV-3", "SRV-2#processes"),
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 4 }),
        steps,
        async (lengths, moves) => {
          const items = said(lengths);
          const world = createWorld(items);
          const lives: LiveSource[] = [];
          const { followed, logged } = world;
          const session: SessionSource = {
            id: "s",
            events: ({ after, follow = true }) => (follow ? followed() : logged(parseCursor(after) ?? startCursor)),
          };
          const holder = { id: "h", host: "h", pid: 1, startedAt: 1 };
          const link = createSessionLink(session, { seq: 1, holder } as never, {
            describe: async () => ({ seq: 0, holder }) as never,
            isLocalHolder: () => false,
            isDrivenHere: () => false,
            hasWorker: false,
            findLocalSource: async () => "none",
            findPeerAddress: () => "http://holder",
            connect: (_id, _address, after, signal) => world.frames(after, signal),
            onEmpty: () => {},
          });
          const linkedItems = readLink(link, afterEntry(1), { signal: undefined, onLive: (live) => lives.push(live) });
          const got: StreamItem[] = [];
          const reading = (async () => {
            for await (const item of linkedItems) got.push(item);
          })();
          for (const { what, count } of moves) {
            world[what](count);
            await turn();
            await turn();
          }
          world.say(1_000);
          world.link(1_000);
          world.follow(1_000);
          await reading;
          expect(got.filter((item) => "seq" in item)).toEqual(world.events());
          const view = createStreamView();
          for (const item of got) {
            const place = items.indexOf(item as Said);
            if (item.type === "delta") expect(view.apply({ data: { n: 1, ...item } })).toBe("partial");
            else if (item.type === "snapshot") expect(view.apply({ data: item })).toBe("partial");
            else if ("seq" in item) view.apply({ id: `${item.seq}.${item.index}`, data: item });
            if (place === -1 || "seq" in item) continue;
            const told = got.slice(0, got.indexOf(item));
            if (item.type === "progress")
              expect(told.filter((one) => one.type === "call_complete" && one.callKey === item.callKey)).toEqual([]);
            for (const before of items.slice(0, place)) if ("seq" in before) expect(told).toContain(before);
          }
          expect(lives[0]).toBe("none");
        },
      ),
      { numRuns: 60 },
    );
  },
);

test("a hub of a link that others already read begins with the message in progress, and its source", async () => {
  const items = said([2]);
  const pushed: StreamItem[] = [];
  const session: SessionSource = {
    id: "s",
    async *events({ follow = true }) {
      while (follow) {
        yield* pushed.splice(0);
        await turn();
      }
    },
  };
  const link = createSessionLink(session, { seq: 1, holder: null } as never, {
    describe: async () => ({ seq: 1, holder: null }) as never,
    isLocalHolder: () => false,
    isDrivenHere: () => false,
    hasWorker: true,
    findLocalSource: async () => "here",
    findPeerAddress: () => null,
    connect: async function* () {},
    onEmpty: () => {},
  });
  const reader = readLink(link, afterEntry(1), { signal: undefined });
  pushed.push(...items.slice(0, 5));
  while (JSON.stringify(link.inProgress()).includes("0.1 ") === false) await turn();
  const lives: LiveSource[] = [];
  const hub = createHub({ openLink: () => link, async *logged() {}, redact: (text) => text }, "none", () => {});
  const tail = hub.join({ after: afterEntry(2) }, (live) => lives.push(live));
  if (tail === null) throw new Error("The hub has ended.");
  const watched = createItems(tail);
  expect((await watched.next()).value).toMatchObject({ type: "snapshot", message: { parts: [{ text: "0.0 0.1 " }] } });
  expect(lives).toEqual(["here"]);
  await watched.return();
  await reader.return();
});
