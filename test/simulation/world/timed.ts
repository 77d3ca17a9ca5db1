/**
 * Worlds in which time matters: tools sleep and wait for signals, people send signals and messages for later, schedules come and go,
 * and the clocks of the processes differ.
 */
import { createSchedules, type Schedules } from "../../../src/engine/schedules/create-schedules.js";
import type { Schedule } from "../../../src/engine/schedules/schedule.js";
import { PawlError } from "../../../src/errors.js";
import type { Store } from "../../../src/ports/store.js";
import type { Client } from "../../../src/runtime/api/client.js";
import type { SeededRandom } from "../../../src/testing/world/seeded-random.js";
import { createProcessStore } from "../../../src/testing/world/store.js";
import { createProcessClock, type Process, type World } from "../../../src/testing/world/world.js";
import type { Clients, Question } from "./clients.js";
import { agentNameAt } from "./family.js";
import { timedTools, toSignalKey } from "./stepped-tools.js";

export type TimedHabits = {
  /** A chance of its own, so that other worlds are what they were. */
  readonly chance: SeededRandom;
  /** The names that models pick from, beside the others. */
  readonly tools: readonly string[];
  readonly hasSchedules: boolean;
  /** How far the clocks of the processes are ahead, one after the other, in milliseconds. */
  readonly skewsMs: readonly number[];
};

/** A twelfth of the worlds: they take three times as long as others. */
export function drawTimedHabits(chance: SeededRandom): TimedHabits | null {
  if (!chance.happens(1 / 12)) return null;
  const some = timedTools.filter(() => chance.happens(0.7));
  return {
    chance,
    tools: [...some, ...some, ...some],
    hasSchedules: chance.happens(0.6),
    skewsMs: chance.happens(0.5) ? [0] : [0, chance.below(400), -chance.below(400)],
  };
}

/** A store that keeps no signals and no schedules: its workers look for none, which would take turns. */
export function withoutTime({ signals: _, schedules: __, ...store }: Store): Store {
  return store;
}

export type TimedClients = {
  readonly signal: (process: Process, chance: SeededRandom) => void;
  /** Sends input for later, or withdraws some. */
  readonly sendLater: (process: Process, chance: SeededRandom) => void;
  /** Puts, pauses, continues or removes a schedule. */
  readonly changeSchedule: (process: Process, chance: SeededRandom) => void;
  readonly pauseSchedules: (process: Process) => void;
};

type TimedDeps = {
  readonly ask: (
    process: Process,
    what: string,
    perform: () => Promise<string>,
    more?: Pick<Question, "input" | "runId" | "isLater">,
  ) => void;
  readonly createClientOf: (process: Process) => Client;
  readonly questions: Clients["questions"];
};

export function createTimedClients(world: World, { ask, createClientOf, questions }: TimedDeps): TimedClients {
  const { nextNumber: number, sessionId } = world;
  const sent: { readonly key: string; readonly id: string }[] = [];

  const schedulesOf = (process: Process): Schedules =>
    createSchedules({
      store: createProcessStore(world, () => process),
      clock: createProcessClock(world, () => process, process.skewMs),
    });

  return {
    signal(process, chance) {
      const isRepeated = sent.length > 0 && chance.happens(0.25);
      const { key, id } = isRepeated
        ? chance.pick(sent)
        : { key: toSignalKey(world, chance.pick(["k0", "k1"])), id: `signal${number()}` };
      sent.push({ key, id });
      // A tool takes numbers alone.
      const value = chance.happens(0.2) ? "no number" : number();
      const keepMs = chance.pick([0, 5_000, 60_000]);
      ask(process, `signal ${key} ${id}`, async () => {
        const { isNew } = await createClientOf(process).signal(key, value, { id, keepMs, by: "somebody" });
        return isNew ? "new" : "known";
      });
    },
    sendLater(process, chance) {
      const later = questions.filter(({ isLater }) => isLater === true);
      const earlier = later.length > 0 && chance.happens(0.4) ? chance.pick(later) : undefined;
      if (earlier?.runId !== undefined && chance.happens(0.5)) {
        const { runId } = earlier;
        return ask(process, `unsend ${runId}`, () => createClientOf(process).session(sessionId).unsend(runId), {
          runId,
        });
      }
      const n = number();
      const { input = "", runId = "" } = earlier ?? { input: `input ${n}`, runId: `run${n}` };
      const mode = chance.pick(["queue", "queue", "steer"] as const);
      const afterMs = chance.pick([0, 400, 3_000, 20_000]);
      const session = process.agent.session(sessionId);
      ask(
        process,
        `${mode} '${input}' ${runId} in ${afterMs} ms`,
        async () => ((await session.send(input, { mode, runId, afterMs })).isNew ? "new" : "known"),
        { input, runId, isLater: true },
      );
    },
    changeSchedule(process, chance) {
      const id = `${sessionId}-${chance.pick(["morning", "pulse"])}`;
      const schedules = schedulesOf(process);
      const change = chance.pick(["put", "put", "put", "pause", "resume", "remove"] as const);
      const schedule = drawSchedule(id, world, chance);
      ask(process, `${change} schedule ${id}`, async () => {
        try {
          if (change === "put") return `revision ${(await schedules.put(schedule)).rev}`;
          if (change === "remove") return (await schedules.remove(id)) ? "removed" : "there is none";
          return `revision ${(await schedules[change](id)).rev}`;
        } catch (error) {
          // Nothing was put yet; or its end has passed, by a clock that was set.
          if (error instanceof PawlError && (error.code === "no_schedule" || error.code === "bad_schedule"))
            return error.code;
          throw error;
        }
      });
    },
    pauseSchedules(process) {
      const schedules = schedulesOf(process);
      ask(process, "pause all", async () => {
        for (const { id } of await schedules.list()) await schedules.pause(id);
        return "paused";
      });
    },
  };
}

function drawSchedule(id: string, { clock, sessionId }: World, chance: SeededRandom): Schedule {
  const everyMs = chance.pick([1_500, 4_000, 9_000]);
  const session = chance.pick(["new", "same", { id: sessionId }] as const);
  const overlap = chance.pick(["skip", session === "new" ? "allow" : "queue"] as const);
  const missed = chance.pick(["last", "skip", overlap === "skip" ? "last" : "all"] as const);
  return {
    id,
    everyMs,
    session,
    overlap,
    missed,
    jitterMs: chance.pick([0, 0, 900, 5_000]),
    agent: agentNameAt(0),
    input: `scheduled by ${id}`,
    // After a year that was missed, all of a hundred slots would run.
    ...(missed === "all" ? { endAt: clock.now() + 20_000 } : {}),
  };
}
