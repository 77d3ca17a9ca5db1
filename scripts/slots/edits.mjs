/**
 * The schedules of the kill test, and what happens to them while workers fire them. `steady` is left alone; `edited` is replaced, paused,
 * resumed and run on request; `removed` is removed and put again.
 */
import { setTimeout as pause } from "node:timers/promises";
import { createRandom } from "../chaos/random.mjs";

export const everyMs = { steady: 1_000, edited: 2_000, removed: 2_000 };

const missed = { steady: "all", edited: "last", removed: "all" };
/** How many of the newest due slots run at once (`chooseSlots` in src/engine/schedules/fire-due.ts). Only older ones may be missed. */
export const runAtOnce = { steady: 100, edited: 1, removed: 100 };

/** @param {{ schedules: import("pawl").Schedules, seed: number, from: number }} options `from`: a slot of all schedules */
export function createEdits({ schedules, seed, from }) {
  const random = createRandom(seed, "edits");
  const counts = { edits: 0, pauses: 0, requests: 0, removals: 0 };
  /** When `edited` was paused, or `removed` did not exist: in epoch milliseconds, from the call before to the call after. */
  const gaps = { steady: [], edited: [], removed: [] };

  async function put(id, input) {
    const schedule = { id, everyMs: everyMs[id], startAt: from, missed: missed[id] };
    await retryBusy(() => schedules.put({ ...schedule, overlap: "allow", agent: "press", input }));
  }

  async function interrupt(id, begin, end) {
    const since = Date.now();
    await retryBusy(begin);
    await pause(random.whole(0, 6_000));
    await end();
    gaps[id].push({ since, until: Date.now() });
  }

  async function edit() {
    const chance = random.next();
    if (chance < 0.4) {
      counts.edits += 1;
      await put("edited", `Go, version ${counts.edits}.`);
    } else if (chance < 0.6) {
      counts.requests += 1;
      await retryBusy(() => schedules.runNow("edited"));
    } else if (chance < 0.8) {
      counts.pauses += 1;
      await interrupt(
        "edited",
        () => schedules.pause("edited"),
        () => retryBusy(() => schedules.resume("edited")),
      );
    } else {
      counts.removals += 1;
      await interrupt(
        "removed",
        () => schedules.remove("removed"),
        () => put("removed", "Go."),
      );
    }
  }

  return {
    counts,
    gaps,
    async begin() {
      for (const id of Object.keys(everyMs)) await put(id, "Go.");
    },
    async run(isOver) {
      while (!isOver()) {
        await pause(random.whole(200, 3_000));
        await edit();
      }
    },
    /** Pauses all schedules. Slots after the returned times may not have run. */
    async end() {
      const ends = {};
      for (const id of Object.keys(everyMs)) {
        ends[id] = Date.now();
        await retryBusy(() => schedules.pause(id));
      }
      return ends;
    },
  };
}

/** A stopped worker may hold the file of the store for longer than a writer waits. Then nothing was written. */
export async function retryBusy(write) {
  for (;;)
    try {
      return await write();
    } catch (error) {
      if (error.code !== "store_failed") throw error;
      await pause(100);
    }
}
