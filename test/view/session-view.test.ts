/**
 * The fold of a session's stream: whoever watches it, joins it in the middle, loses it, or reads the log, ends with the same.
 */
import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, type PublicEvent, type StreamItem } from "../../src/index.js";
import { isAfter, startCursor } from "../../src/stream/cursor.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createSessionView, type SessionView } from "../../src/view/session-view.js";
import type { ViewChange } from "../../src/view/view-change.js";
import { loadInto, type Recording } from "../golden/recording.js";
import { collectPartTexts } from "./parts.js";
import { cuts, logs, toStreamedItems } from "./streamed.js";

const folder = new URL("../golden/released/0.1.0/", import.meta.url);
const recordings = readdirSync(folder).filter((file) => file.endsWith(".json"));

async function eventsOf(file: string): Promise<readonly (readonly PublicEvent[])[]> {
  const recording = JSON.parse(readFileSync(new URL(file, folder), "utf8")) as Recording;
  const store = createMemoryStore();
  await loadInto(store, recording);
  const agent = createAgent({ model: createScriptedModel([]), store });
  const sessions: PublicEvent[][] = [];
  for (const { sessionId } of recording.sessions) {
    const events: PublicEvent[] = [];
    for await (const item of agent.session(sessionId).events({ follow: false })) events.push(item as PublicEvent);
    sessions.push(events);
  }
  return sessions;
}

const goldenLogs = (await Promise.all(recordings.map(eventsOf))).flat().filter((events) => events.length > 0);
const anyLog = fc.oneof(fc.constantFrom(...goldenLogs), logs);

function fold(items: readonly StreamItem[], view: SessionView = createSessionView()): readonly ViewChange[] {
  return items.flatMap((item) => view.apply(item));
}

function snapshotAfter(items: readonly StreamItem[]) {
  const view = createSessionView();
  fold(items, view);
  return view.snapshot();
}

/** Parts of the log are those of the watcher, who also saw attempts that failed. */
function expectSameParts(changes: readonly ViewChange[], log: readonly PublicEvent[]): void {
  const shown = collectPartTexts(changes);
  for (const [part, text] of collectPartTexts(fold(log))) expect(shown.get(part), part).toBe(text);
}

test("a stream that is lost at any item and carried on from the log ends like the log", () => {
  fc.assert(
    fc.property(anyLog, cuts, fc.nat(), (log, how, at) => {
      const live = toStreamedItems(log, how);
      const view = createSessionView();
      const changes = [...fold(live.slice(0, at % (live.length + 1)), view)];
      const { cursor } = view.snapshot();
      changes.push(
        ...fold(
          log.filter((event) => isAfter(event, cursor)),
          view,
        ),
      );
      expect(view.snapshot()).toEqual(snapshotAfter(log));
      expectSameParts(changes, log);
    }),
    { numRuns: 150 },
  );
});

test("a stream that loses any items and is joined again, live, ends like the log", () => {
  fc.assert(
    fc.property(anyLog, cuts, fc.nat(), fc.nat(), (log, how, from, lost) => {
      const live = toStreamedItems(log, how);
      const lostAt = from % (live.length + 1);
      const joinedAt = Math.min(live.length, lostAt + (lost % 12));
      const view = createSessionView();
      const changes = [...fold(live.slice(0, lostAt), view)];
      const { cursor } = view.snapshot();
      const missed = live.slice(0, joinedAt).filter((item) => "seq" in item && isAfter(item, cursor));
      const { streamed } = snapshotAfter(live.slice(0, joinedAt));
      const snapshot = streamed === null ? [] : [streamed];
      changes.push(...fold([...missed, ...snapshot], view));
      expect(view.snapshot()).toEqual(snapshotAfter(live.slice(0, joinedAt)));
      changes.push(...fold(live.slice(joinedAt), view));
      expect(changes.some(({ type }) => type === "gap")).toBe(false);
      expect(view.snapshot()).toEqual(snapshotAfter(log));
      expectSameParts(changes, log);
    }),
    { numRuns: 150 },
  );
});

