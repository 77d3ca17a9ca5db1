/**
 * Tells whether code runs within a tool step. Such code may not begin another: a tool that runs again would be given
 * the outer result, and would never ask for the inner one.
 *
 * The tracking is made for the first step of a process: it costs every promise of the process a little.
 */
import type { AsyncLocalStorage } from "node:async_hooks";

type Storage = AsyncLocalStorage<object>;

let storage: Storage | null | undefined;

/** Null if the platform cannot tell. */
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
