/**
 * A process of `bench -- builds`: does one kind of work with one build, and prints its CPU time in microseconds, for each step if it
 * consists of steps.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { inFolder } from "./folder.mjs";
import { add, steppingModel } from "./stepping.mjs";

const [dist, work] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(join(dist, path)).href);
const now = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

const startedAt = now();
const { createAgent, createMemoryStore } = await load("index.js");
const imported = now() - startedAt;

const steps = 200;

async function play(store, runs, isStreamed = true) {
  for (let count = 0; count < runs; count += 1) {
    const agent = createAgent({ model: steppingModel(steps), tools: [add], store, limits: { maxSteps: steps + 2 } });
    const streamed = isStreamed ? agent.runStream("Go.") : null;
    if (streamed !== null) for await (const _ of streamed);
    const { status } = await (streamed === null ? agent.run("Go.") : streamed.result);
    if (status !== "completed") throw new Error(status);
  }
}

/**
 * The CPU time of a step after `warmUp` runs. Until about the 60th, V8 compiles many functions once more, each build at another time: a short
 * measurement there would compare those.
 */
async function measure(store, warmUp, runs, isStreamed) {
  await play(store, warmUp, isStreamed);
  const before = now();
  await play(store, runs, isStreamed);
  return (now() - before) / (steps * runs);
}

async function inSqlite(warmUp, runs) {
  const { openSqliteStore } = await load("stores/sqlite/index.js");
  return await inFolder(async (folder) => {
    const store = await openSqliteStore({ path: join(folder, "sessions.db"), synchronous: "normal" });
    const cost = await measure(store, warmUp, runs);
    await store.close();
    return cost;
  });
}

const works = {
  import: () => imported,
  first: () => measure(createMemoryStore(), 0, 1),
  "first-sqlite": () => inSqlite(0, 1),
  later: () => measure(createMemoryStore(), 60, 60),
  "later-run": () => measure(createMemoryStore(), 60, 60, false),
  "later-sqlite": () => inSqlite(60, 20),
};
console.log(await works[work]());
