/**
 * The simulation: the real driver over a store and a world that chance rules, by a seed.
 *
 * Processes run, are killed, stopped past their lease and continued; the store fails, loses answers, is busy, gets
 * requests twice and gives late what was read; models and hooks fail in every way; people speak, answer and abort at any
 * moment; clocks jump. Afterwards the invariants are checked.
 */
import { loadCron } from "../../src/engine/schedules/slots.js";
import type { Store } from "../../src/ports/store.js";
import { createMemoryStore } from "../../src/stores/memory/index.js";
import type { Fact } from "../../src/testing/world/facts.js";
import { checkInvariants, InvariantBroken } from "../../src/testing/world/invariants.js";
import { createSeededRandom } from "../../src/testing/world/seeded-random.js";
import { formatStory } from "../../src/testing/world/story.js";
import { createWorld } from "../../src/testing/world/world.js";
import { directSimulation, drawOwnHabits, drawProfile } from "./world/director.js";
import { loadSimulationHistories } from "./world/history.js";
import { simulationInvariants } from "./world/invariants.js";
import { withoutTime } from "./world/timed.js";

export type SimulationOptions = {
  /** An integer; the same seed gives the same simulation. */
  readonly seed: number;
  /** Turns with trouble, before everything is let come to its end; by chance 40 to 160. */
  readonly turns?: number;
  /** The store that the processes share; a new one in memory unless given. */
  readonly store?: Store;
  /** The id of the session, which must be new; "session". */
  readonly sessionId?: string;
  /** Lines of the story in a failure; 80. */
  readonly storyLines?: number;
};

/** How much a simulation covered. */
export type SimulationReport = {
  readonly seed: number;
  readonly turns: number;
  readonly processes: number;
  readonly commits: number;
  readonly entries: number;
  readonly modelCalls: number;
  readonly toolCalls: number;
  readonly kills: number;
  readonly stops: number;
  /** Sessions of agents behind tools, and of runs of schedules. */
  readonly children: number;
  /** Sleeps of tools that began, and waits for signals. */
  readonly sleeps: number;
  readonly waits: number;
  readonly signals: number;
  /** Slots of schedules, and messages that were sent for later, that were fired. */
  readonly fires: number;
  /** Entries of the log, by type. */
  readonly events: { readonly [type: string]: number };
};

/** A simulation in which an invariant did not hold. Its message has its story, and the command that repeats it. */
export class SimulationFailure extends Error {
  override readonly name = "SimulationFailure";
  readonly seed: number;

  constructor(seed: number, what: string, story: string, options: { readonly cause: unknown }) {
    super(`Seed ${seed}: ${what}\n\n${story}\n\nAgain: node scripts/simulate.mjs --seed ${seed}`, options);
    this.seed = seed;
  }
}

/**
 * Runs one simulation, and checks what it did.
 * @throws SimulationFailure
 */
export async function simulate(options: SimulationOptions): Promise<SimulationReport> {
  const { seed, storyLines = 80, store = createMemoryStore() } = options;
  const habits = drawOwnHabits(seed);
  // Loading takes real time, and the world waits for none.
  if (habits.timed !== null) await loadCron();
  const world = createWorld(
    habits.timed === null ? withoutTime(store) : store,
    createSeededRandom(seed),
    options.sessionId ?? "session",
  );
  try {
    const profile = drawProfile(world, habits);
    const outcome = await directSimulation(world, profile, options.turns ?? 40 + world.chance.below(120));
    const worldFacts = { isCalm: profile.isCalm, hasGuard: profile.own.extras.guard !== null };
    for (const history of await loadSimulationHistories(world, { ...outcome, ...worldFacts }))
      checkInvariants(history, simulationInvariants);
    return createReport(seed, outcome.turns, world.facts);
  } catch (cause) {
    const what = cause instanceof Error ? cause.message : String(cause);
    const about = cause instanceof InvariantBroken ? cause.line : null;
    throw new SimulationFailure(seed, what, formatStory(world.facts, { lines: storyLines, about }), { cause });
  }
}

function createReport(seed: number, turns: number, facts: readonly Fact[]): SimulationReport {
  const count = (matches: (fact: Fact) => boolean) => facts.filter(matches).length;
  return {
    seed,
    turns,
    processes: count((fact) => fact.type === "process" && fact.what === "started"),
    commits: count((fact) => fact.type === "written"),
    entries: facts.reduce((sum, fact) => sum + (fact.type === "written" ? fact.commit.events.length : 0), 0),
    modelCalls: count((fact) => fact.type === "model_called"),
    toolCalls: count((fact) => fact.type === "tool_started"),
    kills: count((fact) => fact.type === "process" && fact.what === "killed"),
    stops: count((fact) => fact.type === "process" && fact.what === "stopped"),
    children: new Set(facts.flatMap((fact) => (fact.type === "written" ? fact.sessionId : []))).size - 1,
    sleeps: countWaits(facts, "time"),
    waits: countWaits(facts, "signal"),
    signals: count((fact) => fact.type === "signalled" && fact.isNew),
    fires: count((fact) => fact.type === "schedule_fired"),
    events: Object.fromEntries(countEvents(facts)),
  };
}

function countWaits(facts: readonly Fact[], kind: "time" | "signal"): number {
  const events = facts.flatMap((fact) => (fact.type === "written" ? fact.commit.events : []));
  return events.filter((event) => event.type === "tool_asked" && event.for === kind).length;
}

function countEvents(facts: readonly Fact[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const fact of facts)
    if (fact.type === "written")
      for (const { type } of fact.commit.events) counts.set(type, (counts.get(type) ?? 0) + 1);
  return counts;
}
