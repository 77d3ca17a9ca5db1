/**
 * `vi.waitFor` gives up after a second, and Vitest has no setting for it, as it has for `expect.poll` (vitest.config.ts). How long something
 * takes depends on the machine and on what else runs there, so the limit is only for what hangs.
 */
import { vi } from "vitest";

const maxWaitMs = 30_000;

const { waitFor } = vi;
vi.waitFor = (callback, options) =>
  waitFor(callback, { timeout: maxWaitMs, ...(typeof options === "number" ? { timeout: options } : options) });
