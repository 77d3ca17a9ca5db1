/**
 * The join of a log with what happens live: whatever a source drops, repeats or brings late, the consumer gets each event once and in
 * order, and the deltas continue what it has.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { PublicEvent, StreamItem } from "../../src/index.js";
import { type Cursor, cursorAfter, isAfter, startCursor } from "../../src/stream/cursor.js";
import {
  createItems,
  createTail,
  endOnAbort,
  endTail,
  pushItem,
  readFromLog,
  type Tail,
  type TailSource,
} from "../../src/stream/tail/tail.js";
import { createSessionView } from "../../src/view/session-view.js";
import { verifies } from "../verifies.js";
import { cuts, logs, toStreamedItems } from "../view/streamed.js";

/** What happens next: at the source, or at the consumer. */
type Step =
  /** The next items are pushed; entries ahead of them may be in the log already. */
  | { readonly type: "push"; readonly count: number; readonly ahead: number }
  /** The next items are not pushed, but the source says that they are in the log. */
  | { readonly type: "skip"; readonly count: number }
  /** An event that was pushed is pushed again. */
  | { readonly type: "repeat"; readonly back: number }
  | { readonly type: "read"; readonly count: number }
  /** Promises settle. */
  | { readonly type: "settle"; readonly ticks: number };

const upTo = (max: number) => fc.integer({ min: 1, max });
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    fc.record({ type: fc.constant("push" as const), count: upTo(6), ahead: fc.nat(6) }),
    fc.record({ type: fc.constant("skip" as const), count: upTo(4) }),
    fc.record({ type: fc.constant("repeat" as const), back: upTo(8) }),
    fc.record({ type: fc.constant("read" as const), count: upTo(8) }),
    fc.record({ type: fc.constant("settle" as const), ticks: upTo(12) }),
  ),
  { maxLength: 60 },
);
const settings = fc.record({ maxBehind: upTo(12), joinDeltas: fc.boolean() });

const isEvent = (item: StreamItem): item is PublicEvent => "seq" in item;

/** A session whose items happen when the test says so. */
function createWorld(timeline: readonly StreamItem[], startAt: number) {
  let pushed = startAt;
  let committed = startAt;
  let failure: Error | null = null;
  const live = createSessionView();
  for (const item of timeline.slice(0, startAt)) live.apply(item);
  const commitTo = (at: number) => {
    committed = Math.min(timeline.length, Math.max(committed, at));
    // An entry is committed as a whole.
    const last = timeline[committed - 1];
    if (last === undefined || !isEvent(last)) return;
    for (let next = timeline[committed]; next !== undefined && isEvent(next) && next.seq === last.seq; )
      next = timeline[++committed];
  };
  commitTo(startAt);
  const source = {
    async *logged(after: Cursor) {
      for (let at = 0; at < committed; at += 1) {
        const item = timeline[at];
        if (item === undefined || !isEvent(item) || !isAfter(item, after)) continue;
        await Promise.resolve();
        if (failure !== null) throw failure;
        yield item;
      }
    },
    inProgress: () => [live.snapshot().streamed].filter((snapshot) => snapshot !== null),
  };
  return {
    source,
    startSeq: timeline.slice(0, startAt).findLast(isEvent)?.seq ?? 0,
    fail: (error: Error) => {
      failure = error;
    },
    isOver: () => pushed >= timeline.length,
    act(tail: Tail, step: Step): void {
      if (step.type === "repeat") {
        const item = timeline.slice(0, pushed).filter(isEvent).at(-step.back);
        if (item !== undefined) pushItem(tail, item);
      }
      if (step.type !== "push" && step.type !== "skip") return;
      const end = Math.min(timeline.length, pushed + step.count);
      commitTo(end + (step.type === "push" ? step.ahead : 0));
      for (; pushed < end; pushed += 1) {
        const item = timeline[pushed] as StreamItem;
        live.apply(item);
        if (step.type === "push") pushItem(tail, item);
      }
      if (step.type === "skip") readFromLog(tail);
    },
  };
}

