/**
 * Registers the destinations of notices for a server that drives no runs itself.
 */
import { PawlError } from "../index.js";
import { createFailureLine } from "./log-line.js";
import type { ServerSettings } from "./server-settings.js";

const retryMs = 5_000;

/**
 * From then on, commits to the store write notices, which any worker with the destinations delivers. If the store fails, the failure is
 * logged, and the server tries again.
 */
export function registerNotices({ store, log, worker: { notices } }: ServerSettings) {
  let isStopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let attempt = register();

  async function register(): Promise<void> {
    try {
      await notices?.register(store);
    } catch (error) {
      log(createFailureLine("notice", error));
      if (isStopped || isPermanent(error)) return;
      timer = setTimeout(() => {
        attempt = register();
      }, retryMs);
    }
  }

  return {
    async stop(): Promise<void> {
      isStopped = true;
      clearTimeout(timer);
      await attempt;
    },
  };
}

function isPermanent(error: unknown): boolean {
  return error instanceof PawlError && (error.code === "store_lacks" || error.code === "store_closed");
}
