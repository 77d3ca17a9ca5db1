/**
 * Process primitives that use Web APIs only.
 */
import type * as node from "../process.js";

// biome-ignore lint/suspicious/noConsole: the console is the only way to reach the user of a page or a worker
export const warn: typeof node.warn = (message, code) => console.warn(`[${code}] PawlWarning: ${message}`);

export const scheduleNextTurn: typeof node.scheduleNextTurn = (callback) => {
  setTimeout(callback, 0);
};

/** The Web APIs do not reveal whether a signal has listeners. */
export const mayHaveListeners: typeof node.mayHaveListeners = () => true;

export const startIdleTimer: typeof node.startIdleTimer = (ms, callback) => {
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
};