type World = ReturnType<typeof createWorld>;

const emptySource: TailSource = { async *logged() {}, inProgress: () => [] };

async function settle(ticks: number): Promise<void> {
  for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve();
}

/** Runs the steps. Each item that is read goes to `got`, in the order of the reads. */
async function play(world: World, tail: Tail, todo: readonly Step[], got: StreamItem[]): Promise<unknown[]> {
  const items = createItems(tail);
  const errors: unknown[] = [];
  const reads: Promise<void>[] = [];
  const read = () =>
    items.next().then(
      (result) => void (result.done === true || got.push(result.value)),
      (error: unknown) => void errors.push(error),
    );
  for (const step of todo) {
    if (step.type === "read") for (let count = 0; count < step.count; count += 1) reads.push(read());
    else if (step.type === "settle") await settle(step.ticks);
    else world.act(tail, step);
  }
  while (!world.isOver()) world.act(tail, { type: "push", count: 3, ahead: 2 });
  endTail(tail);
  await Promise.all(reads);
  for (let before = -1; before !== got.length + errors.length; ) {
    before = got.length + errors.length;
    await read();
  }
  return errors;
}

/** The events after a cursor, each once and in order; and each delta continues what the consumer has. */
function expectJoined(got: readonly StreamItem[], log: readonly PublicEvent[], after: Cursor): void {
  expect(got.filter(isEvent)).toEqual(log.filter((event) => isAfter(event, after)));
  const view = createSessionView(after);
  for (const item of got) {
    if (item.type === "lagged") view.rejoin();
    const changes = view.apply(item);
    expect(changes.map(({ type }) => type)).not.toContain("gap");
    if (isEvent(item) || item.type === "delta") expect(changes.length, JSON.stringify(item)).toBeGreaterThan(0);
  }
}

const cases = fc.record({ log: logs, how: cuts, at: fc.nat(), from: fc.nat(), todo: steps, options: settings });

function begin({ log, how, at, from, options }: typeof cases extends fc.Arbitrary<infer Case> ? Case : never) {
  const timeline = toStreamedItems(log, { ...how, joins: [1] });
  const world = createWorld(timeline, at % (timeline.length + 1));
  const event = log[from % (log.length + 1)];
  const after = event === undefined ? startCursor : cursorAfter(event);
  let left = 0;
  const onLeave = () => {
    left += 1;
  };
  const tail = createTail(world.source, world.startSeq, { ...options, after, stays: true, onLeave });
  return { world, after, tail, leaves: () => left };
}

test("the items are the log's after the cursor, each once and in order", verifies("STRM-1", "STRM-7"), () =>
  fc.assert(
    fc.asyncProperty(cases, async (given) => {
      const { world, after, tail, leaves } = begin(given);
      const got: StreamItem[] = [];
      expect(await play(world, tail, given.todo, got)).toEqual([]);
      expectJoined(got, given.log, after);
      expect(leaves()).toBe(1);
    }),
    { numRuns: 120 },
  ),
);

test("a consumer that leaves at any item and comes back at its cursor misses nothing", () =>
  fc.assert(
    fc.asyncProperty(cases, steps, fc.nat(20), async (given, more, limit) => {
      const { world, after, tail } = begin(given);
      const got: StreamItem[] = [];
      tail.remaining = limit + 1;
      await play(world, tail, given.todo, got);
      const first = got.filter(isEvent);
      const { cursor } = tail;
      const next = createTail(world.source, Number.MAX_SAFE_INTEGER, { after: cursor, onLeave: () => {} });
      const rest: StreamItem[] = [];
      await play(world, next, more, rest);
      expect([...first, ...rest.filter(isEvent)]).toEqual(given.log.filter((event) => isAfter(event, after)));
    }),
    { numRuns: 50 },
  ));

