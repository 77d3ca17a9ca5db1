/**
 * `createWorker` with its defaults: it runs in this process and in real time.
 */
import { buildWorker } from "./engine/worker.js";
import type { Worker, WorkerOptions } from "./engine/worker-options.js";
import { isHolderDead } from "./platform/holder.js";
import { systemClock } from "./runtime/lib/clock.js";

/**
 * Creates a worker, which fires the due schedules of a store, finds its due sessions, and drives them.
 *
 * @example
 * ```ts
 * const worker = createWorker({ store, agents: [agent] });
 * process.once("SIGTERM", () => worker.stop());
 * await worker.run(); // until `stop`; `runUntilIdle` ends when nothing is due
 * ```
 */
export function createWorker(options: WorkerOptions): Worker {
  return buildWorker(options, { clock: systemClock, isDead: isHolderDead, random: Math.random });
}
