/**
 * Runs code without a time limit: the Web APIs cannot interrupt JavaScript on its own thread. The guide says so ("Where
 * Pawl runs"), because a schema from outside may block this thread for a long time.
 */
import type * as node from "../run-bounded.js";

export const withTimeLimit: typeof node.withTimeLimit = (work) => work();
