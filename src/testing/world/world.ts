/**
 * The world of a simulation: time, turns, and processes that can be stopped and killed.
 *
 * 1. Nothing proceeds by itself: everything that waits for the world (a reply of the store, a piece of an answer, a tool's work)
 *    waits for its turn, and a director assigns the turns. Between two turns, everything that can settle does.
 * 2. A killed process never gets a turn again: it ends where it waits. A stopped process gets its turns once it is continued.
 */
import type { Clock } from "../../ports/clock.js";
import type { Holder, Store } from "../../ports/store.js";
import type { Agent } from "../../runtime/api/build-agent.js";
import { createTestClock, settled, type TestClock } from "../test-clock.js";
import type { Fact, Happening } from "./facts.js";
import type { SeededRandom } from "./seeded-random.js";

/** The probability of each fault in requests to the store. */
export type StoreFaults = {
  /** The request is not executed, and the caller gets an error. */
  readonly fails: number;
  /** The request is executed, and the caller gets an error. */
  readonly lost: number;
  /** A commit or release returns `busy`. */
  readonly busy: number;
  /** A commit arrives twice. */
  readonly twice: number;
  /** The result of a read is delivered late, when other processes may have written; null for never. */
  readonly late: { readonly chance: SeededRandom; readonly probability: number } | null;
};

export const noFaults: StoreFaults = { fails: 0, lost: 0, busy: 0, twice: 0, late: null };

export type Process = {
  readonly name: string;
  readonly holder: Holder;
  readonly agent: Pick<Agent, "run" | "runStream" | "session" | "shutdown">;
  /** How far its wall clock is ahead of that of the world, in milliseconds. Default: 0. */
  readonly skewMs?: number;
  status: "running" | "stopped" | "killed" | "gone";
};

export type Turn = {
  readonly process: Process;
  readonly operation: string;
  readonly take: () => void;
};

export type World = {
  readonly chance: SeededRandom;
  readonly clock: TestClock;
  /** The main session. The agents that its tools run have their own sessions. */
  readonly sessionId: string;
  /** The store beneath the processes' stores. */
  readonly store: Store;
  readonly facts: Fact[];
  readonly processes: Process[];
  /** The waits for a turn, in the order in which they began. */
  readonly turns: Turn[];
  faults: StoreFaults;
  /** Returns a different number each time. */
  readonly nextNumber: () => number;
  readonly record: (happening: Happening) => void;
  /** Waits for a turn; an abort of the signal ends the wait. */
  readonly turn: (process: Process, operation: string, signal?: AbortSignal) => Promise<void>;
  /** Does work outside the turns, as part of the current turn. */
  readonly include: <Result>(work: Promise<Result>) => Promise<Result>;
  /** Lets everything settle that can settle without another turn. */
  readonly settle: () => Promise<void>;
};

export function createWorld(store: Store, chance: SeededRandom, sessionId: string): World {
  const clock = createTestClock(1_790_000_000_000);
  const facts: Fact[] = [];
  const turns: Turn[] = [];
  let count = 0;
  let included = 0;
  const waiting: (() => void)[] = [];

  function turn(process: Process, operation: string, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const waiting: Turn = {
        process,
        operation,
        take() {
          signal?.removeEventListener("abort", end);
          resolve();
        },
      };
      const end = () => {
        const index = turns.indexOf(waiting);
        if (index !== -1) turns.splice(index, 1);
        resolve();
      };
      signal?.addEventListener("abort", end, { once: true });
      turns.push(waiting);
    });
  }

  async function include<Result>(work: Promise<Result>): Promise<Result> {
    included += 1;
    try {
      return await work;
    } finally {
      included -= 1;
      for (const resume of waiting.splice(0)) resume();
    }
  }

  async function settle(): Promise<void> {
    for (;;) {
      await settled();
      if (included === 0) return;
      // Waits without looking again and again: the work may be that of a server, which needs the processor.
      await new Promise<void>((resolve) => void waiting.push(resolve));
    }
  }

  return {
    chance,
    clock,
    sessionId,
    store,
    facts,
    processes: [],
    turns,
    faults: noFaults,
    nextNumber: () => {
      count += 1;
      return count;
    },
    record: (happening) => void facts.push({ ...happening, line: facts.length, at: clock.elapsed() }),
    turn,
    include,
    settle,
  };
}

/** Gives a waiting operation its turn. */
export function take({ turns }: World, turn: Turn): void {
  turns.splice(turns.indexOf(turn), 1);
  turn.take();
}

/** The waiting operations that can get their turn now. */
export function listReadyTurns({ turns }: World): readonly Turn[] {
  return turns.filter((turn) => turn.process.status === "running" || turn.process.status === "gone");
}

/**
 * The clock as a process sees it: its timers wait while the process is stopped, and die with it.
 * @param skewMs how far the process's clock is ahead; a parameter, because the clock is read before the process exists
 */
export function createProcessClock(world: World, process: () => Process, skewMs = 0): Clock {
  return {
    now: () => world.clock.now() + skewMs,
    elapsed: world.clock.elapsed,
    after(ms, callback) {
      let cancelled = false;
      const cancel = world.clock.after(ms, () => {
        const { status } = process();
        if (status === "stopped")
          world.turns.push({
            process: process(),
            operation: "timer",
            take: () => {
              if (!cancelled) callback();
            },
          });
        else if (status !== "killed") callback();
      });
      return () => {
        cancelled = true;
        cancel();
      };
    },
  };
}

export function killProcess(world: World, process: Process): void {
  process.status = "killed";
  const remaining = world.turns.filter((turn) => turn.process !== process);
  world.turns.splice(0, world.turns.length, ...remaining);
  world.record({ type: "process", process: process.name, what: "killed" });
}

export function stopProcess(world: World, process: Process): void {
  process.status = "stopped";
  world.record({ type: "process", process: process.name, what: "stopped" });
}

/** The process was shut down: its pending work ends, and nothing more is requested of it. */
export function retireProcess(world: World, process: Process): void {
  process.status = "gone";
  world.record({ type: "process", process: process.name, what: "gone" });
}

export function continueProcess(world: World, process: Process): void {
  process.status = "running";
  world.record({ type: "process", process: process.name, what: "continued" });
}
