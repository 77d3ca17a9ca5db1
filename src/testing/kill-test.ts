/**
 * Kills a user's program with SIGKILL before and after every commit, or at random, and restarts it until it has done its work.
 * After every death, the store is checked.
 */

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  aFunction,
  anArray,
  anObject,
  anyValue,
  checkOptions,
  integerFrom,
  numberFrom,
  type OptionTable,
  required,
} from "../check-options.js";
import { getErrorMessage } from "../core/data/error-message.js";
import type { Entry } from "../core/machine/event.js";
import { isResting } from "../core/machine/state.js";
import type { Store } from "../ports/store.js";
import { collectCalls } from "./crash/calls.js";
import { checkSession } from "./crash/check-session.js";
import { type ProgramEnd, startProgram } from "./crash/program.js";
import { createTally, sumTallies, type Tally } from "./crash/tally.js";
import { InvariantBroken } from "./world/invariants.js";
import { createSeededRandom } from "./world/seeded-random.js";

/** The program to kill, and the checks. */
export type KillTestOptions = {
  /**
   * A Node program, started with the same arguments in each life. A relative path is relative to the program's own folder if `prepare` has
   * written it there, and else to the working directory of this process. It must use the same `sessionId` and `runId` for its runs in
   * every life, so that a later life continues the run of an earlier life. It must end with exit code 0.
   */
  readonly script: string;
  /** The arguments of the program. Default: none. */
  readonly args?: readonly string[];
  /** Variables to add to this process's environment. */
  readonly env?: { readonly [name: string]: string };
  /** Options for Node itself. */
  readonly nodeOptions?: readonly string[];
  /** Opens the program's store. `folder` is the program's working directory. */
  readonly openStore: (folder: string) => Promise<Store>;
  /** Your own check, called when the program has done its work. If it throws, the play fails. */
  readonly check?: (play: KillPlay) => void | Promise<void>;
  /** Prepares the new folder in which a play starts. */
  readonly prepare?: (folder: string) => void | Promise<void>;
  /**
   * `commits`, the default: each play dies once, before or after one of its commits. `random`: this many deaths, at random moments.
   * `at`: one play with these deaths, one for each life, as reported in `KillFailure.at`, for example `["after 4"]`.
   */
  readonly kills?:
    | "commits"
    | {
        /** The number of deaths, each at a random moment. */
        readonly random: number;
        /** The seed for these moments. */
        readonly seed?: number;
      }
    | { readonly at: readonly string[] };
  /** The number of plays that run at the same time. Default: 2. */
  readonly atOnce?: number;
  /** The time limit for a life, in milliseconds. Default: 60,000. */
  readonly timeoutMs?: number;
};

const optionRules: OptionTable<KillTestOptions> = {
  script: required(anyValue),
  args: anArray,
  env: anObject,
  nodeOptions: anArray,
  openStore: required(aFunction),
  check: aFunction,
  prepare: aFunction,
  kills: anyValue,
  atOnce: integerFrom(1),
  timeoutMs: numberFrom(1),
};

/** A play in which the program has done its work. */
export type KillPlay = {
  /** The folder of the play, in which the program ran. */
  readonly folder: string;
  readonly store: Store;
  /** The log of each session, by session id. */
  readonly logs: ReadonlyMap<string, readonly Entry[]>;
  /** The points at which the program died: `before 3`, `after 3`, or `12 ms`. */
  readonly at: readonly string[];
  /** The standard output of the last life. */
  readonly stdout: string;
};

/** The report of a kill test. */
export type KillReport = {
  /** The number of plays. */
  readonly plays: number;
  /** The number of deaths by SIGKILL. */
  readonly kills: number;
  /** By tool, how many times a call was started again. */
  readonly repeated: Readonly<Record<string, number>>;
  /** By tool, how many calls ended as *interrupted, outcome unknown*. */
  readonly unknown: Readonly<Record<string, number>>;
};

