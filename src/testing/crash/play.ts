/**
 * Plays something through in a world, with processes that die at given points: each is followed by another one, until what
 * people asked for is answered.
 */
import { kill, type Process, ready, type Turn, take, type World } from "../world/world.js";

/** What is played: the same in every life. */
export type Drama<Result> = {
  /** Starts a process, and asks for everything that people want of it: whoever asks again, asks for the same. */
  readonly start: () => { readonly process: Process; readonly attended: Promise<Result> };
  /** What somebody does when nothing goes on by itself. */
  readonly whenStill?: (process: Process) => Promise<unknown>;
  /** Called when nothing waits for a turn, before time goes on: true where something does after all. */
  readonly isStillBusy?: () => Promise<boolean>;
  /** Whether a wait may be a moment of death. */
  readonly isPoint: (turn: Turn) => boolean;
  /** Whether a wait lasts until nothing else goes on: it never ends by itself unless given. */
  readonly lastsOn?: (turn: Turn) => boolean;
};

export type Played<Result> = {
  /** The points that there were, in all lives. */
  readonly points: number;
  readonly deaths: number;
  readonly result: Result;
};

type Life<Result> = {
  readonly process: Process;
  end: { readonly result: Result } | { readonly error: unknown } | null;
  isActing: boolean;
};

const mostTurns = 20_000;

/** @param dies the points at which the process dies that is at work, counted from 1 through all lives */
export async function playThrough<Result>(
  world: World,
  drama: Drama<Result>,
  dies: readonly number[],
): Promise<Played<Result>> {
  let life = begin(drama);
  let points = 0;
  let deaths = 0;
  for (let turn = 0; turn < mostTurns; turn += 1) {
    await world.settle();
    if (life.end !== null) {
      if ("error" in life.end) throw life.end.error;
      return { points, deaths, result: life.end.result };
    }
    const [next] = ready(world).filter((one) => drama.lastsOn?.(one) !== true);
    if (next === undefined) {
      if ((await drama.isStillBusy?.()) !== true) goOn(world, drama, life);
      continue;
    }
    if (drama.isPoint(next)) {
      points += 1;
      if (dies.includes(points)) {
        deaths += 1;
        kill(world, life.process);
        life = begin(drama);
        continue;
      }
    }
    take(world, next);
  }
  throw new Error(`it has not come to its end after ${mostTurns} turns`);
}

/** A request to commit that has not arrived yet, or whose answer has not: the moments before and after a commit. */
export function isAroundCommit({ what }: Turn): boolean {
  return what === "commit" || what === "commit answered";
}

function begin<Result>({ start }: Drama<Result>): Life<Result> {
  const { process, attended } = start();
  const life: Life<Result> = { process, end: null, isActing: false };
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

const aSecond = 1_000;

/** Nothing waits for a turn: somebody does something, or time goes on. */
function goOn<Result>(world: World, { whenStill }: Drama<Result>, life: Life<Result>): void {
  if (whenStill !== undefined && !life.isActing) {
    life.isActing = true;
    whenStill(life.process).then(
      () => {
        world.clock.after(aSecond, () => {
          life.isActing = false;
        });
      },
      (error) => {
        life.end ??= { error };
      },
    );
    return;
  }
  if (!world.clock.fireNext()) throw new Error("nothing goes on any more");
}
