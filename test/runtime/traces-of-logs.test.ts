/**
 * What holds for the trace of any log: of random ones, and of those that were recorded.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Entry, type Event, type HookPoint, initialState, transition } from "../../src/core/index.js";
import { createMemoryStore, createRedaction } from "../../src/index.js";
import { type SessionStep, sessionSteps, sessionTracePage, type TraceRecord, traceSession } from "../../src/inspect.js";
import type { StateAt } from "../../src/ports/store.js";
import { readCommittedEntries } from "../../src/runtime/log/read-log.js";
import { compileListeners } from "../../src/runtime/observers/listeners.js";
import { createTracing } from "../../src/runtime/trace/tracing.js";
import { randomSessions } from "../core/random-sessions.js";
import { presentRecordings } from "../golden/present.js";
import { loadInto } from "../golden/recording.js";
import { verifies } from "../verifies.js";

type Log = readonly Entry[];
type Store = Parameters<typeof traceSession>[0];

/** The events that hooks have a part in, and hooks that may. */
const hooked: { readonly [type in Event["type"]]?: readonly HookPoint[] } = {
  prepared: ["afterStep", "beforeStep", "beforeLLMCall"],
  model_finished: ["afterLLMCall"],
  model_failed: ["afterLLMCall", "onError"],
  tool_decided: ["beforeToolCall"],
  tool_finished: ["afterToolCall"],
  compacted: ["beforeCompaction"],
  run_finished: ["afterStep", "beforeStop"],
  after_run_hooks_called: ["afterRun"],
};

/** Logs of sessions that went through so many random events, with hooks here and there. */
const logs: fc.Arbitrary<Log> = randomSessions(80).map(({ session, chance }) =>
  session.log.map(({ seq, event }) => {
    const points = hooked[event.type];
    // Hooks that a random event brings all have one name.
    const mayStay = event.hooks === undefined && chance.oneIn(3);
    if (points === undefined || mayStay) return { seq, event };
    const hooks = points.map((hook) => ({
      name: `${hook} ${seq}`,
      hook,
      ms: chance.below(50),
      outcome: "ok" as const,
    }));
    return { seq, event: { ...event, hooks } };
  }),
);

const storeOf = (log: Log): Store => ({
  read: async (_, after = 0, limit = 1_000) => log.slice(after, after + limit),
  load: async () => null,
  loadAt: async () => null,
  getBlob: async () => null,
});

/** The same, with the row after each entry. */
function storeWithRows(log: Log): Store {
  const rows: StateAt[] = [];
  for (const { seq, event } of log) rows.push({ seq, state: transition(rows.at(-1)?.state ?? initialState, event) });
  const at = (seq: number) => rows[Math.min(seq, rows.length) - 1] ?? null;
  return { ...storeOf(log), load: async () => rows.at(-1) ?? null, loadAt: async (_, seq) => at(seq) };
}

const partOf = <Type extends TraceRecord["type"]>(records: readonly TraceRecord[], type: Type) =>
  records.filter((record): record is Extract<TraceRecord, { readonly type: Type }> => record.type === type);

/** Nothing is lost, nothing is told twice. */
function checkTrace(log: Log, records: readonly TraceRecord[]): void {
  const count = (type: Event["type"]) => log.filter(({ event }) => event.type === type).length;
  const steps = partOf(records, "step");
  expect(partOf(records, "run_started")).toHaveLength(count("run_started"));
  expect(partOf(records, "compaction")).toHaveLength(count("compacted"));
  expect(steps.flatMap(({ attempts }) => attempts)).toHaveLength(count("model_finished") + count("model_failed"));
  const outcomes = steps.flatMap(({ calls }) => calls).filter(({ outcome }) => outcome !== undefined);
  expect(outcomes.map(({ callKey }) => callKey).sort()).toEqual(
    log.flatMap(({ event }) => (event.type === "tool_finished" ? [event.callKey] : [])).sort(),
  );
  for (const record of records) {
    expect(record.traceId).toMatch(/^[0-9a-f]{32}$/);
    if ("durationMs" in record) expect(record.durationMs).toBeGreaterThanOrEqual(0);
    if (record.type === "step")
      for (const [index, { from }] of record.states.entries())
        if (index > 0) expect(from).toBe(record.states[index - 1]?.to);
  }
  const ids = new Map(records.map(({ runId, traceId }) => [traceId, runId]));
  expect(ids.size).toBe(new Set(records.map(({ runId }) => runId)).size);
}