test("a consumer gets the beginning of that if it is aborted, and then nothing", () =>
  fc.assert(
    fc.asyncProperty(cases, fc.nat(30), async (given, at) => {
      const { world, after, tail, leaves } = begin(given);
      const got: StreamItem[] = [];
      const controller = new AbortController();
      endOnAbort(tail, controller.signal);
      setImmediate(() => controller.abort());
      await play(world, tail, given.todo.slice(0, at), got);
      const wanted = given.log.filter((event) => isAfter(event, after));
      const events = got.filter(isEvent);
      expect(events).toEqual(wanted.slice(0, events.length));
      expect(leaves()).toBe(1);
    }),
    { numRuns: 50 },
  ));

test("a log that cannot be read ends the items with its error, once, and with no event after it", () =>
  fc.assert(
    fc.asyncProperty(cases, fc.nat(40), async (given, at) => {
      const { world, after, tail, leaves } = begin(given);
      const failure = new Error("The store is down.");
      const items = createItems(tail);
      for (const step of given.todo.slice(0, at)) world.act(tail, step);
      world.fail(failure);
      readFromLog(tail);
      endTail(tail);
      const got: StreamItem[] = [];
      const errors: unknown[] = [];
      for (let isDone = false; !isDone; )
        await items.next().then(
          (result) => {
            isDone = result.done === true;
            if (result.done !== true) got.push(result.value);
          },
          (error: unknown) => errors.push(error),
        );
      // There may be no event that the log would have to bring.
      expect(errors).toEqual(errors.length === 0 ? [] : [failure]);
      expect(got.filter(isEvent)).toEqual([]);
      expect((await items.next()).done).toBe(true);
      expect(leaves()).toBe(1);
      if (world.startSeq > 0 && isAfter(given.log.at(0) as PublicEvent, after)) expect(errors).toEqual([failure]);
    }),
    { numRuns: 50 },
  ));

test("a look for the end of the run that fails is not repeated: the items end with its error", async () => {
  const failure = new Error("The store is down.");
  let looks = 0;
  const hasEnded = async () => {
    looks += 1;
    // Without an end, the test would never get to its timeout.
    if (looks < 10) throw failure;
    return false;
  };
  const items = createItems(createTail(emptySource, 0, { until: "run", hasEnded, onLeave: () => {} }));
  await expect(items.next()).rejects.toBe(failure);
  expect((await items.next()).done).toBe(true);
  expect(looks).toBe(1);
});

test("a consumer that is always a little behind keeps nothing that it has read", async () => {
  const tail = createTail(emptySource, 0, { onLeave: () => {} });
  const items = createItems(tail);
  const toProgress = (note: number): StreamItem => ({ type: "progress", callKey: "run/1/1", note: `${note}` });
  for (let note = 0; note < 3; note += 1) pushItem(tail, toProgress(note));
  for (let note = 3; note < 10_000; note += 1) {
    expect((await items.next()).value).toEqual(toProgress(note - 3));
    pushItem(tail, toProgress(note));
  }
  expect(tail.buffer.length).toBeLessThanOrEqual(1_030);
});

test("what other runs end in the log hides no end of the consumer's run", async () => {
  const finalOf = (runId: string, seq: number) => ({ type: "final", runId, seq, index: 1 }) as PublicEvent;
  const log = [finalOf("mine", 1), ...["a", "b", "c"].map((runId, at) => finalOf(runId, at + 2))];
  const source: TailSource = {
    async *logged() {
      yield* log;
    },
    inProgress: () => [{ type: "progress", callKey: "mine/1/1", note: "Begins." }],
  };
  const tail = createTail(source, 4, { after: startCursor, runId: "mine", maxBehind: 2, onLeave: () => {} });
  const items = createItems(tail);
  expect((await items.next()).value).toEqual(log[0]);
  const next = items.next();
  await settle(20);
  endTail(tail);
  expect((await next).done).toBe(true);
});
