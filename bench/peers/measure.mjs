/**
 * Runs every workload, contender by contender in turns; gives the figures as plain data.
 */

import { median } from "../report.mjs";
import { contenders } from "./contenders.mjs";
import { start } from "./contestant.mjs";
import { footprints } from "./footprint.mjs";

/** Sizes of a whole run, and of a quick run that only shows that everything works. */
export const sizes = {
  whole: {
    rounds: 5,
    W1: { steps: 50, warmUpMs: 1000, roundMs: 200 },
    "W1-counts": { steps: 50, warmUpMs: 500 },
    W2: { deltas: 20_000, warmUpMs: 800, roundMs: 150 },
    "W2-lengths": { deltas: [1_000, 20_000, 100_000], warmUpMs: 1000, roundMs: 100 },
    W3: { points: [10, 100, 500, 1_000, 2_000], capMs: 25_000, warmUpMs: 1500 },
    W4: { runs: 5_000 },
    W5: { steps: 200, rounds: 5, warmUpMs: 1000 },
    "W5-sessions": { atOnce: 100, steps: 20, rounds: 3, warmUpMs: 1000 },
    W6: { rounds: 11 },
  },
  quick: {
    rounds: 2,
    W1: { steps: 50, warmUpMs: 200, roundMs: 30 },
    "W1-counts": { steps: 50, warmUpMs: 100 },
    W2: { deltas: 5_000, warmUpMs: 200, roundMs: 30 },
    "W2-lengths": { deltas: [1_000, 10_000], warmUpMs: 200, roundMs: 30 },
    W3: { points: [10, 100, 200], capMs: 4_000, warmUpMs: 200 },
    W4: { runs: 200 },
    W5: { steps: 150, rounds: 1, warmUpMs: 100 },
    "W5-sessions": { atOnce: 20, steps: 10, rounds: 1, warmUpMs: 100 },
    W6: { rounds: 3 },
  },
};

/**
 * @param node the executable
 * @param only workloads, "W1" to "W6"; @param peers names of contenders besides the floor; all if left out
 * @param tell called with a line for each thing that is measured
 */
export async function measureAll({ node, size, only, peers, tell }) {
  const parts = { W1: measureW1, W2: measureW2, W3: measureW3, W4: measureW4, W5: measureW5, W6: measureW6 };
  const results = {};
  for (const [name, measure] of Object.entries(parts)) {
    if (only !== undefined && !only.includes(name)) continue;
    const on = (workload) =>
      contenders.filter((one) => one.on.includes(workload) && (peers === undefined || isWanted(one.name, peers)));
    results[name] = await measure({ node, size, on, tell });
  }
  return results;
}

/** "pawl" stands for Pawl on SQLite too. */
function isWanted(name, peers) {
  return name.startsWith("floor") || peers.some((peer) => name === peer || name === `${peer}-sqlite`);
}

/**
 * In turns: each contender once a round, in an order that moves on, until `isEnough` of its results. Resolves to
 * `{ name, results | failure }` of each.
 */
async function inTurns(some, workload, { node, tell }, settings) {
  const { rounds, options, limitMs = 120_000, isEnough = () => false } = settings;
  const rows = [];
  for (const { name } of some) {
    const row = { name, results: [], contestant: null };
    rows.push(row);
    try {
      row.contestant = await start(name, workload, { node, limitMs, options: optionsFor(options, name) });
    } catch (error) {
      tell(`${workload}  ${name} could not be run: ${error.message}`);
      row.failure = error.message;
    }
  }
  for (let round = 0; round < rounds; round += 1)
    for (let turn = 0; turn < rows.length; turn += 1) {
      const row = rows[(turn + round) % rows.length];
      if (row.failure !== undefined || isEnough(row.results)) continue;
      try {
        row.results.push(await row.contestant.measure());
      } catch (error) {
        tell(`${workload}  ${row.name} could not be run: ${error.message}`);
        row.failure = error.message;
      }
    }
  for (const { contestant } of rows) await contestant?.close();
  return rows.map(({ name, results, failure }) => (failure === undefined ? { name, results } : { name, failure }));
}

const optionsFor = (options, name) => (typeof options === "function" ? options(name) : options);

/** Applies `summary` to the results of each row. */
function summarized(rows, summary) {
  return rows.map(({ name, results, failure }) =>
    failure === undefined ? { name, ...summary(results) } : { name, failure },
  );
}

function toldOf(tell, workload, rows, line) {
  for (const row of rows) if (row.failure === undefined) tell(`${workload}  ${row.name.padEnd(18)}${line(row)}`);
  return rows;
}

async function measureW1(context) {
  const { size, on, tell } = context;
  const options = size.W1;
  const times = summarized(await inTurns(on("W1"), "W1", context, { rounds: size.rounds, options }), (results) => ({
    ...perUnit(results, options.steps),
  }));
  const counted = await inTurns(on("W1"), "W1-counts", context, { rounds: 1, options: size["W1-counts"] });
  const rows = times.map((row, index) => {
    const [count] = counted[index].results ?? [];
    if (row.failure !== undefined || count === undefined) return row;
    return { ...row, promises: count.promises / options.steps, kilobytes: count.bytes / 1024 / options.steps };
  });
  return toldOf(
    tell,
    "W1",
    withRatio(rows, "us"),
    ({ us, times }) => `${us.toFixed(1)} µs a step, ${times.toFixed(1)} × floor`,
  );
}

