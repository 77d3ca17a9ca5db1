/**
 * A run that somebody in this process waits for, and that is not driven here: the questions of its family are its
 * result, and its children are attended to.
 *
 * 1. Anyone who waits for a parent waits for its children, too: if the process that holds a child dies, this one takes the
 *    child over, as it would take over the session that is waited for.
 * 2. A child that cannot continue here (its store failed) ends the wait for the parent with that failure.
 */
import { findChildCalls } from "../../core/machine/child-reports.js";
import { isSuspended, type State } from "../../core/machine/state.js";
import { createTranscript } from "../../core/transcript/transcript.js";
import { type AgentFamily, findChildAgent } from "../agent/agent-family.js";
import { type CompiledAgent, getSessionFamily } from "../agent/compiled-agent.js";
import { reportLostChild } from "../driver/lost-children.js";
import { isChildDue } from "../log/due-children.js";
import { loadCurrentResult } from "../log/present-result.js";
import {
  closeWaiters,
  dismissWaiters,
  endsOnQuestion,
  type HasWaiters,
  holdBackQueuedRuns,
  isUnrelated,
  settleRunWaiters,
  type Waiter,
} from "../subscribers/waiters.js";

/** For each child that is attended to: leaves it to others. */
export type AttendedChildren = Map<string, () => void>;

type WatchingParent = HasWaiters & {
  readonly agent: CompiledAgent;
  /** Not null: the session is driven here. */
  readonly driver: object | null;
  readonly following: object | null;
  /** Null while no child is attended to: most sessions have none. */
  attended: AttendedChildren | null;
};

/** Settles the waiters if the run waits for a person, and attends to the children for the waiters that are left. */
export async function settleWaitingRun(session: WatchingParent, state: State): Promise<void> {
  if (isSuspended(state) && session.waiters.some(endsOnQuestion) && !(await isAboutToContinue(session, state))) {
    await releaseAskingChildren(state, getSessionFamily(session.agent, state));
    const result = await loadCurrentResult(session.agent.store, session.sessionId, state);
    if (result !== null && session.driver === null) {
      settleRunWaiters(session, result, Number.MAX_SAFE_INTEGER);
      holdBackQueuedRuns(session, state, createTranscript());
      await dismissStrayWaiters(session, state);
    }
  }
  if (session.waiters.length > 0 && session.following !== null) attendChildren(session, state);
  else detachChildren(session);
}

/** Whether a child's sleep is over: the parent continues, although its log does not show that yet. */
function isAboutToContinue({ agent: { store, clock } }: WatchingParent, state: State): Promise<boolean> {
  return isChildDue(store, state, clock.now());
}

/** Dismisses waiters for messages that have joined another run. A message that is still in the inbox may begin a run. */
async function dismissStrayWaiters(session: WatchingParent, state: State): Promise<void> {
  if (!session.waiters.some((waiter) => isUnrelated(waiter, state))) return;
  const posted = await session.agent.store.inbox(session.sessionId);
  const isPosted = ({ awaited }: Waiter) =>
    "runId" in awaited && posted.some(({ id }) => id === `run/${awaited.runId}`);
  const isStray = (waiter: Waiter) => isUnrelated(waiter, state) && !isPosted(waiter);
  if (session.driver === null) dismissWaiters(session, session.waiters.filter(isStray));
}

/** A caller may end the process once it has the result, so the children that ask are released first. */
async function releaseAskingChildren(state: State, family: AgentFamily): Promise<void> {
  const asking = findChildCalls(state).filter(({ askedAt }) => askedAt !== undefined);
  await Promise.allSettled(asking.map(({ name, childId }) => findChildAgent(name, family)?.releaseIfIdle(childId)));
}

/** Attends to the children that a state waits for, and to no others. */
function attendChildren(session: WatchingParent, state: State): void {
  const children = findChildCalls(state);
  for (const [childId, detach] of session.attended ?? [])
    if (!children.some((call) => call.childId === childId)) {
      session.attended?.delete(childId);
      detach();
    }
  for (const { name, childId } of children) {
    const child = findChildAgent(name, getSessionFamily(session.agent, state));
    if (child === undefined || session.attended?.has(childId) === true) continue;
    session.attended ??= new Map();
    const detach = child.attend(childId, (error) => {
      session.attended?.delete(childId);
      // A child that was deleted has no result. If the report fails, the next poll of the parent repeats it.
      if (error === undefined)
        return void reportLostChild(session.sessionId, state, childId, session.agent).catch(() => {});
      if (session.driver !== null) return;
      closeWaiters(session, { type: "interrupted", reason: "store_failed", error }, state, createTranscript());
    });
    session.attended.set(childId, detach);
  }
}

/** Called when no caller waits for the parent here, or when its driver resumes its children. */
export function detachChildren(session: Pick<WatchingParent, "attended">): void {
  const { attended } = session;
  session.attended = null;
  for (const detach of attended?.values() ?? []) detach();
}
