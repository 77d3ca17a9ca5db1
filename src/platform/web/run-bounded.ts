/**
 * Runs code without a time limit, because the Web APIs cannot interrupt JavaScript on its own thread. The guide warns about this ("Where
 * Pawl runs"): a schema from outside may block the thread for a long time.
 */
import type * as node from "../run-bounded.js";

export const withTimeLimit: typeof node.withTimeLimit = (work) => work();
