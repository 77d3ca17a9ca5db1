/**
 * The crash kit. It plays a user's agent to its end, and then again with a crash before and after every commit, in a single process
 * and without real waits. After each play it checks Pawl's promises.
 */

import { randomUUID } from "node:crypto";
import {
  aBoolean,
  aFunction,
  anArray,
  anObject,
  anyValue,
  aStore,
  aString,
  checkOptions,
  numberFrom,
  type OptionTable,
  oneOf,
  required,
} from "../check-options.js";
import { getErrorMessage } from "../core/data/error-message.js";
import type { Entry } from "../core/machine/event.js";
import type { RunResult } from "../core/view/outcome.js";
import type { Agent } from "../create-agent.js";
import { PawlError } from "../errors.js";
import { findSignalKeyFault } from "../ports/signal.js";
import type { Store } from "../ports/store.js";
import type { RunParams } from "../runtime/agent/params.js";
import { createMemoryStore } from "../stores/memory/index.js";
import { startAgent } from "./crash/agent-process.js";
import { collectCalls, type PlayedCall } from "./crash/calls.js";
import { checkSession } from "./crash/check-session.js";
import { agentInvariants } from "./crash/invariants-agent.js";
import { type CrashSignal, createPlayWaits, listFamily } from "./crash/pass-waits.js";
import { isAroundCommit, playToEnd } from "./crash/play-scenario.js";
import { type Respond, runToEnd } from "./crash/run-to-end.js";
import { sweepPairs, sweepSingles } from "./crash/sweep.js";
import { createTally, sumTallies, type Tally } from "./crash/tally.js";
import type { Fact } from "./world/facts.js";
import { readHistory } from "./world/history.js";
import { checkInvariants, InvariantBroken } from "./world/invariants.js";
import { createSeededRandom } from "./world/seeded-random.js";
import { formatStory } from "./world/story.js";
import { createWorld, listReadyTurns, type Process, type World } from "./world/world.js";

/** The agent to crash, and the checks. */
export type CrashTestOptions = {
  /**
   * Creates the agent, as a process does when it starts: called once for each life of the process. Everything outside the agent (a
   * database, a service, a variable that stands for one) survives crashes. The kit replaces the store, the clock and the ids.
   */
  readonly agent: () => Agent;
  /** The request of the run. */
  readonly input: string;
  /** The `params` of the run, if the agent has a `params` schema. */
  readonly params?: RunParams;
  /** Who starts the run: tools and hooks get it as `principal`. */
  readonly by?: string;
  /** Answers a waiting call. Default: approves the call, and counts a call with an unknown outcome as failed. */
  readonly respond?: Respond;
  /**
   * The signals that tools wait for. Every play sends each of them once, when a tool waits for its key. Of several with the same key,
   * each wait gets the next. A wait that gets none ends at its time; if it has none, the play fails. Default: none.
   */
  readonly signals?: readonly CrashSignal[];
  /** Your own check, called after each play. If it throws, the play fails. */
  readonly check?: (play: CrashPlay) => void | Promise<void>;
  /** Called before each play: resets the outside world, so that no play sees the effects of another. */
  readonly reset?: () => void | Promise<void>;
  /** Whether to also play every pair of crashes. Default: false. */
  readonly pairs?: boolean;
  /**
   * `commits`: crashes before and after every commit. `waits`: also around each request, model call and tool call. Default:
   * `commits`.
   */
  readonly points?: "commits" | "waits";
  /** Plays only once, with crashes at these points, as reported in `CrashFailure.at`. An empty array plays without a crash. */
  readonly at?: readonly number[];
  /** The store; each play uses a new session in it. Default: a new store in memory for each play. */
  readonly store?: Store;
  /**
   * How long the kit waits for a model, a tool, a hook or other code of the author, in real milliseconds, before timeouts start to
   * count. Default: 2,000.
   */
  readonly patienceMs?: number;
  /**
   * How long the kit waits before it moves its clock, in real milliseconds. Needed for work that the kit cannot see: models and
   * tools of the agents that tools run. Default: 0.
   */
  readonly quietMs?: number;
};

const optionRules: OptionTable<CrashTestOptions> = {
  agent: required(aFunction),
  input: required(anyValue),
  params: anObject,
  by: aString,
  respond: aFunction,
  signals: {
    accepts: (value) => Array.isArray(value) && value.every((signal) => findSignalKeyFault(signal?.key) === undefined),
    expected: "an array of signals, each with a `key`",
  },
  check: aFunction,
  reset: aFunction,
  pairs: aBoolean,
  points: oneOf("commits", "waits"),
  at: anArray,
  store: aStore,
  patienceMs: numberFrom(0),
  quietMs: numberFrom(0),
};

/** A play that has ended. */
export type CrashPlay = {
  /** The result of the run. */
  readonly result: RunResult;
  /** The log of the session. */
  readonly log: readonly Entry[];
  readonly sessionId: string;
  readonly runId: string;
  /** The points at which the process died. */
  readonly at: readonly number[];
};

/** The report of a crash test. */
export type CrashReport = {
  /** The number of points at which the process can die in the play without crashes: two for each commit. */
  readonly points: number;
  /** The number of plays, including the one without crashes. */
  readonly plays: number;
  /** How often a process crashed. */
  readonly crashes: number;
  /** By tool, how many times a call was started again. Zero if the tool may not run again. */
  readonly repeated: Readonly<Record<string, number>>;
  /** By tool, how many calls ended as *interrupted, outcome unknown*. Zero if the tool declares how it recovers. */
  readonly unknown: Readonly<Record<string, number>>;
};