/** A play broke a promise or failed a check. */
export class KillFailure extends Error {
  /** Distinguishes this error from others. */
  override readonly name = "KillFailure";
  /** The points at which the program died. */
  readonly at: readonly string[];
  /** The number of the broken promise in docs/reliability.md; null if your own check failed, or for any other error. */
  readonly invariant: number | null;

  constructor(at: readonly string[], cause: unknown) {
    super(`Killed ${at.join(", ") || "never"}: ${getErrorMessage(cause)}`, { cause });
    this.at = at;
    this.invariant = cause instanceof InvariantBroken ? cause.number : null;
  }
}

/**
 * Kills a program at every commit, or at random, and checks its store.
 *
 * The program must use SQLite: `pawl/testing/kill-at-commit`, which is loaded into the program, sees no other commits.
 *
 * @throws KillFailure
 *
 * @example
 * ```ts
 * import { killTest } from "pawl/testing";
 *
 * const report = await killTest({
 *   script: "payer.js",
 *   openStore: (folder) => openSqliteStore({ path: join(folder, "sessions.db") }),
 *   check: ({ folder }) => assert.equal(chargesIn(folder), 1),
 * });
 * ```
 */
export async function killTest(options: KillTestOptions): Promise<KillReport> {
  checkOptions("killTest()", optionRules, options);
  const { kills = "commits", atOnce = 2 } = options;
  const plays: KillPlayResult[] = [];
  const next =
    kills === "commits"
      ? createCommitPlays(options, plays)
      : "at" in kills
        ? createSinglePlay(options, kills.at, plays)
        : createRandomPlays(options, kills, plays);
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (await next());
    }),
  );
  return {
    plays: plays.length,
    kills: plays.reduce((sum, play) => sum + play.at.length, 0),
    ...sumTallies(plays.map(({ tally }) => tally)),
  };
}

type KillPlayResult = { readonly at: readonly string[]; readonly tally: Tally; readonly tookMs: number };

/** Plays once more. @returns false if no play is left */
type PlayNext = () => Promise<boolean>;

function createCommitPlays(options: KillTestOptions, plays: KillPlayResult[]): PlayNext {
  let commit = 0;
  let isOver = false;
  return async () => {
    if (isOver) return false;
    commit += 1;
    for (const moment of [`before ${commit}`, `after ${commit}`]) {
      const played = await play(options, (life) => (life === 1 ? { commit: moment } : null));
      plays.push(played);
      // The program survived, so it has fewer commits than this number.
      if (played.at.length === 0) isOver = true;
    }
    return !isOver;
  };
}

function createSinglePlay(options: KillTestOptions, at: readonly string[], plays: KillPlayResult[]): PlayNext {
  let isOver = false;
  return async () => {
    if (isOver) return false;
    isOver = true;
    const planDeath = (commit: string | undefined): PlannedDeath => (commit === undefined ? null : { commit });
    plays.push(await play(options, (life) => planDeath(at[life - 1])));
    return false;
  };
}

function createRandomPlays(
  options: KillTestOptions,
  { random, seed = 1 }: { readonly random: number; readonly seed?: number },
  plays: KillPlayResult[],
): PlayNext {
  const chance = createSeededRandom(seed);
  let killsLeft = random;
  let baselineMs: number | null = null;
  return async () => {
    if (killsLeft <= 0) return false;
    if (baselineMs === null) {
      const clean = await play(options, () => null);
      baselineMs = clean.tookMs;
    }
    const lifeMs = baselineMs;
    const played = await play(options, () => {
      if (killsLeft <= 0) return null;
      killsLeft -= 1;
      return { afterMs: Math.ceil(chance.fraction() * lifeMs) };
    });
    // A life that ended before its scheduled kill does not count as a death.
    killsLeft += played.missedKills;
    plays.push(played);
    return true;
  };
}

/** When to kill a life; null to let it run to its end. */
type PlannedDeath = { readonly commit: string } | { readonly afterMs: number } | null;