/** The records that an observer is told of by drivers that begin at these entries. */
async function tellFrom(store: Store, log: Log, sessionId: string, begins: ReadonlySet<number>) {
  const told: TraceRecord[] = [];
  const { listeners } = compileListeners({ observers: [{ onTrace: (record) => told.push(record) }] });
  const whole = { ...createMemoryStore(), read: store.read };
  const tracing = createTracing(sessionId, { store: whole, listeners, redact: createRedaction() });
  for await (const step of readCommittedEntries(store, sessionId)) {
    // A driver that dies is followed by one that knows what is in the log, and nothing else.
    if (step.entry.seq === 1 || begins.has(step.entry.seq)) await tracing.begin(step.before);
    tracing.addEntry(step);
  }
  for (const { catchUp } of listeners) catchUp();
  return { told, log };
}

describe("the trace of any log", () => {
  test("has every attempt, every call and every run, once", verifies("TRC-1"), async () => {
    await fc.assert(
      fc.asyncProperty(logs, async (log) => {
        checkTrace(log, await traceSession(storeOf(log), "s", { asOf: log.at(-1)?.event.at ?? 0 }));
      }),
      { numRuns: 150 },
    );
  });

  test("is told live as it is read later, whoever drove the session, and from where", verifies("TRC-1"), async () => {
    await fc.assert(
      fc.asyncProperty(logs, fc.array(fc.integer({ min: 1, max: 80 }), { maxLength: 4 }), async (log, begins) => {
        const { told } = await tellFrom(storeOf(log), log, "s", new Set(begins));
        expect(told).toEqual(await traceSession(storeOf(log), "s"));
      }),
      { numRuns: 100 },
    );
  });

  test("has every hook of a run that has ended, once", verifies("HOOK-6", "TRC-1"), async () => {
    await fc.assert(
      fc.asyncProperty(logs, async (log) => {
        const store = storeOf(log);
        let ended = 0;
        for await (const { entry, events } of readCommittedEntries(store, "s"))
          if (entry.event.type !== "abort_requested" && events.some(({ type }) => type === "final")) ended = entry.seq;
        const records = await traceSession(store, "s");
        const traced = records.flatMap((record) => ("hooks" in record ? record.hooks : []));
        const names = new Set(traced.map(({ name }) => name));
        expect(names.size).toBe(traced.length);
        for (const { event } of log.slice(0, ended))
          for (const { name, ms, hook } of event.hooks ?? [])
            expect(traced.find((one) => one.name === name)).toMatchObject({ hook, durationMs: ms, outcome: "ok" });
      }),
      { numRuns: 100 },
    );
  });

  test.each(presentRecordings)(
    "recorded in $version $name holds to the same",
    verifies("TRC-1"),
    async ({ recording }) => {
      const store = createMemoryStore();
      await loadInto(store, recording);
      for (const { sessionId } of recording.sessions) {
        const log = await store.read(sessionId);
        const records = await traceSession(store, sessionId, { asOf: log.at(-1)?.event.at ?? 0 });
        checkTrace(log, records);
        const everywhere = new Set(log.map(({ seq }) => seq));
        expect((await tellFrom(store, log, sessionId, everywhere)).told).toEqual(await traceSession(store, sessionId));
      }
    },
  );
});

describe("a page from any place of a trace", () => {
  test("has the records that a whole trace has from there on", verifies("TRC-1"), async () => {
    await fc.assert(
      fc.asyncProperty(logs, fc.nat(), fc.integer({ min: 1, max: 5 }), async (log, place, limit) => {
        const store = storeWithRows(log);
        const whole = await sessionTracePage(store, "s", { limit: 10_000 });
        const after = place % (log.length + 1);
        const { records } = await sessionTracePage(store, "s", { after, limit: 10_000 });
        expect(records).toEqual(whole.records.slice(whole.records.length - records.length));

        const paged: TraceRecord[] = [];
        for (let next: number | null = 0; next !== null; ) {
          const page = await sessionTracePage(store, "s", { after: next, limit });
          paged.push(...page.records);
          next = page.next;
        }
        expect(paged).toEqual(whole.records);

        const steps: SessionStep[] = [];
        for (let next: number | null = 0; next !== null; ) {
          const page = await sessionSteps(store, "s", { after: next, limit });
          steps.push(...page.steps);
          next = page.next;
        }
        const traced = partOf(whole.records, "step");
        expect(steps.map(({ runId, modelCallIndex }) => [runId, modelCallIndex])).toEqual(
          traced.map(({ runId, modelCallIndex }) => [runId, modelCallIndex]),
        );
        for (const { seq } of steps) expect(log[seq - 1]?.event.type).toBe("prepared");
      }),
      { numRuns: 40 },
    );
  });
});
