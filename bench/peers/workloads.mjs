/**
 * The workloads, as a contender's process does them. Each takes `open` of an adapter, warms up, and gives back a
 * function that measures once. A run whose proof fails throws, and its time does not count.
 */
import { createHook } from "node:async_hooks";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GCProfiler } from "node:v8";
import { inFolder } from "../folder.mjs";
import { shapeOf } from "./sqlite.mjs";
import { createWork } from "./work.mjs";

export const workloads = {
  W1: (open, options) => timed(open, { steps: options.steps }, options),
  "W1-counts": counts,
  W2: (open, options) => timed(open, { steps: 0, lastDeltas: options.deltas }, options),
  W3: growth,
  "W4-tool": (open, options) => held(open, { steps: 1, waits: true }, options),
  "W4-person": (open, options) => held(open, { steps: 1, needsApproval: true }, options),
  W5: durable,
  "W5-sessions": sessions,
};

/**
 * Whole runs, as many as fit into `ms`, at least one: the time of a run by the clock, and its processor time (all
 * threads, the collector's too).
 */
async function runsFor(ms, run) {
  const before = performance.now();
  const used = process.cpuUsage();
  for (let runs = 1; ; runs += 1) {
    await run();
    const taken = performance.now() - before;
    if (taken < ms) continue;
    const { user, system } = process.cpuUsage(used);
    return { ms: taken / runs, cpuMs: (user + system) / 1000 / runs };
  }
}

/**
 * Warms up before each measurement, because V8 throws compiled code away while a process waits for its turn. Runs
 * for this time at least, and goes on while runs get quicker, up to four times as long.
 */
async function warmUp(ms, run) {
  const before = performance.now();
  const taken = () => performance.now() - before;
  let best = Number.POSITIVE_INFINITY;
  for (let noQuicker = 0; taken() < ms || (noQuicker < 3 && taken() < 4 * ms); ) {
    const round = (await runsFor(ms / 8, run)).ms;
    noQuicker = round < best * 0.97 ? 0 : noQuicker + 1;
    best = Math.min(best, round);
  }
}

/** A whole run and its proof. */
async function proved(open, settings, context) {
  const work = createWork(settings);
  const opened = await open(work, context);
  let runs = 0;
  return {
    ...opened,
    async run() {
      await opened.run();
      runs += 1;
      work.check(runs);
    },
  };
}

/** W1 and W2: the time of a run. */
async function timed(open, settings, { warmUpMs, roundMs }) {
  const { run } = await proved(open, settings);
  return async () => {
    await warmUp(warmUpMs, run);
    return await runsFor(roundMs, run);
  };
}

/** Promises made, and bytes allocated, in one run; each in a run of its own, because counting takes time. */
async function counts(open, { steps, warmUpMs }) {
  const { run } = await proved(open, { steps });
  await warmUp(warmUpMs, run);
  return async () => ({ promises: await promisesOf(run), bytes: await bytesOf(run) });
}

async function promisesOf(run) {
  let promises = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === "PROMISE") promises += 1;
    },
  });
  hook.enable();
  await run();
  hook.disable();
  return promises;
}

/** The growth of the heap, plus the memory that each collection on the way freed. */
async function bytesOf(run) {
  globalThis.gc();
  const profiler = new GCProfiler();
  profiler.start();
  const before = process.memoryUsage().heapUsed;
  await run();
  const grown = process.memoryUsage().heapUsed - before;
  const freed = profiler
    .stop()
    .statistics.map(
      ({ beforeGC, afterGC }) => beforeGC.heapStatistics.usedHeapSize - afterGC.heapStatistics.usedHeapSize,
    );
  return freed.reduce((sum, bytes) => sum + bytes, grown);
}

/**
 * W3: µs a step at points of one long run. A contender that takes longer than the cap is reported up to the step
 * that it reached.
 */
async function growth(open, { points, capMs, warmUpMs }) {
  const steps = points.at(-1);
  const warm = await proved(open, { steps: 50 });
  return async () => {
    await warmUp(warmUpMs, warm.run);
    return await new Promise((resolve, reject) => {
      const startedAt = [];
      const onCall = (step) => {
        startedAt[step] = performance.now();
        if (startedAt[step] - startedAt[0] > capMs) resolve({ capped: step, ...costs() });
      };
      const costs = () => ({ ms: startedAt.at(-1) - startedAt[0], points: costsAt(points, startedAt) });
      proved(open, { steps, onCall })
        .then(({ run }) => run())
        .then(() => resolve(costs()), reject);
    });
  };
}

