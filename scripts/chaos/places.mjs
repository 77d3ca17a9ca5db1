/**
 * Server processes on one store, each at a port of its own. When one dies, the next one begins at the same port.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { freePort } from "../free-port.mjs";
import { createRandom } from "./random.mjs";

/** A server that ends has 200 ms for its work, and then some writes. */
const mostEndMs = 60_000;

/**
 * @param {{ count: number, place: import("./store.mjs").Place, journal: string, seed: number, token: string,
 *   commits: readonly [number, number], fail: (what: string) => void, onCommit: () => void }} options `commits`: the least and
 *   the most commits of a life; `onCommit` is called after each commit of any process
 */
export async function createPlaces({ count, commits, fail, onCommit, seed, ...given }) {
  const ports = await Promise.all(Array.from({ length: count }, freePort));
  const ends = { "killed before": 0, "killed after": 0, drained: 0 };
  const places = await Promise.all(
    ports.map(async (port, index) => {
      const place = { port, child: null, lives: 0, isLast: false, isOver: false, up: Promise.resolve() };
      async function live() {
        const random = createRandom(seed, "server", index, place.lives);
        const life = { commits: random.whole(...commits), end: random.one(Object.keys(ends)) };
        place.lives += 1;
        if (place.isLast) life.end = "none";
        const options = { ...given, seed, port, ports, life };
        const child = fork(fileURLToPath(new URL("./server.mjs", import.meta.url)), [JSON.stringify(options)]);
        place.child = child;
        child.on("message", (message) => {
          if ("error" in message) fail(message.error);
          if ("committed" in message) onCommit();
        });
        child.once("exit", (code, signal) => {
          if (place.isOver) return;
          if (signal === null && code !== 0) fail(`server ${index} ended with ${code}`);
          ends[life.end] += 1;
          place.up = live();
        });
        await new Promise((resolve) => {
          child.on("message", (message) => {
            if ("listening" in message) resolve();
          });
          child.once("exit", resolve);
        });
      }
      place.up = live();
      await place.up;
      return place;
    }),
  );
  return {
    ports,
    /** How the processes have died, and how often. */
    ends,
    /** No process dies any more. */
    async stay() {
      for (const place of places) {
        place.isLast = true;
        let { up } = place;
        // One that has died before it listened is followed by another.
        for (await up; up !== place.up; await up) ({ up } = place);
        if (place.child.connected) place.child.send("stay");
      }
    },
    async end() {
      for (const place of places) {
        const { child } = place;
        place.isOver = true;
        if (child.exitCode !== null || child.signalCode !== null) continue;
        child.send("end");
        const signal = AbortSignal.timeout(mostEndMs);
        await once(child, "exit", { signal }).catch(() => {
          fail(`the server at port ${place.port} did not end`);
          child.kill("SIGKILL");
        });
      }
    },
  };
}
