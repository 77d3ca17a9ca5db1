/**
 * Plays a scenario in a world, with processes that die at given points. Each death is followed by a new process, until the
 * requested runs have their results.
 */
import { killProcess, listReadyTurns, type Process, type Turn, take, type World } from "../world/world.js";

/** A scenario to play. It behaves the same in every life. */
export type CrashScenario<Result> = {
  /** Starts a process and requests all runs. Every life makes the same requests. */
  readonly start: () => { readonly process: Process; readonly attended: Promise<Result> };
  /** Called when no process can continue by itself. */
  readonly whenStill?: (process: Process) => Promise<unknown>;
  /** Called when nothing waits for a turn, before the clock moves. Returns true if something waits for a turn after all. */
  readonly isStillBusy?: () => Promise<boolean>;
  /** Whether the process can die at this wait. */
  readonly isPoint: (turn: Turn) => boolean;
  /** Whether this wait never gets its turn: only an abort of its signal ends it. Default: every wait gets its turn. */
  readonly lastsOn?: (turn: Turn) => boolean;
};

export type PlayResult<Result> = {
  /** The number of points in all lives. */
  readonly points: number;
  readonly deaths: number;
  readonly result: Result;
};

type Life<Result> = {
  readonly process: Process;
  end: { readonly result: Result } | { readonly error: unknown } | null;
  isActing: boolean;
  /** The time between two calls of `whenStill`. Doubled while nothing takes a turn, so that days pass in a few calls. */
  pauseMs: number;
  /** Ends a pause that is longer than the first. */
  endPause: (() => void) | null;
};

const maxTurns = 20_000;
const secondMs = 1_000;

/** @param deathPoints the points at which the current process dies, counted from 1 across all lives */
export async function playToEnd<Result>(
  world: World,
  scenario: CrashScenario<Result>,
  deathPoints: readonly number[],
): Promise<PlayResult<Result>> {
  let life = startLife(scenario);
  let points = 0;
  let deaths = 0;
  for (let turn = 0; turn < maxTurns; turn += 1) {
    await world.settle();
    if (life.end !== null) {
      if ("error" in life.end) throw life.end.error;
      return { points, deaths, result: life.end.result };
    }
    const [next] = listReadyTurns(world).filter((turn) => scenario.lastsOn?.(turn) !== true);
    if (next === undefined) {
      if ((await scenario.isStillBusy?.()) !== true) advance(world, scenario, life);
      continue;
    }
    if (scenario.isPoint(next)) {
      points += 1;
      if (deathPoints.includes(points)) {
        deaths += 1;
        killProcess(world, life.process);
        life = startLife(scenario);
        continue;
      }
    }
    life.pauseMs = secondMs;
    life.endPause?.();
    take(world, next);
  }
  throw new Error(`the play has not ended after ${maxTurns} turns`);
}

/** Whether a wait is right before a commit (the request has not arrived) or right after it (the reply has not arrived). */
export function isAroundCommit({ operation }: Turn): boolean {
  return operation === "commit" || operation === "commit answered";
}

function startLife<Result>({ start }: CrashScenario<Result>): Life<Result> {
  const { process, attended } = start();
  const life: Life<Result> = { process, end: null, isActing: false, pauseMs: secondMs, endPause: null };
  attended.then(
    (result) => {
      life.end ??= { result };
    },
    (error) => {
      life.end ??= { error };
    },
  );
  return life;
}

/** Called when nothing waits for a turn: calls `whenStill`, or moves the clock to its next timer. */
function advance<Result>(world: World, { whenStill }: CrashScenario<Result>, life: Life<Result>): void {
  if (whenStill !== undefined && !life.isActing) {
    life.isActing = true;
    whenStill(life.process).then(
      () => {
        const { pauseMs } = life;
        life.pauseMs *= 2;
        const end = () => {
          cancel();
          life.endPause = null;
          life.isActing = false;
        };
        const cancel = world.clock.after(pauseMs, end);
        if (pauseMs > secondMs) life.endPause = end;
      },
      (error) => {
        life.end ??= { error };
      },
    );
    return;
  }
  if (!world.clock.fireNext()) throw new Error("the play is stuck: no turn and no timer is left");
}
