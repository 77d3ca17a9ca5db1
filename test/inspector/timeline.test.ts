/**
 * A session over time as the inspector computes it: the line of time, the strip of states, the bars, what stands between steps.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../../src/index.js";
import type { TraceRecord } from "../../src/inspect.js";
import { emptySession, reduceSession, type StepTrace } from "../../src/inspector/state/session-state.js";
import { createStrip } from "../../src/inspector/state/state-strip.js";
import { type LoadedStep, type StepRow, toStepRow } from "../../src/inspector/state/step-rows.js";
import { createTimeAxis } from "../../src/inspector/state/time-axis.js";
import { createTimeline, findNextLine, listTools, toLineId } from "../../src/inspector/state/timeline.js";
import { createWaterfall, maxRows, selectRowsWithin } from "../../src/inspector/state/waterfall.js";
import { withServer } from "../server/rig.js";
import { journeyId, writeJourneySession } from "./journey.js";

const row = (index: number, startedAt: number, more: Partial<StepRow> = {}): StepRow => ({
  ...{ key: `r/${index}`, seq: index * 4, runId: "r", index, startedAt, ms: 1_000, attempts: 1 },
  ...{ input: 10, cacheRead: null, output: 5, flags: [], calls: [], modelMs: 1_000, waitedMs: 0, waitsSince: null },
  ...more,
});

describe("the line of time", () => {
  test("keeps the order of times, and finds the time of each place", () => {
    const spans = fc.array(
      fc.record({ from: fc.nat(1_000_000), ms: fc.nat(50_000) }).map(({ from, ms }) => ({ from, to: from + ms })),
      { minLength: 1, maxLength: 40 },
    );
    fc.assert(
      fc.property(spans, fc.array(fc.nat(1_100_000)), (busy, times) => {
        const { position, time, stretches } = createTimeAxis(busy);
        const places = times.sort((a, b) => a - b).map(position);
        for (const [at, one] of places.entries()) {
          expect(one).toBeGreaterThanOrEqual(at === 0 ? 0 : (places[at - 1] ?? 0));
          expect(one).toBeLessThanOrEqual(1);
        }
        for (const { start, end, from, to } of stretches) {
          expect(time((start + end) / 2)).toBeGreaterThanOrEqual(from);
          expect(time((start + end) / 2)).toBeLessThanOrEqual(to);
        }
      }),
    );
  });

  test("folds a night between two minutes of work", () => {
    const night = 8 * 3_600_000;
    const { stretches, position } = createTimeAxis([
      { from: 0, to: 60_000 },
      { from: 60_000 + night, to: 120_000 + night },
    ]);
    expect(stretches.map(({ isFolded }) => isFolded)).toEqual([false, true, false]);
    expect(position(60_000)).toBeGreaterThan(0.45);
    expect(position(60_000 + night) - position(60_000)).toBeLessThan(0.05);
  });
});

describe("the strip of states", () => {
  test("shows model, wait and tools of a step in their parts", () => {
    const rows = [
      row(1, 0, { ms: 10_000, modelMs: 4_000, waitedMs: 0 }),
      row(2, 10_000, { ms: 9_000, modelMs: 1_000, waitedMs: 6_000 }),
    ];
    const { pieces } = createStrip({ rows, runs: new Map() }, 20_000);
    expect(pieces.map(({ state }) => state)).toEqual(["model", "tools", "model", "waiting", "tools"]);
  });

  test("has a bounded number of pieces, however many steps there are", () => {
    const rows = Array.from({ length: 5_000 }, (_, at) => row(at + 1, at * 2_000, { ms: 2_000, modelMs: 900 }));
    const { pieces, failures } = createStrip({ rows, runs: new Map() }, 0);
    expect(pieces.length).toBeLessThanOrEqual(800);
    expect(failures).toEqual([]);
    expect(pieces.at(-1)?.end).toBe(1);
  });

  test("shows how long a request was queued, and what is under way until now", () => {
    const head = { runId: "r", text: "", by: null, at: 5_000, queuedAt: 3_000, result: null };
    const rows = [row(1, 5_000, { ms: 0, modelMs: 0, flags: ["under_way"] })];
    const { pieces } = createStrip({ rows, runs: new Map([["r", head]]) }, 9_000);
    expect(pieces.map(({ state }) => state)).toEqual(["queued", "model"]);
  });

  test("shows a model that writes as such, however long it has been at it", () => {
    const rows = [row(1, 5_000, { ms: 2_000, modelMs: 2_000, flags: ["under_way"] })];
    const { pieces } = createStrip({ rows, runs: new Map() }, 9_000);
    expect(pieces.map(({ state }) => state)).toEqual(["model"]);
  });
});

test("a range has the steps that were under way in it, and not too many", () => {
  const rows = Array.from({ length: 500 }, (_, at) => row(at + 1, at * 1_000));
  expect(selectRowsWithin(rows, { from: 10_500, to: 12_500 }).map(({ index }) => index)).toEqual([11, 12, 13]);
  expect(selectRowsWithin(rows, { from: 0, to: 1e9 })).toHaveLength(maxRows);
});

describe("a session that real runs made", () => {
  async function journey() {
    const store = createMemoryStore();
    await writeJourneySession(store);
    let found = { steps: [] as LoadedStep[], events: [], all: [], records: [] as TraceRecord[] };
    await withServer({ store, work: false }, async ({ ask }) => {
      const path = `/v1/sessions/${journeyId}`;
      const { steps, events } = (await ask("GET", `${path}/steps`)).json;
      const { events: all } = (await ask("GET", `${path}/events?limit=500`)).json;
      const { records } = (await ask("GET", `${path}/trace?type=step`)).json;
      found = { steps, events, all, records };
    });
    return found;
  }

  test("has headings, steers and compactions in their places, loaded or watched", async () => {
    const { steps, events, all } = await journey();
    const loaded = reduceSession(emptySession("s"), { type: "newest_loaded", steps, events, isAll: true });
    const lines = createTimeline(loaded, "all", "");
    const kinds = lines.map((line) => (line.kind === "mark" ? line.mark.type : line.kind));
    expect(kinds).toEqual([
      ...["run", "step", "step", "step", "steered", "compacted", "step"],
      ...["run", "compacted", "step", "step"],
    ]);
    const watched = all.reduce(
      (state, event) => reduceSession(state, { type: "event", event, partial: null }),
      emptySession("s"),
    );
    expect(createTimeline(watched, "all", "").map(toLineId)).toEqual(lines.map(toLineId));
    expect(findNextLine(lines, 3, 1)).toBe(4);
    expect(findNextLine(lines, 6, 1)).toBe(8);
    expect(findNextLine(lines, 1, -1)).toBe(1);
    expect(listTools(loaded.rows)).toEqual(["read_file", "search", "write_file"]);
    expect(createTimeline(loaded, "all", "read_file").map(({ kind }) => kind)).toEqual(["step", "step"]);
    expect(loaded.runs.size).toBe(2);
    expect([...loaded.runs.values()].map(({ result }) => result?.status)).toEqual(["completed", "completed"]);
  });

  test("has bars for attempts, calls side by side, and waits", async () => {
    const { steps, records } = await journey();
    const rows = steps.map(toStepRow);
    const traces = new Map(
      records.flatMap((one): [string, StepTrace][] =>
        one.type === "step" ? [[`${one.runId}/${one.modelCallIndex}`, one]] : [],
      ),
    );
    const { rows: lines } = createWaterfall(rows, traces, 0);
    const kindsOf = (at: number) => lines[at]?.bars.map(({ kind }) => kind).sort();
    expect(kindsOf(0)).toEqual(["failed", "model", "tool", "tool", "tool"]);
    expect(lines[0]?.lanes).toBeGreaterThan(1);
    expect(kindsOf(1)).toEqual(["failed", "failed", "model", "tool"]);
    expect(kindsOf(2)).toEqual(["model", "tool", "waiting"]);
    // Before their traces are loaded, steps have what their rows tell.
    const { rows: plain } = createWaterfall(rows, new Map(), 0);
    expect(plain[2]?.bars.map(({ kind }) => kind)).toContain("waiting");
  });
});
