/**
 * Kills a user's program with SIGKILL before and after every commit, or at random, and starts it again until it has
 * done its work. After every death it checks the store.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  aFunction,
  aList,
  anObject,
  anything,
  checkOptions,
  numberFrom,
  type OptionTable,
  wholeNumber,
} from "../check-options.js";
import type { Entry } from "../core/machine/event.js";
import { isResting } from "../core/machine/state.js";
import type { Store } from "../ports/store.js";
import { callsOf } from "./crash/calls.js";
import { checkSession } from "./crash/check-session.js";
import { type Ended, startProgram } from "./crash/program.js";
import { sumOf, type Tally, tallyOf } from "./crash/tally.js";
import { createChance } from "./world/chance.js";
import { InvariantBroken } from "./world/invariants.js";

/** The program that is killed, and what is checked. */
export type KillTestOptions = {
  /**
   * A program for Node, started with the same arguments in each life. It must use the same `sessionId` and `runId`
   * for its runs in every life, so that a later life continues the run of an earlier one. It must end with exit code
   * 0.
   */
  readonly script: string;
  /** The arguments of the program. Default: none. */
  readonly args?: readonly string[];
  /** Added to the environment of this process. */
  readonly env?: { readonly [name: string]: string };
  /** Options of Node itself. */
  readonly nodeOptions?: readonly string[];
  /** Opens the program's store. `folder` is the program's working directory. */
  readonly openStore: (folder: string) => Promise<Store>;
  /** Your own check, called when the program has done its work. If it throws, the play fails. */
  readonly check?: (play: KillPlay) => void | Promise<void>;
  /** Prepares the new folder in which a play starts. */
  readonly prepare?: (folder: string) => void | Promise<void>;
  /**
   * `commits`, the default: each play dies once, before or after one of its commits. `random`: this many deaths, at
   * any moment. `at`: one play with these deaths, one for each life, as `KillFailure.at` names them, for example
   * `["after 4"]`.
   */
  readonly kills?:
    | "commits"
    | {
        /** How many plays, each with a kill at a random moment. */
        readonly random: number;
        /** The seed of these moments. */
        readonly seed?: number;
      }
    | { readonly at: readonly string[] };
  /** How many plays run at the same time. Default 2. */
  readonly atOnce?: number;
  /** How long a life may take, in milliseconds. Default 60,000. */
  readonly timeoutMs?: number;
};

const optionRules: OptionTable<KillTestOptions> = {
  script: anything,
  args: aList,
  env: anObject,
  nodeOptions: aList,
  openStore: aFunction,
  check: aFunction,
  prepare: aFunction,
  kills: anything,
  atOnce: wholeNumber(1),
  timeoutMs: numberFrom(1),
};

/** A play in which the program has done its work. */
export type KillPlay = {
  /** The folder of the play, which the program got. */
  readonly folder: string;
  readonly store: Store;
  /** The log of each session, by session id. */
  readonly logs: ReadonlyMap<string, readonly Entry[]>;
  /** Where the program died: `before 3`, `after 3`, or `12 ms`. */
  readonly at: readonly string[];
  /** Standard output of the last life. */
  readonly stdout: string;
};

/** What a kill test did. */
export type KillReport = {
  /** How many plays it had. */
  readonly plays: number;
  /** Deaths by SIGKILL. */
  readonly kills: number;
  /** By tool, how often a call was started again. */
  readonly repeated: Readonly<Record<string, number>>;
  /** By tool, how many calls ended as *interrupted, outcome unknown*. */
  readonly unknown: Readonly<Record<string, number>>;
};

/** A play broke a promise or failed a check. */
export class KillFailure extends Error {
  /** Tells the error from others. */
  override readonly name = "KillFailure";
  /** Where the program died. */
  readonly at: readonly string[];
  /** The number of the broken promise in docs/reliability.md; null if your own check failed, or on any other error. */
  readonly invariant: number | null;

