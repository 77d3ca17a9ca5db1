/**
 * Ends a driver when its process shuts down or leaves the session to others.
 */
import { releaseLease } from "../log/driver-errors.js";
import { close, type Driver, dispatch } from "./driver.js";

/** Starts only calls that are already committed as running. Resolves when all effects have settled, or after `graceMs`. */
export async function drain(driver: Driver, graceMs: number, reason: "shutdown" | "left"): Promise<void> {
  if (driver.closed) return;
  let cancel = () => {};
  await new Promise<void>((settled) => {
    driver.draining = settled;
    cancel = driver.agent.clock.after(graceMs, settled);
    for (const listener of driver.onDraining ?? []) listener();
    void dispatch(driver, () => []);
  });
  cancel();
  if (driver.closed) return;
  // A commit may still be in progress. It has no further effect in this process.
  driver.released = true;
  await releaseLease(driver.agent.store, driver.kept.lease);
  close(driver, { type: "interrupted", reason });
}