async function play(
  options: KillTestOptions,
  planDeath: (life: number) => PlannedDeath,
): Promise<KillPlayResult & { readonly missedKills: number }> {
  const folder = mkdtempSync(join(tmpdir(), "pawl-kill-"));
  const at: string[] = [];
  const startedAt = performance.now();
  let logs: KillPlay["logs"] = new Map();
  try {
    await options.prepare?.(folder);
    for (let life = 1; ; life += 1) {
      const death = planDeath(life);
      const exit = await runLife(options, folder, death);
      const isKilled = exit.signal === "SIGKILL" && death !== null && !exit.tookTooLong;
      if (isKilled) at.push("commit" in death ? death.commit : `${death.afterMs} ms`);
      const tookMs = performance.now() - startedAt;
      const store = await options.openStore(folder);
      try {
        logs = await checkStore(store, logs, !isKilled);
        if (isKilled) continue;
        checkExit(exit);
        await options.check?.({ folder, store, logs, at, stdout: exit.stdout });
      } finally {
        await store.close();
      }
      const tally = sumTallies([...logs.values()].map((log) => createTally(collectCalls(log, null).values())));
      return { at, tally, tookMs, missedKills: death !== null && "afterMs" in death ? 1 : 0 };
    }
  } catch (cause) {
    throw new KillFailure(at, cause);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The program runs in a folder of its own, so a path that is relative to this process must become absolute. */
function findScript(script: string, folder: string): string {
  const path = resolve(script);
  return !existsSync(join(folder, script)) && existsSync(path) ? path : script;
}

type EndedLife = ProgramEnd & { readonly tookTooLong: boolean };

async function runLife(options: KillTestOptions, folder: string, death: PlannedDeath): Promise<EndedLife> {
  const { script, args = [], env = {}, nodeOptions = [], timeoutMs = 60_000 } = options;
  const program = startProgram({
    folder,
    arguments: [...nodeOptions, "--import", killAtCommit, findScript(script, folder), ...args],
    env: { ...env, ...(death !== null && "commit" in death ? { PAWL_KILL_AT: death.commit } : {}) },
  });
  let tookTooLong = false;
  const timeoutTimer = setTimeout(() => {
    tookTooLong = true;
    program.kill();
  }, timeoutMs);
  const killTimer = death !== null && "afterMs" in death ? setTimeout(program.kill, death.afterMs) : undefined;
  const exit = await program.ended;
  clearTimeout(timeoutTimer);
  clearTimeout(killTimer);
  return { ...exit, tookTooLong };
}

const killAtCommit = new URL("./kill-at-commit.js", import.meta.url).href;

function checkExit({ code, signal, stderr, tookTooLong }: EndedLife): void {
  if (tookTooLong) throw new Error(`the program exceeded its time limit: ${stderr}`);
  if (code !== 0) throw new Error(`the program ended with ${signal ?? `exit code ${code}`}: ${stderr}`);
}

/** Checks that every session is undamaged and has kept its entries and, at the end, that no run is unfinished. */
async function checkStore(store: Store, earlierLogs: KillPlay["logs"], isEnd: boolean): Promise<KillPlay["logs"]> {
  const logs = new Map<string, readonly Entry[]>();
  for (const { sessionId } of await store.list()) {
    await checkSession(store, sessionId);
    const log = await store.read(sessionId);
    const earlier = earlierLogs.get(sessionId) ?? [];
    if (!isDeepStrictEqual(log.slice(0, earlier.length), earlier))
      throw new InvariantBroken(nothingLostInvariant, `${sessionId} has lost entries`);
    logs.set(sessionId, log);
    const state = (await store.load(sessionId))?.state;
    if (isEnd && state !== undefined && !isResting(state))
      throw new InvariantBroken(nothingActiveInvariant, `${sessionId} is left '${state.status}'`);
  }
  for (const sessionId of earlierLogs.keys())
    if (!logs.has(sessionId)) throw new InvariantBroken(nothingLostInvariant, `${sessionId} is gone`);
  return logs;
}

const nothingActiveInvariant = { number: 12, name: "no session stays active" };
const nothingLostInvariant = { number: 1, name: "what was acknowledged stays" };
