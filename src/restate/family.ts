/**
 * Finds the work in the family of a session: the session itself, the sessions below it, and those above it.
 */
import { dueAt, hasCalls, initialState } from "../core/index.js";
import type { SessionSummary, State, Status, Store } from "../index.js";

export type FamilyWork = {
  /** The sessions that need a driver now. */
  readonly due: readonly string[];
  /** When the first session of the family needs a driver, in epoch milliseconds; null if none does. */
  readonly dueAt: number | null;
};

/** The statuses of a session whose run has not ended. */
const openStatuses = ["preparing", "model_running", "tool_running", "awaiting_human"] as const satisfies Status[];

/** How many ended children, newest first, are searched for unfinished work. */
const maxEndedChildren = 100;

/** A run may continue in any session of the family: a child gives its result to its parent, and a parent may abort a child. */
export async function findFamilyWork(store: Store, sessionId: string, now: number): Promise<FamilyWork> {
  const due: string[] = [];
  const times: number[] = [];
  const visited = new Set<string>();
  const queue = [sessionId];
  for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
    if (visited.has(id)) continue;
    visited.add(id);
    // Inbox before state: a message leaves the inbox in the commit that changes the state.
    const isPosted = (await store.inbox(id)).length > 0;
    const state = (await store.load(id))?.state ?? initialState;
    const at = isPosted ? 0 : dueAt(state);
    if (at !== null) times.push(at);
    if (at !== null && at <= now) due.push(id);
    const parent = state.session?.parent?.sessionId;
    const children = [
      ...(await store.list({ parent: id, status: openStatuses })),
      ...(await findCutOffChildren(store, id)),
    ];
    queue.push(
      ...(parent === undefined ? [] : [parent]),
      ...listOpenChildren(state),
      ...children.map((child) => child.sessionId),
    );
  }
  return { due, dueAt: times.length === 0 ? null : Math.min(...times) };
}

/**
 * The children whose run is over, but whose process has not released them. The process may have died after the parent had
 * the result: then neither the parent's state nor the child's status says that the child has a commit left to do.
 */
async function findCutOffChildren(store: Store, parent: string): Promise<readonly SessionSummary[]> {
  return (await store.list({ parent, limit: maxEndedChildren })).filter(({ holder }) => holder !== null);
}

/**
 * The children that a state waits for, and those in the background. They may have ended without notifying their parent. One that has not
 * begun is only an inbox, which no list of children contains.
 */
function listOpenChildren(state: State): readonly string[] {
  const background = (state.background ?? []).map(({ childId }) => childId);
  if (!hasCalls(state)) return background;
  const awaited = state.calls.flatMap((call) =>
    "childId" in call && call.childId !== undefined ? [call.childId] : [],
  );
  return [...awaited, ...background];
}
