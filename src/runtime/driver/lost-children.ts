/**
 * Child sessions that were deleted before their parent had their result. The parent gets an error instead: no other message would end its
 * wait, or free the share of its budgets that it keeps for the child.
 *
 * 1. `deleteSession` reports a child before it deletes it. This makes the parent due, also for a worker in another process.
 * 2. A child that was deleted with the store alone is reported when its driver loses it, and when its parent is opened, resumed or waited
 *    for.
 */
import { findBackgroundChildren } from "../../core/machine/background-children.js";
import { findChildCalls } from "../../core/machine/child-reports.js";
import type { SessionInfo } from "../../core/machine/session-info.js";
import { callOf, type State } from "../../core/machine/state.js";
import type { Store } from "../../ports/store.js";
import { findChildAgent } from "../agent/agent-family.js";
import { type CompiledAgent, getSessionFamily } from "../agent/compiled-agent.js";
import { type ChildOfCall, createLossMessage } from "../effects/children.js";

/** A child session whose parent does not have its result yet. */
export type AwaitedChild = {
  readonly child: ChildOfCall;
  readonly parentId: string;
  /** The agent of the parent. */
  readonly agent: string;
};

/** Finds the call that waits for a child session, or the entry of a child in the background. Null if the parent does not need its result. */
export async function findAwaitedChild(
  store: Pick<Store, "load">,
  childId: string,
  { sessionId: parentId, callKey, background }: NonNullable<SessionInfo["parent"]>,
): Promise<AwaitedChild | null> {
  const isBackground = background === true;
  const state = (await store.load(parentId))?.state;
  const agent = state?.session?.agent;
  if (state === undefined || agent === undefined) return null;
  const call = callOf(state, callKey);
  const isOpen = call?.status === "running" || (!isBackground && call?.status === "waiting");
  const listed = isBackground ? findBackgroundChildren(state).find((one) => one.callKey === callKey) : undefined;
  const name = isOpen ? call.name : listed?.name;
  return name === undefined ? null : { child: { callKey, name, childId, isBackground }, parentId, agent };
}

/** Posts the error to the parent. Repeating this has no effect, and neither has a report of the child that comes later. */
export async function reportLoss(
  { child, parentId, agent }: AwaitedChild,
  store: Pick<Store, "load" | "post">,
  now: number,
): Promise<void> {
  const state = (await store.load(child.childId))?.state;
  const usage = state === undefined || state.status === "idle" ? {} : state.usage;
  await store.post(parentId, createLossMessage(child, agent, usage, now));
}

/** Reports a child session if it does not exist any more. Returns whether it was reported. */
async function reportIfLost(
  awaited: AwaitedChild,
  { store, clock }: Pick<CompiledAgent, "store" | "clock">,
): Promise<boolean> {
  if (!(await isLost(store, awaited.child.childId))) return false;
  await reportLoss(awaited, store, clock.now());
  return true;
}

/**
 * Whether a session that was requested does not exist any more. Messages alone do not show that it exists: an abort may have been posted
 * after it was deleted.
 */
async function isLost(store: Pick<Store, "inbox" | "load">, sessionId: string): Promise<boolean> {
  // The order matters: a request leaves the inbox in the commit that begins the session.
  const posted = await store.inbox(sessionId);
  return !posted.some(({ body }) => "session" in body) && (await store.load(sessionId)) === null;
}

/** Reports a session to its parent if it does not exist any more. @param state its last state */
export async function reportOwnLoss(
  sessionId: string,
  { session }: State,
  parts: Pick<CompiledAgent, "store" | "clock">,
): Promise<void> {
  const parent = session?.parent;
  const awaited = parent === undefined ? null : await findAwaitedChild(parts.store, sessionId, parent);
  if (awaited !== null) await reportIfLost(awaited, parts);
}

/** Reports a child that a state waits for if it does not exist any more. */
export async function reportLostChild(
  sessionId: string,
  state: State,
  childId: string,
  parts: Pick<CompiledAgent, "store" | "clock">,
): Promise<boolean> {
  const awaited = listChildren(sessionId, state).find(({ child }) => child.childId === childId);
  return awaited !== undefined && (await reportIfLost(awaited, parts));
}

function listChildren(sessionId: string, state: State): readonly AwaitedChild[] {
  const agent = state.session?.agent;
  if (agent === undefined) return [];
  const calls = findChildCalls(state).map((call) => ({ ...call, isBackground: false }));
  const background = findBackgroundChildren(state).map((child) => ({ ...child, isBackground: true }));
  return [...calls, ...background].map(({ callKey, name, childId, isBackground }) => ({
    child: { callKey, name, childId, isBackground },
    parentId: sessionId,
    agent,
  }));
}

/**
 * Resumes the children that a state waits for. A child that cannot be resumed here is due in the store. A child that does not exist any
 * more is reported to this session. `atWork`: only those that neither wait for a person nor sleep.
 * @returns whether a child was reported, so that this session has a message to handle
 */
export async function takeUpChildren(
  sessionId: string,
  state: State,
  parts: CompiledAgent,
  { atWork = false }: { readonly atWork?: boolean } = {},
): Promise<boolean> {
  const family = getSessionFamily(parts, state);
  // Whether a child in the background waits is only in its own state.
  const idle = new Set(
    findChildCalls(state).flatMap(({ childId, askedAt, asleep }) =>
      askedAt === undefined && asleep === undefined ? [] : [childId],
    ),
  );
  const settled = await Promise.allSettled(
    listChildren(sessionId, state).map(async (awaited) => {
      if (await reportIfLost(awaited, parts)) return true;
      const { name, childId } = awaited.child;
      if (!atWork || !idle.has(childId)) await findChildAgent(name, family)?.takeUp(childId);
      return false;
    }),
  );
  return settled.some((one) => one.status === "fulfilled" && one.value);
}
