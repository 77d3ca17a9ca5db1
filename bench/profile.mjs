/**
 * Where the time of a step goes, and the memory of a run that waits: with V8's own profilers, alone in a process.
 *
 *     npm run bench -- profile [--only W1,W4,W5,sessions] [--quick]
 *
 * The workloads are those of the peers' bench, on the bundle. So the only name of a place is its function.
 */
import { Session } from "node:inspector/promises";
import { parseArgs } from "node:util";
import { GCProfiler } from "node:v8";
import { inFolder } from "./folder.mjs";
import { open as openInMemory } from "./peers/adapters/pawl.mjs";
import { open as openOnSqlite } from "./peers/adapters/pawl-sqlite.mjs";
import { createWork } from "./peers/work.mjs";
import { machine, median, table } from "./report.mjs";

const shown = 15;
const parts = { W1: inMemory, W5: onSqlite, sessions: sessionsOnSqlite, W4: held };

export async function run({ quick, json, rest }) {
  const { values } = parseArgs({ args: rest, options: { only: { type: "string" } } });
  const names = values.only?.split(",") ?? Object.keys(parts);
  const unknown = names.find((name) => !Object.hasOwn(parts, name));
  if (unknown !== undefined) {
    console.error(`There is no profile of "${unknown}". There are: ${Object.keys(parts).join(", ")}.`);
    process.exit(2);
  }
  const all = {};
  for (const name of names) {
    const { text, figures } = await parts[name](quick ? 300 : 4_000, quick);
    all[name] = figures;
    if (!json) console.log(`${machine()}; ${text}\n`);
  }
  if (json) console.log(JSON.stringify(all, null, 2));
  // Waiting runs would keep the process alive.
  process.exit();
}

async function inMemory(ms) {
  const steps = 50;
  const { run: runOnce } = await openInMemory(createWork({ steps }));
  const figures = await measured(ms, steps, runOnce, runOnce);
  return { figures, text: page("W1 in memory", figures) };
}

/** Warms up without syncs, because V8 compiles after many steps. */
async function onSqlite(ms) {
  const steps = 200;
  return await inFolder(async (folder) => {
    const warm = await openOnSqlite(createWork({ steps }), { folder, synchronous: "normal" });
    const { run: runOnce, close } = await openOnSqlite(createWork({ steps }), { folder, synchronous: "full" });
    const figures = await measured(ms, steps, runOnce, warm.run);
    await Promise.all([warm.close(), close()]);
    return { figures, text: page("W5 on SQLite, `FULL`", figures) };
  });
}

async function sessionsOnSqlite(ms) {
  const [atOnce, steps] = [100, 20];
  return await inFolder(async (folder) => {
    const { run: runOnce, close } = await openOnSqlite(createWork({ steps }), { folder, synchronous: "full" });
    const all = () => Promise.all(Array.from({ length: atOnce }, () => runOnce()));
    const figures = await measured(ms, atOnce * steps, all, all);
    await close();
    return { figures, text: page("100 sessions at once on SQLite, `FULL`", figures) };
  });
}

/** Times, collections and own times of `act`, which does `steps` steps. */
async function measured(ms, steps, act, warmUp) {
  await timesOf(ms, steps, warmUp);
  const collector = new GCProfiler();
  collector.start();
  const times = await timesOf(ms, steps, act);
  const collections = collector.stop().statistics.filter(({ gcType }) => gcType.startsWith("Scavenge"));
  const profile = await profileOf(() => timesOf(ms, steps, act));
  return {
    bestUs: Math.min(...times),
    medianUs: median(times),
    stepsBetween: collections.length === 0 ? null : (times.length * steps) / collections.length,
    collectionMs: collections.length === 0 ? null : median(collections.map(({ cost }) => cost / 1000)),
    own: ownTimes(profile),
  };
}

