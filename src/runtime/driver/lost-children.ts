/**
 * Handles child sessions that were deleted before their parent got their result. The parent gets an error instead. Otherwise its wait would
 * not end, and the share of its budgets that is reserved for the child would not be released.
 *
 * 1. `deleteSession` reports a child before it deletes it. This makes the parent due, also for workers in other processes.
 * 2. A child that was deleted by `store.delete` alone is reported when its driver loses the lease, and when its parent is opened, resumed or
 *    waited for.
 */
import type { Usage } from "../../core/data/message.js";
import { findBackgroundChildren } from "../../core/machine/background-children.js";
import { findChildCalls } from "../../core/machine/child-reports.js";
import type { SessionInfo } from "../../core/machine/session-info.js";
import { callOf, type SessionBinding, type State } from "../../core/machine/state.js";
import { isImport } from "../../ports/import-holder.js";
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

/**
 * Posts the error to the parent. Repeating this has no effect, nor does a later report of the child.
 * @param usage the usage of the child, as far as it is known
 * @returns whether the parent has a new message. It may have a report already, have been deleted as well, or be imported before its child.
 */
export async function reportLoss(
  { child, parentId, agent }: AwaitedChild,
  usage: Usage,
  store: Pick<Store, "describe" | "post">,
  now: number,
): Promise<boolean> {
  const parent = await store.describe(parentId);
  // A message to a parent that was deleted would begin a session that no agent can continue.
  if (parent === null || (parent.holder !== null && isImport(parent.holder))) return false;
  return (await store.post(parentId, createLossMessage(child, agent, usage, now))).type === "posted";
}

type Outcome = "exists" | "reported" | "known";

/** Reports a child session if it no longer exists. `known`: its parent has no new message. */
async function reportIfLost(
  awaited: AwaitedChild,
  { store, clock }: Pick<CompiledAgent, "store" | "clock">,
): Promise<Outcome> {
  if (!(await isLost(awaited, store))) return "exists";
  return (await reportLoss(awaited, {}, store, clock.now())) ? "reported" : "known";
}

/**
 * Whether the session that a call requested no longer exists. Another session may have its id: a message to a deleted session
 * begins one, which has no parent.
 */
async function isLost(
  { child: { childId, callKey }, parentId }: AwaitedChild,
  store: Pick<Store, "inbox" | "load">,
): Promise<boolean> {
  const isOfCall = (session: SessionBinding | null | undefined) =>
    session?.parent?.sessionId === parentId && session.parent.callKey === callKey;
  const hasBegun = async () => isOfCall((await store.load(childId))?.state.session);
  if (await hasBegun()) return false;
  const posted = await store.inbox(childId);
  // The log is read again, because a request leaves the inbox in the commit that begins the session.
  return !posted.some(({ body }) => "session" in body && isOfCall(body.session)) && !(await hasBegun());
}

/** Reports a session to its parent if it no longer exists. @param state its last state */
export async function reportOwnLoss(
  sessionId: string,
  { session }: State,
  agent: Pick<CompiledAgent, "store" | "clock">,
): Promise<void> {
  const parent = session?.parent;
  const awaited = parent === undefined ? null : await findAwaitedChild(agent.store, sessionId, parent);
  if (awaited !== null) await reportIfLost(awaited, agent);
}

/** Reports a child that a state waits for if it no longer exists. */
export async function reportLostChild(
  sessionId: string,
  state: State,
  childId: string,
  agent: Pick<CompiledAgent, "store" | "clock">,
): Promise<void> {
  const awaited = listChildren(sessionId, state).find(({ child }) => child.childId === childId);
  if (awaited !== undefined) await reportIfLost(awaited, agent);
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
 * Resumes the children that calls have just started, unless they wait for a person or sleep already. A child that an earlier attempt of the
 * call has started may have ended and been deleted since.
 */
export async function takeUpStartedChildren(
  state: State,
  callKeys: readonly string[],
  agent: CompiledAgent,
): Promise<void> {
  const family = getSessionFamily(agent, state);
  const idle = findIdleChildren(state);
  const started = [...findChildCalls(state), ...findBackgroundChildren(state)].filter(
    ({ callKey, childId }) => callKeys.includes(callKey) && !idle.has(childId),
  );
  await Promise.allSettled(
    started.map(async ({ name, childId }) => {
      if ((await agent.store.describe(childId)) !== null) await findChildAgent(name, family)?.takeUp(childId);
    }),
  );
}

/**
 * Resumes the children that a state waits for. A child that cannot be resumed here is due in the store. A child that does not exist any
 * more is reported to this session. `atWork`: only those that neither wait for a person nor sleep.
 * @returns whether a child was reported, so that this session has a message to handle
 */
export async function takeUpChildren(
  sessionId: string,
  state: State,
  agent: CompiledAgent,
  { atWork = false }: { readonly atWork?: boolean } = {},
): Promise<boolean> {
  const family = getSessionFamily(agent, state);
  const idle = findIdleChildren(state);
  const settled = await Promise.allSettled(
    listChildren(sessionId, state).map(async (awaited) => {
      const outcome = await reportIfLost(awaited, agent);
      const { name, childId } = awaited.child;
      if (outcome === "exists" && !(atWork && idle.has(childId))) await findChildAgent(name, family)?.takeUp(childId);
      return outcome;
    }),
  );
  return settled.some((one) => one.status === "fulfilled" && one.value === "reported");
}

/** The children that wait for a person or sleep. For a child in the background, only its own state shows that. */
function findIdleChildren(state: State): ReadonlySet<string> {
  const idle = findChildCalls(state).filter(({ askedAt, asleep }) => askedAt !== undefined || asleep !== undefined);
  return new Set(idle.map(({ childId }) => childId));
}
