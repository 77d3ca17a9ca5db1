/**
 * The crash kit: somebody's own agent is played to its end, then again with a crash before and after every commit, in one process
 * and without waiting; what Pawl promises is checked after each play.
 */
import { randomUUID } from "node:crypto";
import type { Entry } from "../core/machine/event.js";
import type { RunResult } from "../core/view/outcome.js";
import type { Agent } from "../create-agent.js";
import { PawlError } from "../errors.js";
import type { Store } from "../ports/store.js";
import { createMemoryStore } from "../stores/memory/index.js";
import { startAgent } from "./crash/agent-process.js";
import { attendRun, type Respond } from "./crash/attend.js";
import { callsOf, type PlayedCall } from "./crash/calls.js";
import { checkSession } from "./crash/check-session.js";
import { agentInvariants } from "./crash/invariants-agent.js";
import { isAroundCommit, playThrough } from "./crash/play.js";
import { sweepPairs, sweepSingles } from "./crash/sweep.js";
import { sumOf, type Tally, tallyOf } from "./crash/tally.js";
import { createChance } from "./world/chance.js";
import { type Fact, traceOf } from "./world/facts.js";
import { historyOf } from "./world/history.js";
import { checkInvariants, InvariantBroken } from "./world/invariants.js";
import { createWorld, type Process, ready, type World } from "./world/world.js";

export type CrashTestOptions = {
  /**
   * Makes the agent, as a process does when it starts: called for every life. What lives outside of it (a database, a service, a
   * variable that stands for one) is the world, which no crash touches. The kit puts its own store, clock and ids in.
   */
  readonly agent: () => Agent;
  readonly input: string;
  /** What a person says to a call that waits. Approves, and calls a failure what nobody knows, unless given. */
  readonly respond?: Respond;
  /** What must hold of your own: called after each play. What it throws is a failure. */
  readonly check?: (play: CrashPlay) => void | Promise<void>;
  /** Called before each play: puts the world back, where plays must not see each other's effects. */
  readonly reset?: () => void | Promise<void>;
  /** Also every pair of crashes; false. */
  readonly pairs?: boolean;
  /** Crashes at every wait in the place of every commit: before and after each request, model call and tool call too; "commits". */
  readonly points?: "commits" | "waits";
  /** Only this play, as a failure names it; none is a play without crashes. */
  readonly at?: readonly number[];
  /** Each play is a session of its own in it; a new one in memory unless given. */
  readonly store?: Store;
  /** For how long a model or a tool is waited for, in real milliseconds, before timeouts begin to count; 2 s. */
  readonly patienceMs?: number;
  /** Real milliseconds to wait before time goes on, for work that the kit cannot see (models and tools of agents behind tools); 0. */
  readonly quietMs?: number;
};

/** One play, at its end. */
export type CrashPlay = {
  readonly result: RunResult;
  readonly log: readonly Entry[];
  readonly sessionId: string;
  readonly runId: string;
  /** The points at which the process died. */
  readonly at: readonly number[];
};

export type CrashReport = {
  /** Moments of the play without crashes at which the process can die: two for each commit. */
  readonly points: number;
  /** Plays, the one without crashes too. */
  readonly plays: number;
  readonly crashes: number;
  /** Starts after the first one of a call, by tool: zero where a tool may not run again. */
  readonly repeated: Readonly<Record<string, number>>;
  /** Calls that ended as *interrupted, outcome unknown*, by tool: zero where a tool says how it recovers. */
  readonly unknown: Readonly<Record<string, number>>;
};

/** A play in which something did not hold. The message has what happened, and how to play it again. */
export class CrashFailure extends Error {
  override readonly name = "CrashFailure";
  /** The points at which the process died: `crashTest({ …, at })` plays it again. */
  readonly at: readonly number[];
  /** The number of the promise that was broken, in docs/reliability.md; null where it was your own check, or an error. */
  readonly invariant: number | null;

  constructor(at: readonly number[], cause: unknown, facts: readonly Fact[]) {
    const what = cause instanceof Error ? cause.message : String(cause);
    const where = at.length === 0 ? "Without a crash" : `With a crash at ${at.join(" and ")}`;
    super(`${where}: ${what}\n\n${traceOf(facts, 60)}\n\nAgain: crashTest({ …, at: [${at.join(", ")}] })`, { cause });
    this.at = at;
    this.invariant = cause instanceof InvariantBroken ? cause.number : null;
  }
}

