/**
 * A run that somebody in this process waits for, and that is not driven here: the questions of its family are its
 * result, and its children are attended to.
 *
 * 1. Anyone who waits for a parent waits for its children, too: if the process that holds a child dies, this one takes the
 *    child over, as it would take over the session that is waited for.
 * 2. A child that cannot go on here (its store failed) ends the wait for the parent with that failure.
 */
import { childCallsOf } from "../../core/machine/parent.js";
import type { State } from "../../core/machine/state.js";
import { createTranscript } from "../../core/transcript/transcript.js";
import { type AgentFamily, childAgentOf } from "../agent/agent-family.js";
import { type CompiledAgent, familyIn } from "../agent/compiled-agent.js";
import { presentResult } from "../log/present-result.js";
import {
  closeWaiters,
  holdBack,
  isElsewhere,
  isWaitingForPeople,
  sendAway,
  settleRun,
  type WaitedFor,
  type Waiter,
} from "../subscribers/waiters.js";

/** For each child that is attended to: leaves it to others. */
export type Attended = Map<string, () => void>;

type Parent = WaitedFor & {
  readonly parts: CompiledAgent;
  /** Not null: the session is driven here. */
  readonly driver: object | null;
  readonly following: object | null;
  /** Null while no child is attended to: most sessions have none. */
  attended: Attended | null;
};

/** Settles those who wait if the run waits for a person, and attends to the children for those who wait on. */
export async function whileWaitedFor(session: Parent, state: State): Promise<void> {
  if (state.status === "awaiting_human" && session.waiters.some(isWaitingForPeople)) {
    await letAskingGo(state, familyIn(session.parts, state));
    const result = await presentResult(session.parts.store, session.sessionId, state);
    if (result !== null && session.driver === null) {
      settleRun(session, result, Number.MAX_SAFE_INTEGER);
      holdBack(session, state, createTranscript());
      await sendStrangersAway(session, state);
    }
  }
  if (session.waiters.length > 0 && session.following !== null) attendChildren(session, state);
  else leaveChildren(session);
}

/** Nobody waits behind a question for a message that has joined another run. A message in the inbox may still begin a run. */
async function sendStrangersAway(session: Parent, state: State): Promise<void> {
  if (!session.waiters.some((waiter) => isElsewhere(waiter, state))) return;
  const posted = await session.parts.store.inbox(session.sessionId);
  const isPosted = ({ awaited }: Waiter) =>
    "runId" in awaited && posted.some(({ id }) => id === `run/${awaited.runId}`);
  const isStranger = (waiter: Waiter) => isElsewhere(waiter, state) && !isPosted(waiter);
  if (session.driver === null) sendAway(session, session.waiters.filter(isStranger));
}

/** Anyone who gets the result may end the process: the children that ask are not held any more then. */
async function letAskingGo(state: State, family: AgentFamily): Promise<void> {
  const asking = childCallsOf(state).filter(({ askedAt }) => askedAt !== undefined);
  await Promise.allSettled(asking.map(({ name, childId }) => childAgentOf(name, family)?.letGo(childId)));
}

/** Attends to the children that a state waits for, and to no others. */
function attendChildren(session: Parent, state: State): void {
  const children = childCallsOf(state);
  for (const [childId, leave] of session.attended ?? [])
    if (!children.some((call) => call.childId === childId)) {
      session.attended?.delete(childId);
      leave();
    }
  for (const { name, childId } of children) {
    const child = childAgentOf(name, familyIn(session.parts, state));
    if (child === undefined || session.attended?.has(childId) === true) continue;
    session.attended ??= new Map();
    const leave = child.attend(childId, (error) => {
      session.attended?.delete(childId);
      if (error === undefined || session.driver !== null) return;
      closeWaiters(session, { type: "interrupted", reason: "store_failed", error }, state, createTranscript());
    });
    session.attended.set(childId, leave);
  }
}

/** Nobody waits for the parent here any more, or its driver takes its children up. */
export function leaveChildren(session: Pick<Parent, "attended">): void {
  const { attended } = session;
  session.attended = null;
  for (const leave of attended?.values() ?? []) leave();
}