test("missing deltas are reported, never shown as text, and mended by the message", () => {
  fc.assert(
    fc.property(anyLog, cuts, fc.array(fc.boolean(), { minLength: 1, maxLength: 30 }), (log, how, keeps) => {
      const live = toStreamedItems(log, how).filter(
        (item, at) => item.type !== "delta" || keeps[at % keeps.length] === true,
      );
      const view = createSessionView();
      const changes = fold(live, view);
      expect(view.snapshot()).toEqual(snapshotAfter(log));
      expectSameParts(changes, log);
    }),
    { numRuns: 100 },
  );
});

test("an item that comes again changes nothing", () => {
  fc.assert(
    fc.property(anyLog, cuts, (log, how) => {
      const view = createSessionView();
      for (const item of toStreamedItems(log, how)) {
        expect(view.apply(item), JSON.stringify(item)).not.toEqual([]);
        const before = view.snapshot();
        expect(view.apply(item)).toEqual([]);
        expect(view.snapshot()).toEqual(before);
      }
    }),
    { numRuns: 60 },
  );
});

test("each event of a log is in exactly one change, the last that it gives", () => {
  for (const log of goldenLogs) {
    const view = createSessionView();
    for (const event of log) {
      const changes = view.apply(event);
      const carriers = changes.filter((change) => Object.values(change).includes(event));
      expect(carriers).toEqual(changes.slice(-1));
    }
  }
});

test("a view that begins at any cursor of a log ends like one that read it from the beginning, but for what was open", () => {
  for (const log of goldenLogs)
    for (const [at, event] of log.entries()) {
      const view = createSessionView({ seq: event.seq, index: event.index });
      expect(fold(log.slice(0, at + 1), view)).toEqual([]);
      fold(log.slice(at + 1), view);
      const whole = snapshotAfter(log);
      const { cursor, calls } = view.snapshot();
      expect(cursor).toEqual(whole.cursor);
      const keys = whole.calls.map(({ callKey }) => callKey);
      for (const { callKey } of calls) expect(keys).toContain(callKey);
    }
});

test("a queued run that is aborted ends nothing of the run in progress, wherever the view began", () => {
  const event = (seq: number, body: object) =>
    ({ ...body, sessionId: "s", seq, index: 1, at: seq }) as unknown as PublicEvent;
  const call = { runId: "r1", callKey: "r1/1/1", toolCallId: "c", name: "echo", input: {} };
  const delta = { kind: "text-delta", id: "t", runId: "r1", modelCallIndex: 2, attempt: 1, seq: 1 } as const;
  const items: readonly StreamItem[] = [
    event(1, { type: "run_started", runId: "r1", input: [] }),
    event(2, { type: "tool_call", ...call }),
    event(3, { type: "approval_requested", ...call, why: "policy" }),
    { type: "delta", delta: { ...delta, text: "Hel" } },
  ];
  const abortedRun = event(4, { type: "final", runId: "r2", result: { status: "aborted", runId: "r2" } });
  for (const [began, seen] of [items, items.slice(1)].entries()) {
    const view = createSessionView();
    fold(seen, view);
    const before = view.snapshot();
    expect(view.apply(abortedRun), `${began}`).toEqual([{ type: "run_ended", by: abortedRun }]);
    expect(view.snapshot()).toEqual({ ...before, cursor: { seq: 4, index: 1 } });
    expect(view.apply({ type: "delta", delta: { ...delta, seq: 2, text: "lo" } })).toMatchObject([
      { type: "part_grew", text: "lo" },
    ]);
  }
});

describe("what a view hands out", () => {
  test("is frozen, and stays what it was", () => {
    const log = goldenLogs[0] ?? [];
    const view = createSessionView();
    const first = view.snapshot();
    expect(first).toEqual({ cursor: startCursor, run: null, streamed: null, calls: [], questions: [] });
    const copy = structuredClone(first);
    for (const item of toStreamedItems(log, { lengths: [3], joins: [1] })) {
      const changes = view.apply(item);
      expect(Object.isFrozen(changes)).toBe(true);
      const snapshot = view.snapshot();
      expect(Object.isFrozen(snapshot) && Object.isFrozen(snapshot.calls)).toBe(true);
      if (snapshot.streamed !== null) expect(Object.isFrozen(snapshot.streamed.message.parts)).toBe(true);
    }
    expect(first).toEqual(copy);
  });
});
