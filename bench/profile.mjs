/**
 * Where the time of a step goes: W1 of the peers' bench, in memory, alone in a process, with V8's own profilers.
 *
 *     npm run bench -- profile [--quick]
 *
 * W1 runs on the bundle: so places are told by the name of their function alone.
 */
import { Session } from "node:inspector/promises";
import { GCProfiler } from "node:v8";
import { open } from "./peers/adapters/pawl.mjs";
import { createWork } from "./peers/work.mjs";
import { machine, median, table } from "./report.mjs";

const steps = 50;
const shown = 15;

export async function run({ quick, json }) {
  const ms = quick ? 300 : 4_000;
  const work = createWork({ steps });
  const { run: runOnce } = await open(work);
  await timesOf(ms, runOnce);
  const collector = new GCProfiler();
  collector.start();
  const times = await timesOf(ms, runOnce);
  const collections = collector.stop().statistics.filter(({ gcType }) => gcType.startsWith("Scavenge"));
  const profile = await profileOf(() => timesOf(ms, runOnce));

  const figures = {
    bestUs: Math.min(...times),
    medianUs: median(times),
    collections: collections.length,
    stepsBetween: (times.length * steps) / collections.length,
    collectionMs: median(collections.map(({ cost }) => cost / 1000)),
    own: ownTimes(profile),
  };
  console.log(json ? JSON.stringify(figures, null, 2) : page(figures));
}

function page({ bestUs, medianUs, stepsBetween, collectionMs, own }) {
  const rows = own.slice(0, shown).map(({ name, share }) => [`\`${name}\``, `${(share * 100).toFixed(1)} %`]);
  const rest = own.slice(shown).reduce((sum, { share }) => sum + share, 0);
  rows.push([`${own.length - shown} others`, `${(rest * 100).toFixed(1)} %`]);
  return `${machine()}; W1 in memory, alone and warm: ${bestUs.toFixed(0)} µs a step at best, ${medianUs.toFixed(0)} at the median. The young generation is collected every ${stepsBetween.toFixed(0)} steps, for ${collectionMs.toFixed(1)} ms.\n\n${table(["its own time, without what it calls", "share"], rows)}`;
}

/** µs a step of each of the runs that fit. */
async function timesOf(ms, runOnce) {
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
