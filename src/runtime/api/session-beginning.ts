/**
 * Determines how a session began, and which of its runs are open. A request is in the inbox until a driver consumes it, which may happen
 * between two reads, so the log is read before and after the inbox.
 */
import { deepFreeze } from "../../core/data/freeze.js";
import type { InboxBody, InboxMessage } from "../../core/machine/inbox.js";
import { initialState, type SessionBinding, type State } from "../../core/machine/state.js";
import type { Store } from "../../ports/store.js";
import type { SessionLook } from "../agent/local-run-options.js";
import { createCheckedStore } from "../log/checked-store.js";
import { findOpenRunId, listOpenRunIds } from "../log/open-runs.js";
import { readEntries } from "../log/read-entries.js";

/** How a session began. */
export type SessionBeginning = {
  /** Its agent, its folder and its principal. The model is missing until a driver consumes the first request. */
  readonly session: SessionBinding;
  /** The first run; null if the session has an imported conversation and no run yet. */
  readonly runId: string | null;
};

export type { SessionLook };

/**
 * How a session began, according to its log or, until a driver consumes its first request, according to that request. Null if the session
 * does not exist.
 */
export async function findBeginning(given: Store, sessionId: string): Promise<SessionBeginning | null> {
  const store = createCheckedStore(given);
  // The order matters: a request leaves the inbox in the commit that begins the session.
  const posted = await store.inbox(sessionId);
  const begun = (await store.load(sessionId))?.state.session ?? null;
  const session = begun ?? findFirst(posted, pickSession);
  if (session === null) return null;
  const runId = (begun === null ? null : await findFirstRun(store, sessionId)) ?? findFirst(posted, pickRunId);
  return deepFreeze({ session, runId });
}

/**
 * The id of an unfinished run: of the given run or, without an id, of the current run. A run counts as soon as it is requested, even while
 * it is queued or its request is still in the inbox. Null if there is none.
 * @param known a state of the session that the caller has read
 */
export async function findOpenRun(
  given: Store,
  sessionId: string,
  runId?: string,
  known?: State,
): Promise<string | null> {
  const store = createCheckedStore(given);
  const state = known ?? (await store.load(sessionId))?.state ?? initialState;
  return findOpenRunId(store, sessionId, state, runId);
}

/** Reads a snapshot of a session, which may not have begun. The store is checked. */
export async function readSessionLook(given: Store, sessionId: string): Promise<SessionLook> {
  return deepFreeze(await readLook(createCheckedStore(given), sessionId));
}

/** Reads a snapshot of a session, in two reads. */
export async function readLook(store: Pick<Store, "load" | "inbox">, sessionId: string): Promise<SessionLook> {
  // The order matters: a request leaves the inbox in the commit that begins the session.
  const posted = await store.inbox(sessionId);
  const state = (await store.load(sessionId))?.state ?? initialState;
  return {
    state,
    isPosted: posted.length > 0,
    binding: state.session ?? findFirst(posted, pickSession),
    openRunIds: listOpenRunIds(state, posted),
  };
}

/** The session's binding, or the binding that its first request asks for. Null if the session does not exist. */
export async function findBinding(
  store: Pick<Store, "load" | "inbox">,
  sessionId: string,
): Promise<SessionBinding | null> {
  const inLog = async () => (await store.load(sessionId))?.state.session ?? null;
  return (await inLog()) ?? (await findInInbox(store, sessionId, pickSession)) ?? (await inLog());
}

async function findInInbox<Found>(
  store: Pick<Store, "inbox">,
  sessionId: string,
  find: (body: InboxBody) => Found | null,
): Promise<Found | null> {
  return findFirst(await store.inbox(sessionId), find);
}

function findFirst<Found>(messages: readonly InboxMessage[], find: (body: InboxBody) => Found | null): Found | null {
  for (const { body } of messages) {
    const found = find(body);
    if (found !== null) return found;
  }
  return null;
}

function pickSession(body: InboxBody): SessionBinding | null {
  return body.type === "input" || body.type === "history" ? body.session : null;
}

function pickRunId(body: InboxBody): string | null {
  return body.type === "input" ? body.runId : null;
}

async function findFirstRun(store: Pick<Store, "read">, sessionId: string): Promise<string | null> {
  for await (const { event } of readEntries(store, sessionId, 0))
    if (event.type === "run_started" || event.type === "run_queued") return event.runId;
  return null;
}
