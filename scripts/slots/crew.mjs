/**
 * The worker processes of the kill test of schedules: killed (`kill -9`) and started again, or stopped (SIGSTOP) for up to 17 seconds,
 * longer than a lease. Each life has a clock of its own.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createRandom } from "../chaos/random.mjs";

/**
 * @param {{ count: number, seed: number, place: object, journal: string, skewMs: number, fail: (what: string) => void }} options
 *   `skewMs`: how far a clock may be ahead or behind
 */
export function createCrew({ count, seed, skewMs, fail, ...given }) {
  const random = createRandom(seed, "crew");
  const counts = { kills: 0, stops: 0 };
  let workers = Array.from({ length: count }, () => start(random.whole(-skewMs, skewMs)));

  function start(clockOffsetMs) {
    const script = fileURLToPath(new URL("./worker.mjs", import.meta.url));
    const child = fork(script, [JSON.stringify({ ...given, clockOffsetMs })]);
    child.on("message", ({ error }) => fail(`a worker reported: ${error}`));
    child.once("exit", (code) => {
      if (code !== null && code !== 0) fail(`a worker ended with ${code}`);
    });
    return child;
  }

  async function end() {
    for (const child of workers) child.kill("SIGTERM");
    await Promise.all(workers.map((child) => child.exitCode ?? child.signalCode ?? once(child, "exit")));
  }

  return {
    counts,
    async disturb(isOver) {
      while (!isOver()) {
        await pause(random.whole(500, 2_500));
        const index = random.whole(0, workers.length - 1);
        if (random.isTrue(0.2)) {
          counts.stops += 1;
          workers[index].kill("SIGSTOP");
          await pause(random.whole(200, 17_000));
          workers[index].kill("SIGCONT");
        } else {
          counts.kills += 1;
          workers[index].kill("SIGKILL");
          workers[index] = start(random.whole(-skewMs, skewMs));
        }
      }
    },
    /** Replaces all workers by one whose clock is ahead of theirs, so that all sleeps are over for it. */
    async rest() {
      await end();
      workers = [start(skewMs)];
    },
    end,
  };
}

/**
 * Starts a worker of an earlier version, which nobody kills, and waits until it has made the store.
 * @param {{ dist: string, place: object, journal: string }} options `dist`: the folder of its build
 */
export async function startEarlier(options, fail) {
  const child = fork(fileURLToPath(new URL("./earlier-worker.mjs", import.meta.url)), [JSON.stringify(options)]);
  const ended = once(child, "exit");
  const [{ ready, error }] = await Promise.race([
    once(child, "message"),
    ended.then(() => [{ error: "it has ended" }]),
  ]);
  if (ready !== true) throw new Error(`The worker of the earlier version did not start: ${error}`);
  child.on("message", (message) => fail(`a worker reported: ${message.error}`));
  return {
    async end() {
      child.kill("SIGTERM");
      const [code] = await ended;
      if (code !== 0) fail(`the worker of the earlier version ended with ${code}`);
    },
  };
}