  constructor(at: readonly string[], cause: unknown) {
    super(`Killed ${at.join(", ") || "never"}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
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
  const plays: Played[] = [];
  const next =
    kills === "commits"
      ? everyCommit(options, plays)
      : "at" in kills
        ? once(options, kills.at, plays)
        : atRandom(options, kills, plays);
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (await next());
    }),
  );
  return {
    plays: plays.length,
    kills: plays.reduce((sum, play) => sum + play.at.length, 0),
    ...sumOf(plays.map(({ tally }) => tally)),
  };
}

type Played = { readonly at: readonly string[]; readonly tally: Tally; readonly tookMs: number };

/** Plays once more. @returns false if no play is left */
type Next = () => Promise<boolean>;

function everyCommit(options: KillTestOptions, plays: Played[]): Next {
  let commit = 0;
  let isOver = false;
  return async () => {
    if (isOver) return false;
    commit += 1;
    for (const moment of [`before ${commit}`, `after ${commit}`]) {
      const played = await play(options, (life) => (life === 1 ? { commit: moment } : null));
      plays.push(played);
      // The program survived, so it has fewer commits than this.
      if (played.at.length === 0) isOver = true;
    }
    return !isOver;
  };
}

function once(options: KillTestOptions, at: readonly string[], plays: Played[]): Next {
  let isOver = false;
  return async () => {
    if (isOver) return false;
    isOver = true;
    const deathOf = (commit: string | undefined): Death => (commit === undefined ? null : { commit });
    plays.push(await play(options, (life) => deathOf(at[life - 1])));
    return false;
  };
}

function atRandom(
  options: KillTestOptions,
  { random, seed = 1 }: { readonly random: number; readonly seed?: number },
  plays: Played[],
): Next {
  const chance = createChance(seed);
  let left = random;
  let usualMs: number | null = null;
  return async () => {
    if (left <= 0) return false;
    if (usualMs === null) {
      const clean = await play(options, () => null);
      usualMs = clean.tookMs;
    }
    const lifeMs = usualMs;
    const played = await play(options, () => {
      if (left <= 0) return null;
      left -= 1;
      return { afterMs: Math.ceil(chance.fraction() * lifeMs) };
    });
    // A life that ended before its kill was due does not count as a death.
    left += played.missed;
    plays.push(played);
    return true;
  };
}

/** When a life is killed; null if it is not. */
type Death = { readonly commit: string } | { readonly afterMs: number } | null;

async function play(
  options: KillTestOptions,
  deathOf: (life: number) => Death,
): Promise<Played & { readonly missed: number }> {
  const folder = mkdtempSync(join(tmpdir(), "pawl-kill-"));
  const at: string[] = [];
  const startedAt = performance.now();
  let logs: KillPlay["logs"] = new Map();
  try {
    await options.prepare?.(folder);
    for (let life = 1; ; life += 1) {
      const death = deathOf(life);
      const ended = await runLife(options, folder, death);
      const isKilled = ended.signal === "SIGKILL" && death !== null && !ended.tookTooLong;
      if (isKilled) at.push("commit" in death ? death.commit : `${death.afterMs} ms`);
      const tookMs = performance.now() - startedAt;
      const store = await options.openStore(folder);
      try {
        logs = await checkStore(store, logs, !isKilled);
        if (isKilled) continue;
        expectEnd(ended);
        await options.check?.({ folder, store, logs, at, stdout: ended.stdout });
      } finally {
        await store.close();
      }
      const tally = sumOf([...logs.values()].map((log) => tallyOf(callsOf(log, null).values())));
      return { at, tally, tookMs, missed: death !== null && "afterMs" in death ? 1 : 0 };
    }
  } catch (cause) {
    throw new KillFailure(at, cause);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type EndedLife = Ended & { readonly tookTooLong: boolean };

async function runLife(options: KillTestOptions, folder: string, death: Death): Promise<EndedLife> {
  const { script, args = [], env = {}, nodeOptions = [], timeoutMs = 60_000 } = options;
  const program = startProgram({
    folder,
    arguments: [...nodeOptions, "--import", killAtCommit, script, ...args],
    env: { ...env, ...(death !== null && "commit" in death ? { PAWL_KILL_AT: death.commit } : {}) },
  });
  let tookTooLong = false;
  const limit = setTimeout(() => {
    tookTooLong = true;
    program.kill();
  }, timeoutMs);
  const killing = death !== null && "afterMs" in death ? setTimeout(program.kill, death.afterMs) : undefined;
  const ended = await program.ended;
  clearTimeout(limit);
  clearTimeout(killing);
  return { ...ended, tookTooLong };
}

const killAtCommit = new URL("./kill-at-commit.js", import.meta.url).href;

function expectEnd({ code, signal, stderr, tookTooLong }: EndedLife): void {
  if (tookTooLong) throw new Error(`the program did not end in time: ${stderr}`);
  if (code !== 0) throw new Error(`the program ended with ${signal ?? `exit code ${code}`}: ${stderr}`);
}

/** Checks that every session is undamaged and has kept its entries, and that no run is unfinished at the end. */
async function checkStore(store: Store, before: KillPlay["logs"], isEnd: boolean): Promise<KillPlay["logs"]> {
  const logs = new Map<string, readonly Entry[]>();
  for (const { sessionId } of await store.list()) {
    await checkSession(store, sessionId);
    const log = await store.read(sessionId);
    const earlier = before.get(sessionId) ?? [];
    if (!isDeepStrictEqual(log.slice(0, earlier.length), earlier))
      throw new InvariantBroken(nothingLost, `${sessionId} has lost entries`);
    logs.set(sessionId, log);
    const state = (await store.load(sessionId))?.state;
    if (isEnd && state !== undefined && !isResting(state))
      throw new InvariantBroken(everythingEnds, `${sessionId} is left '${state.status}'`);
  }
  for (const sessionId of before.keys())
    if (!logs.has(sessionId)) throw new InvariantBroken(nothingLost, `${sessionId} is gone`);
  return logs;
}

const everythingEnds = { number: 12, name: "no session stays active" };
const nothingLost = { number: 1, name: "what was acknowledged stays" };
