/**
 * Finds child sessions that are due although their parent still sees them as asleep.
 */

import { findChildCalls } from "../../core/machine/child-reports.js";
import { dueAt } from "../../core/machine/effects.js";
import { isAsleep, type State } from "../../core/machine/state.js";
import type { Store } from "../../ports/store.js";

/** Whether a child, or a descendant further down, is due at `now` or has received a signal. */
export async function isChildDue(store: Pick<Store, "load" | "inbox">, state: State, now: number): Promise<boolean> {
  if (!isAsleep(state)) return false;
  for (const { childId } of findChildCalls(state)) {
    const child = (await store.load(childId))?.state;
    if (child === undefined) continue;
    const due = dueAt(child);
    if (!isAsleep(child) || (due !== null && due <= now)) return true;
    if ((await store.inbox(childId)).length > 0 || (await isChildDue(store, child, now))) return true;
  }
  return false;
}