function page(what, { bestUs, medianUs, stepsBetween, collectionMs, own }) {
  const collected =
    stepsBetween === null
      ? ""
      : ` The young generation is collected every ${stepsBetween.toFixed(0)} steps, for ${collectionMs.toFixed(1)} ms.`;
  const rows = topOf(own, ({ share }) => share).map(([name, share]) => [name, `${(share * 100).toFixed(1)} %`]);
  return `${what}, alone and warm: ${bestUs.toFixed(0)} µs a step at best, ${medianUs.toFixed(0)} at the median.${collected}\n\n${table(["its own time, without what it calls", "share"], rows)}`;
}

/** The memory that is allocated until runs wait in a tool, and stays: by the function that allocated it. */
async function held(_ms, quick) {
  const runs = quick ? 100 : 2_000;
  const work = createWork({ steps: 1, waits: true });
  const { run: runOnce } = await openInMemory(work);
  const park = async (count) => {
    const goal = work.counts.toolCalls + count;
    for (let started = 0; started < count; started += 1) void runOnce();
    while (work.counts.toolCalls < goal) await new Promise((resolve) => setImmediate(resolve));
  };
  await park(100);
  const session = new Session();
  session.connect();
  await session.post("HeapProfiler.enable");
  await session.post("HeapProfiler.collectGarbage");
  await session.post("HeapProfiler.startSampling", { samplingInterval: 512 });
  await park(runs);
  await session.post("HeapProfiler.collectGarbage");
  const { profile } = await session.post("HeapProfiler.stopSampling");
  session.disconnect();

  const sizes = new Map();
  const walk = ({ callFrame, selfSize, children }) => {
    const name = callFrame.functionName || "(anonymous)";
    sizes.set(name, (sizes.get(name) ?? 0) + selfSize);
    for (const child of children) walk(child);
  };
  walk(profile.head);
  const own = [...sizes].map(([name, bytes]) => ({ name, bytes: bytes / runs })).sort((a, b) => b.bytes - a.bytes);
  const bytes = own.reduce((sum, one) => sum + one.bytes, 0);
  const rows = topOf(own, (one) => one.bytes).map(([name, size]) => [name, size.toFixed(0)]);
  const text = `${runs} runs that wait in a tool, in memory: by V8's sampling ${(bytes / 1024).toFixed(1)} KB a run.\n\n${table(["what it allocated and stays", "bytes a run"], rows)}`;
  return { figures: { bytes, own }, text };
}

/** The largest entries, and the sum of the others. */
function topOf(own, sizeOf) {
  const rows = own.slice(0, shown).map((one) => [`\`${one.name}\``, sizeOf(one)]);
  const rest = own.slice(shown);
  return [...rows, [`${rest.length} others`, rest.reduce((sum, one) => sum + sizeOf(one), 0)]];
}

/** µs a step of each of the runs that fit. */
async function timesOf(ms, steps, runOnce) {
  const times = [];
  for (const end = performance.now() + ms; performance.now() < end; ) {
    const before = performance.now();
    await runOnce();
    times.push(((performance.now() - before) * 1000) / steps);
  }
  return times;
}

async function profileOf(act) {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: 100 });
  await session.post("Profiler.start");
  await act();
  const { profile } = await session.post("Profiler.stop");
  session.disconnect();
  return profile;
}

/** Without the profiler's own time. */
function ownTimes({ nodes, samples, timeDeltas }) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const names = new Map();
  const walk = (node, isOurs) => {
    const counts = isOurs && node.callFrame.url !== "node:inspector";
    if (counts) names.set(node.id, node.callFrame.functionName || "(anonymous)");
    for (const child of node.children ?? []) walk(byId.get(child), counts);
  };
  walk(nodes[0], true);
  const own = new Map();
  let total = 0;
  samples.forEach((id, index) => {
    const name = names.get(id);
    if (name === undefined) return;
    own.set(name, (own.get(name) ?? 0) + timeDeltas[index]);
    total += timeDeltas[index];
  });
  return [...own].map(([name, us]) => ({ name, share: us / total })).sort((a, b) => b.share - a.share);
}
