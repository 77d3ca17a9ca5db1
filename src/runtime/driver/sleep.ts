/**
 * A driver's timers: the driver itself performs effects of type `sleep`.
 */
import type { Effect } from "../../core/machine/effect.js";
import type { EventBody } from "../../core/machine/event.js";
import { createCancellation, onCancel } from "../lib/cancellation.js";
import type { Driver } from "./driver-types.js";

/** Starts a timer. `add` is called with the event that the effect settles with. */
export function sleep(
  driver: Pick<Driver, "agent" | "jobs" | "checks">,
  { key, runId, timer, until, ms, callKey, attempt, questionId }: Extract<Effect, { type: "sleep" }>,
  add: (event: EventBody) => void,
): void {
  const { clock } = driver.agent;
  const remainingMs = Math.max(0, until - clock.now());
  const cancellation = createCancellation();
  const fire = () => {
    const ids = {
      ...(callKey === undefined ? {} : { callKey }),
      ...(attempt === undefined ? {} : { attempt }),
      ...(questionId === undefined ? {} : { questionId }),
    };
    add({ type: "timer_fired", runId, timer, ...ids });
  };
  driver.jobs.set(key, { cancellation, sleeps: true });
  // A session is often opened because its sleep is over, so do not wait for a turn of the event loop.
  if (timer === "wait" && remainingMs === 0) {
    fire();
    return;
  }
  const cancel = clock.after(ms === undefined ? remainingMs : Math.min(remainingMs, ms), () => {
    // An approval that came in time counts, even if the permission check takes longer.
    const checks = driver.checks?.filter((check) => check.callKey === callKey) ?? [];
    if (checks.length === 0) fire();
    else void Promise.all(checks.map(({ done }) => done)).then(fire);
  });
  onCancel(cancellation, cancel);
}
