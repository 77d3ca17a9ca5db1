/**
 * Signals and schedules as one process of a simulation reaches them. A store without them stays without them.
 */
import type { ScheduleStore } from "../../ports/schedule-store.js";
import type { SignalStore } from "../../ports/signal.js";
import type { Store } from "../../ports/store.js";
import { settled } from "../test-clock.js";
import type { Process, World } from "./world.js";

type Request = <Result>(operation: string, act: () => Promise<Result>) => Promise<Result>;

/** Turns of the event loop that code which fires schedules may take between two requests. */
async function waitFewTurns(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await settled();
}

/** How a request that writes, and one that only reads, gets its turns. */
type Requests = { readonly write: Request; readonly read: Request };

export function createTimeStores(
  world: World,
  process: () => Process,
  requests: Requests,
): Pick<Store, "signals" | "schedules"> {
  const { signals, schedules } = world.store;
  return {
    ...(signals === undefined ? {} : { signals: createSignals(world, process, requests, signals) }),
    ...(schedules === undefined ? {} : { schedules: createSchedules(world, process, requests, schedules) }),
  };
}

function createSignals(
  world: World,
  process: () => Process,
  { write, read }: Requests,
  signals: SignalStore,
): SignalStore {
  return {
    send: (signal) =>
      write("signal", async () => {
        const result = await signals.send(signal);
        const { key, id, at, keptUntil } = signal;
        if (result.type === "ok") {
          const { isNew, sessions } = result;
          const { name } = process();
          world.record({ type: "signalled", process: name, key, id, sentAt: at, keptUntil, isNew, sessions });
        }
        return result;
      }),
    list: (now, options) => read("list signals", () => signals.list(now, options)),
    drop: (now, limit) =>
      write("drop signals", async () => {
        const dropped = await signals.drop(now, limit);
        world.record({ type: "signals_dropped", process: process().name, until: now, isAll: dropped < limit });
        return dropped;
      }),
  };
}

function createSchedules(
  world: World,
  process: () => Process,
  requests: Requests,
  schedules: ScheduleStore,
): ScheduleStore {
  const inTurns =
    (request: Request): Request =>
    async (operation, act) => {
      try {
        return await request(operation, act);
      } finally {
        void world.include(waitFewTurns());
      }
    };
  const [write, read] = [inTurns(requests.write), inTurns(requests.read)];
  return {
    put: (row, seen) =>
      write("put schedule", async () => {
        const result = await schedules.put(row, seen);
        if (result.type === "ok") world.record({ type: "schedule_put", process: process().name, row });
        return result;
      }),
    get: (id) => read("get schedule", () => schedules.get(id)),
    list: (options) => read("list schedules", () => schedules.list(options)),
    remove: (id) =>
      write("remove schedule", async () => {
        const isRemoved = await schedules.remove(id);
        if (isRemoved) world.record({ type: "schedule_removed", process: process().name, id });
        return isRemoved;
      }),
    due: (now, limit) => read("due schedules", () => schedules.due(now, limit)),
    nextDueAt: (now) => read("next schedule", () => schedules.nextDueAt(now)),
    fire: (fire) =>
      write("fire", async () => {
        const isFired = await schedules.fire(fire);
        if (isFired) world.record({ type: "schedule_fired", process: process().name, fire });
        return isFired;
      }),
    slots: (id, limit) => read("slots", () => schedules.slots(id, limit)),
  };
}
