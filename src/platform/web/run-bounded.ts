/**
 * Runs code that cannot be stopped: the Web APIs have nothing that ends JavaScript on its own thread. The guide says so
 * ("Where Pawl runs"), because a schema of a stranger may keep this thread busy for long.
 */
import type * as node from "../run-bounded.js";

export const withTimeLimit: typeof node.withTimeLimit = (work) => work();