/**
 * Plays an agent's run with a crash before and after every commit, and checks what came of it.
 * @throws CrashFailure
 */
export async function crashTest(options: CrashTestOptions): Promise<CrashReport> {
  const store = options.store ?? createMemoryStore();
  const prefix = randomUUID().slice(0, 8);
  const endings: Ending[] = [];
  const play = async (dies: readonly number[]): Promise<Ending> => {
    await options.reset?.();
    const ending = await playAgent(options, store, `${prefix}-${endings.length + 1}`, dies);
    endings.push(ending);
    return ending;
  };
  const { points } = await play(options.at ?? []);
  if (options.at === undefined) {
    await sweepSingles(play, points);
    if (options.pairs === true) await sweepPairs(play, points);
  }
  return {
    points,
    plays: endings.length,
    crashes: endings.reduce((sum, { deaths }) => sum + deaths, 0),
    ...sumOf(endings.map(({ calls }): Tally => tallyOf(calls.values()))),
  };
}

type Ending = {
  readonly points: number;
  readonly deaths: number;
  readonly calls: ReadonlyMap<string, PlayedCall>;
};

async function playAgent(
  options: CrashTestOptions,
  store: Store,
  id: string,
  dies: readonly number[],
): Promise<Ending> {
  const world = createWorld(store, createChance(1), `session ${id}`);
  const runId = `run-${id}`;
  try {
    const { points, deaths, result } = await playThrough(world, dramaOf(world, options, runId, dies), dies);
    const missed = options.at?.find((point) => point > points);
    if (missed !== undefined)
      throw new PawlError("bad_input", `There is no point ${missed}: the play came to its end after ${points}.`);
    const history = await historyOf(world);
    checkInvariants(history, agentInvariants);
    if (result.status === "interrupted") throw new Error(`the run was left ${result.reason}: ${result.error?.message}`);
    for (const sessionId of await familyOf(store, world.sessionId)) await checkSession(store, sessionId);
    await options.check?.({ result, log: history.log, sessionId: world.sessionId, runId, at: dies });
    return { points, deaths, calls: callsOf(history.log, world.facts) };
  } catch (cause) {
    throw new CrashFailure(dies, cause, world.facts);
  }
}

function dramaOf(world: World, options: CrashTestOptions, runId: string, dies: readonly number[]) {
  const { agent, input, respond = approve, patienceMs = 2_000, quietMs = 0, points = "commits" } = options;
  // Half of the time the next process sees that the one before it is dead; otherwise its lease has to end.
  const sameHost = (dies[0] ?? 0) % 2 === 0;
  return {
    start() {
      const process = startAgent(world, { agent: agent(), sameHost, patienceMs });
      return { process, attended: attendRun(process, { sessionId: world.sessionId, runId, input, respond }) };
    },
    isPoint: points === "waits" ? () => true : isAroundCommit,
    /** As a worker does: it finds the sessions of agents behind tools whose process died, and carries them on. */
    async whenStill({ agent }: Process) {
      const due = await world.include(world.store.due(world.clock.now(), dueAtOnce));
      const isChild = due.some((sessionId) => sessionId !== world.sessionId);
      // Whoever attends to the run is told of its end; here it only has to be taken up.
      if (isChild)
        void agent
          .session(world.sessionId)
          .resume()
          .catch(() => {});
    },
    async isStillBusy() {
      if (quietMs > 0) await new Promise((resolve) => setTimeout(resolve, quietMs));
      return quietMs > 0 && ready(world).length > 0;
    },
  };
}

const dueAtOnce = 100;

const approve: Respond = ({ why, callKey, name }) => {
  if (why === "policy") return { type: "approve" };
  if (why === "recovery") return { type: "fail" };
  throw new PawlError(
    "bad_input",
    `${callKey} (${name}) runs elsewhere: give \`respond\`, which says what it came to.`,
  );
};

/** The session, and those of the agents behind its tools. */
async function familyOf(store: Store, sessionId: string): Promise<readonly string[]> {
  const all = await store.list();
  const children = all.filter(({ info }) => info?.top === sessionId).map((one) => one.sessionId);
  return [sessionId, ...children];
}
