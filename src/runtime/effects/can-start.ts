/**
 * The last check before something outside is called: a model, a tool or another agent.
 *
 * An effect may wait before the call, for a blob, a schema or a lease. Meanwhile the run may be aborted, a commit of the session may fail,
 * and the process may sleep past its lease.
 *
 * 1. Nothing is awaited between this check and the call. Only a pause of the whole process can come between them.
 */
import type { State } from "../../core/machine/state.js";
import type { Cancellation } from "../lib/cancellation.js";
import { type Awaitable, type Coroutine, wait } from "../lib/coroutine.js";
import type { EffectContext } from "../work/effect-context.js";

/** Whether the effect is still wanted and this process holds the session. Renews the lease if it may have expired. */
export function canStart(context: EffectContext, cancellation: Cancellation): Awaitable<boolean> {
  if (cancellation.isCancelled || context.recorder.isReleased()) return wait(false);
  return context.hold.isFresh() ? wait(true) : refreshLease(context, cancellation);
}

function* refreshLease({ hold, recorder }: EffectContext, cancellation: Cancellation): Coroutine<boolean> {
  while (!cancellation.isCancelled && !recorder.isReleased()) {
    if (hold.isFresh()) return true;
    if (!(yield* wait(hold.refresh()))) return false;
  }
  return false;
}

/**
 * Whether a cleanup step may begin, even after an abort: its call has not ended, no commit in progress may end the call, and this process
 * holds the session.
 * @param isRunning whether the call has not ended in this state
 */
export async function canCleanUp(
  { hold, recorder }: EffectContext,
  isRunning: (state: State) => boolean,
): Promise<boolean> {
  while (recorder.isDriving(isRunning)) {
    const committing = recorder.committing();
    if (committing !== null) await committing;
    else if (hold.isFresh()) return true;
    else if (!(await hold.refresh())) return false;
  }
  return false;
}
