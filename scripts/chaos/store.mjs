/**
 * The store that the processes of the chaos test share.
 */
import { setTimeout as pause } from "node:timers/promises";
import { openPostgresStore } from "pawl/postgres";
import { openSqliteStore } from "pawl/sqlite";

/** How long the servers wait for a database that is away, in milliseconds. Some of its absences are longer. */
export const busyMs = 2_000;
const pauseMs = 100;

/**
 * @typedef {{ path: string } | { url: string, listenUrl: string }} Place
 * @param {Place} place
 */
export async function openPlace(place) {
  // A process that finds no database, or one that a stopped process has locked, is started again by whoever started it.
  for (;;)
    try {
      return place.url === undefined
        ? await openSqliteStore({ path: place.path })
        : await openPostgresStore({ ...place, busyMs });
    } catch (error) {
      if (error.code !== "store_open") throw error;
      await pause(pauseMs);
    }
}
