/**
 * `createWorker`, in this process and in real time.
 */
import { buildWorker, type Worker, type WorkerOptions } from "./engine/worker.js";
import { systemClock } from "./runtime/lib/clock.js";
import { isHolderDead } from "./stores/shared/holder.js";

/** Makes a worker, which carries on the due sessions of a store. */
export function createWorker(options: WorkerOptions): Worker {
  return buildWorker(options, { clock: systemClock, isDead: isHolderDead });
}