async function measureW2(context) {
  const { size, on, tell } = context;
  const rounds = size.rounds;
  const usOf = (deltas) => (results) => perUnit(results, deltas);
  const { deltas } = size.W2;
  const rows = summarized(await inTurns(on("W2"), "W2", context, { rounds, options: size.W2 }), usOf(deltas));
  toldOf(tell, "W2", withRatio(rows, "us"), ({ us }) => `${us.toFixed(2)} µs a delta`);
  const own = on("W2").filter(({ name }) => name === "floor" || name === "pawl");
  const lengths = [];
  for (const count of size["W2-lengths"].deltas) {
    const options = { ...size["W2-lengths"], deltas: count };
    const each = summarized(await inTurns(own, "W2", context, { rounds: Math.min(3, rounds), options }), usOf(count));
    lengths.push({ deltas: count, rows: withRatio(each, "us") });
  }
  return { deltas, rows: withRatio(rows, "us"), lengths };
}

async function measureW3(context) {
  const { size, on, tell } = context;
  const options = size.W3;
  // A run of seconds has enough steps by itself: chance does not change its figures much.
  const isEnough = (results) => results.some(({ ms }) => ms > 2_000);
  const turns = await inTurns(on("W3"), "W3", context, { rounds: size.rounds, options, isEnough });
  const rows = summarized(turns, (results) => {
    const points = options.points.map((_, index) => medianOrNull(results.map(({ points }) => points[index])));
    const [{ capped }] = results;
    return { points, growth: growthOf(options.points, points), ...(capped === undefined ? {} : { capped }) };
  });
  toldOf(tell, "W3", rows, ({ points }) => points.map((us) => (us === null ? "–" : us.toFixed(1))).join("  "));
  return { points: options.points, capMs: options.capMs, rows };
}

/** The last point over the one of step 100. */
function growthOf(at, points) {
  const [first, last] = [points[at.indexOf(100)], points.at(-1)];
  return first === null || last === null ? null : last / first;
}

async function measureW4(context) {
  const { size, on, tell } = context;
  const measure = async (workload) => {
    const options = (name) => ({
      ...size.W4,
      ...(name === "pawl" && workload === "W4-person" ? { store: "sqlite" } : {}),
    });
    // Each alone: idle processes that hold thousands of runs must not disturb the next contender.
    const rows = [];
    for (const one of on(workload))
      rows.push(...(await inTurns([one], workload, context, { rounds: 1, options, limitMs: 180_000 })));
    const kept = summarized(rows, ([{ heap, resident }]) => ({ kilobytes: heap / 1024, resident: resident / 1024 }));
    return toldOf(tell, workload, kept, ({ kilobytes }) => `${kilobytes.toFixed(1)} KB a run`);
  };
  return { runs: size.W4.runs, tool: await measure("W4-tool"), person: await measure("W4-person") };
}

async function measureW5(context) {
  const { size, on, tell } = context;
  const { steps, rounds, warmUpMs } = size.W5;
  const modes = {};
  for (const synchronous of ["normal", "full"]) {
    const shape = await shapeOfPawl(context, { steps, synchronous, warmUpMs: 0 });
    if (shape.failure !== undefined) return { failure: shape.failure };
    const options = { steps, synchronous, shape, warmUpMs };
    const rows = summarized(await inTurns(on("W5"), "W5", context, { rounds, options }), (results) => ({
      us: (median(results.map(({ ms }) => ms)) * 1000) / steps,
      bytes: medianOrNull(results.map(({ bytes }) => bytes)),
      growth: medianOrNull(results.map(({ growth }) => growth)),
      ...(results[0].fileBytes === undefined ? {} : { fileBytes: median(results.map(({ fileBytes }) => fileBytes)) }),
    }));
    const many = { ...size["W5-sessions"], synchronous, shape };
    const sessions = summarized(
      await inTurns(on("W5-sessions"), "W5-sessions", context, { rounds: many.rounds, options: many }),
      (results) => ({ perSecond: median(results.map(({ perSecond }) => perSecond)) }),
    );
    toldOf(
      tell,
      `W5 ${synchronous}`,
      rows,
      ({ us, bytes }) => `${us.toFixed(0)} µs a step, ${bytes?.toFixed(0) ?? "–"} bytes`,
    );
    toldOf(tell, `W5 ${synchronous}, many`, sessions, ({ perSecond }) => `${perSecond.toFixed(0)} steps/s`);
    modes[synchronous] = { shape, rows: withRatio(rows, "us", "floor-sqlite"), sessions };
  }
  return { steps, atOnce: size["W5-sessions"].atOnce, ...modes };
}

/** How many commits Pawl makes a step, and how long their rows are. */
async function shapeOfPawl(context, options) {
  const pawl = contenders.filter(({ name }) => name === "pawl-sqlite");
  const [{ results, failure }] = await inTurns(pawl, "W5", context, { rounds: 1, options });
  return failure === undefined ? results[0].shape : { failure };
}

async function measureW6({ node, size, on, tell }) {
  const rows = await footprints(on("W6"), { node, rounds: size.W6.rounds });
  return toldOf(
    tell,
    "W6",
    rows,
    ({ importMs, packages, bytes }) =>
      `${importMs.toFixed(0)} ms, ${packages} packages, ${(bytes / 1e6).toFixed(1)} MB`,
  );
}

function perUnit(results, units) {
  const of = (key) => (median(results.map((result) => result[key])) * 1000) / units;
  return { us: of("ms"), cpuUs: of("cpuMs") };
}

function withRatio(rows, key, floorName = "floor") {
  const floor = rows.find(({ name }) => name === floorName)?.[key];
  return rows.map((row) =>
    row.failure === undefined && floor !== undefined ? { ...row, times: row[key] / floor } : row,
  );
}

function medianOrNull(values) {
  return values.includes(null) ? null : median(values);
}