/** The median µs of the steps that end with each point; null for those that were not reached. */
function costsAt(points, startedAt) {
  return points.map((point) => {
    if (startedAt.length <= point) return null;
    const width = Math.max(8, Math.floor(point / 10));
    const costs = [];
    for (let step = Math.max(1, point - width); step < point; step += 1)
      costs.push((startedAt[step + 1] - startedAt[step]) * 1000);
    return costs.sort((a, b) => a - b)[Math.floor(costs.length / 2)];
  });
}

/** W4: bytes that each of many runs holds while it waits. */
async function held(open, settings, { runs, store }) {
  const folder = mkdtempSync(join(tmpdir(), "pawl-bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  let asked = 0;
  const work = createWork(settings);
  const onAsked = () => {
    asked += 1;
  };
  const context = { onAsked, ...(store === "sqlite" ? { store: await sqliteStore(folder) } : {}) };
  const { run } = await open(work, context);
  const kept = [];
  // If a contender's run ends to wait, the application has to keep it. A run that does not end keeps itself.
  const start = () => {
    run().then(
      (state) => {
        onAsked();
        kept.push(state);
      },
      (error) => {
        throw error;
      },
    );
  };
  const waiting = () => (settings.waits ? work.counts.toolCalls : asked);
  const park = async (count) => {
    const goal = waiting() + count;
    for (let started = 0; started < count; started += 50) {
      for (let index = 0; index < Math.min(50, count - started); index += 1) start();
      const reached = goal - count + Math.min(count, started + 50);
      while (waiting() < reached) await new Promise((resolve) => setImmediate(resolve));
    }
    if (waiting() !== goal) throw new Error(`${waiting()} runs wait, ${goal} were started`);
  };
  await park(100);
  return async () => {
    const before = await heldNow();
    await park(runs);
    const after = await heldNow();
    return {
      heap: (after.heap - before.heap) / runs,
      resident: (after.resident - before.resident) / runs,
      runs: kept.length,
    };
  };
}

async function sqliteStore(folder) {
  const { openSqliteStore } = await import("../../dist/stores/sqlite/index.js");
  return openSqliteStore({ path: join(folder, "waiting.db"), synchronous: "normal" });
}

async function heldNow() {
  for (let times = 0; times < 3; times += 1) {
    await new Promise((resolve) => setTimeout(resolve, 30));
    globalThis.gc();
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, resident: rss };
}

/** W5: the time of a durable run, and the bytes that it wrote: as a whole, and in its first and last fifty steps. */
async function durable(open, { steps, synchronous, shape, warmUpMs }) {
  const once = async (context, settings) => {
    const { run, close, path, writesElsewhere } = await proved(open, settings, context);
    const before = performance.now();
    await run();
    const ms = performance.now() - before;
    await close?.();
    return { ms, path, writesElsewhere };
  };
  // V8 compiles after many steps, and there are few steps in a second if each waits for the disk.
  const warmSteps = () => inFolder((folder) => once({ folder, shape, synchronous: "normal" }, { steps: 50 }));
  return async () => {
    await warmUp(warmUpMs, warmSteps);
    return await inFolder(async (folder) => {
      const written = [];
      const onCall = (step) => {
        if (step === 0 || step === 50 || step === steps - 50 || step === steps) written.push(bytesWritten());
      };
      const { ms, path, writesElsewhere } = await once({ folder, shape, synchronous }, { steps, onCall });
      return {
        ms,
        ...(writesElsewhere ? notKnown : writtenBetween(written, steps)),
        ...(path === undefined ? {} : { shape: shapeOf(path, steps), fileBytes: statSync(path).size / steps }),
      };
    });
  };
}

/** Bytes that this process has passed to write calls, the journal's too; null if the system does not tell. */
function bytesWritten() {
  try {
    return Number(/^wchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))[1]);
  } catch {
    return null;
  }
}

const notKnown = { bytes: null, growth: null };

function writtenBetween([start, fifty, beforeLast, end], steps) {
  if (start === null) return notKnown;
  return { bytes: (end - start) / steps, growth: (end - beforeLast) / (fifty - start) };
}

/** Many sessions at once on one file: steps a second. */
async function sessions(open, { atOnce, steps, synchronous, shape, warmUpMs }) {
  const allOf = (run) => Promise.all(Array.from({ length: atOnce }, () => run()));
  return () =>
    inFolder(async (folder) => {
      const work = createWork({ steps });
      const { run, close } = await open(work, { folder, synchronous, shape });
      await warmUp(warmUpMs, () => allOf(run));
      const done = work.counts.toolCalls / steps;
      const before = performance.now();
      await allOf(run);
      const ms = performance.now() - before;
      work.check(done + atOnce);
      await close();
      return { perSecond: (atOnce * steps * 1000) / ms };
    });
}
