/**
 * What a session began with, and which of its runs are open. A request is in the inbox until a driver takes it, which may
 * happen between two looks: so the log is looked at before and after.
 */
import { deepFreeze } from "../../core/data/freeze.js";
import type { InboxBody, InboxMessage } from "../../core/machine/inbox.js";
import { initialState, type SessionBinding } from "../../core/machine/state.js";
import type { Store } from "../../ports/store.js";
import type { SessionLook } from "../agent/local-run-options.js";
import { createCheckedStore } from "../log/checked-store.js";
import { findOpenRunId } from "../log/open-runs.js";
import { readEntries } from "../log/read-entries.js";

/** What a session began with. */
export type SessionBeginning = {
  /** Its agent, its folder and who began it. The model is left out as long as nobody has taken the first request. */
  readonly session: SessionBinding;
  /** The first run; null if the session has a conversation from elsewhere and no run yet. */
  readonly runId: string | null;
};

export type { SessionLook };

/**
 * What a session began with, by its log or, as long as nobody has taken its first request, by that request; null if there
 * is no such session.
 */
export async function findBeginning(given: Store, sessionId: string): Promise<SessionBeginning | null> {
  const store = createCheckedStore(given);
  const session = await findBinding(store, sessionId);
  if (session === null) return null;
  const inLog = () => findFirstRun(store, sessionId);
  const runId = (await inLog()) ?? (await findInInbox(store, sessionId, pickRunId)) ?? (await inLog());
  return deepFreeze({ session, runId });
}

/**
 * The id of a session's run that has not ended: of the named run or, without a name, of the run under way. A run counts as
 * soon as it is requested, also in the queue and before anybody has taken the request. Null if there is none.
 */
export async function findOpenRun(given: Store, sessionId: string, runId?: string): Promise<string | null> {
  const store = createCheckedStore(given);
  return findOpenRunId(store, sessionId, (await store.load(sessionId))?.state ?? initialState, runId);
}

/** Looks at a session of a store whose answers are not checked yet. */
export function readSessionLook(given: Store, sessionId: string): Promise<SessionLook> {
  return readLook(createCheckedStore(given), sessionId);
}

/** Looks at a session in two reads. */
export async function readLook(store: Pick<Store, "load" | "inbox">, sessionId: string): Promise<SessionLook> {
  // In this order: a request leaves the inbox in the commit that begins the session.
  const posted = await store.inbox(sessionId);
  const state = (await store.load(sessionId))?.state ?? initialState;
  return { state, isPosted: posted.length > 0, binding: state.session ?? findFirst(posted, pickSession) };
}

/** What a session is bound to; if it has not begun, what its first request asks for. Null if there is no such session. */
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