/** A play broke a promise or failed a check. The message describes what happened, and how to replay it. */
export class CrashFailure extends Error {
  /** Distinguishes this error from others. */
  override readonly name = "CrashFailure";
  /** The points at which the process died. Replay them with `crashTest({ …, at })`. */
  readonly at: readonly number[];
  /** The number of the broken promise in docs/reliability.md; null if your own check failed, or for any other error. */
  readonly invariant: number | null;

  constructor(at: readonly number[], cause: unknown, facts: readonly Fact[]) {
    const reason = getErrorMessage(cause);
    const where = at.length === 0 ? "Without a crash" : `With a crash at ${at.join(" and ")}`;
    const broken = cause instanceof InvariantBroken ? cause : null;
    const story = formatStory(facts, { lines: 60, about: broken?.line ?? null });
    super(`${where}: ${reason}\n\n${story}\n\nReplay: crashTest({ …, at: [${at.join(", ")}] })`, { cause });
    this.at = at;
    this.invariant = broken?.number ?? null;
  }
}

/**
 * Plays an agent's run with a crash before and after every commit, and checks each play.
 *
 * @throws CrashFailure
 *
 * @example
 * ```ts
 * import { crashTest } from "pawl/testing";
 *
 * const report = await crashTest({
 *   agent: () => createAgent({ model, tools }), // created again after every crash, as when a process starts
 *   input: "Pay the invoice.",
 *   reset: () => ledger.clear(),
 *   check: () => assert.equal(ledger.size, 1),
 * });
 * console.log(report.crashes, report.repeated);
 * ```
 */
export async function crashTest(options: CrashTestOptions): Promise<CrashReport> {
  checkOptions("crashTest()", optionRules, options);
  const prefix = randomUUID().slice(0, 8);
  const endings: PlayEnding[] = [];
  const play = async (deathPoints: readonly number[]): Promise<PlayEnding> => {
    await options.reset?.();
    const ending = await playAgent(
      options,
      options.store ?? createMemoryStore(),
      `${prefix}-${endings.length + 1}`,
      deathPoints,
    );
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
    ...sumTallies(endings.map(({ calls }): Tally => createTally(calls.values()))),
  };
}

type PlayEnding = {
  readonly points: number;
  readonly deaths: number;
  readonly calls: ReadonlyMap<string, PlayedCall>;
};

async function playAgent(
  options: CrashTestOptions,
  store: Store,
  id: string,
  deathPoints: readonly number[],
): Promise<PlayEnding> {
  const world = createWorld(store, createSeededRandom(1), `session ${id}`);
  const runId = `run-${id}`;
  try {
    const { points, deaths, result } = await playToEnd(
      world,
      createScenario(world, options, runId, deathPoints),
      deathPoints,
    );
    const missingPoint = options.at?.find((point) => point > points);
    if (missingPoint !== undefined)
      throw new PawlError(
        "bad_input",
        `There is no point ${missingPoint} in this play. Use points from 1 to ${points}.`,
      );
    const history = await readHistory(world);
    checkInvariants(history, agentInvariants);
    if (result.status === "interrupted")
      throw new Error(`the run was interrupted (${result.reason}): ${result.error?.message}`);
    for (const sessionId of await listFamily(store, world.sessionId)) await checkSession(store, sessionId);
    await options.check?.({ result, log: history.log, sessionId: world.sessionId, runId, at: deathPoints });
    return { points, deaths, calls: collectCalls(history.log, world.facts) };
  } catch (cause) {
    throw new CrashFailure(deathPoints, cause, world.facts);
  }
}

function createScenario(world: World, options: CrashTestOptions, runId: string, deathPoints: readonly number[]) {
  const { agent, input, respond = respondByDefault, patienceMs = 2_000, quietMs = 0, points = "commits" } = options;
  const { params, by } = options;
  const given = { ...(params === undefined ? {} : { params }), ...(by === undefined ? {} : { by }) };
  const waits = createPlayWaits(world, options.signals ?? []);
  // In half of the plays, the next process can see that the previous one is dead. In the others, it waits for the lease to expire.
  const sameHost = (deathPoints[0] ?? 0) % 2 === 0;
  return {
    start() {
      waits.startLife();
      const process = startAgent(world, { agent: agent(), sameHost, patienceMs });
      const { sessionId } = world;
      const { untilDue } = waits;
      return { process, attended: runToEnd(process, { sessionId, runId, input, given, respond, untilDue }) };
    },
    isPoint: points === "waits" ? () => true : isAroundCommit,
    /** Acts as a worker: if the session of an agent that is used as a tool is due, because its process died, resumes it and the run. */
    async whenStill({ agent }: Process) {
      const due = await world.include(world.store.due(world.clock.now(), maxDue));
      if (due.every((sessionId) => sessionId === world.sessionId)) return;
      // `runToEnd` gets the result. Here, the sessions only have to be resumed. The store may have sessions of other plays.
      const family = await world.include(listFamily(world.store, world.sessionId));
      for (const sessionId of family.filter((id) => id === world.sessionId || due.includes(id)))
        void agent
          .session(sessionId)
          .resume()
          .catch(() => {});
    },
    async isStillBusy() {
      if (quietMs > 0) await new Promise((resolve) => setTimeout(resolve, quietMs));
      if (listReadyTurns(world).length > 0) return true;
      return await waits.pass();
    },
  };
}

const maxDue = 100;

const respondByDefault: Respond = ({ why, callKey, name }) => {
  if (why === "policy" || why === "provider") return { type: "approve" };
  if (why === "recovery") return { type: "fail" };
  if (why === "tool") return { type: "decline" };
  throw new PawlError("bad_input", `${callKey} (${name}) runs elsewhere: pass \`respond\`, which returns its result.`);
};
