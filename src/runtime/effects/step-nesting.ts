/**
 * Detects whether code runs within a tool step. Such code must not begin another step: when the tool runs again, it gets
 * the recorded outer result, and never reaches the inner step.
 *
 * The storage is created for the first step of a process, because it adds a small cost to every promise of the process.
 */
import type { AsyncLocalStorage } from "node:async_hooks";

type Storage = AsyncLocalStorage<object>;

let storage: Storage | null | undefined;

/** Null if the platform has no `AsyncLocalStorage`. */
function getStorage(): Storage | null {
  if (storage !== undefined) return storage;
  const load = typeof process === "undefined" ? undefined : process.getBuiltinModule?.("node:async_hooks");
  storage = load === undefined ? null : new load.AsyncLocalStorage<object>();
  return storage;
}

/** Runs the function of a step of this call. */
export function runWithinStep<Result>(call: object, run: () => Result): Result {
  const activeStorage = getStorage();
  return activeStorage === null ? run() : activeStorage.run(call, run);
}

export function isWithinStep(call: object): boolean {
  return getStorage()?.getStore() === call;
}
