/**
 * Checks everything that a store returns before it is used: a store may be the user's own code, and its file may come from anywhere. The
 * stores of this package check more, and their messages say where the damage is.
 */

import { defined } from "../../core/data/defined.js";
import { isObject } from "../../core/data/is-object.js";
import { checkJson } from "../../core/data/json.js";
import type { Entry } from "../../core/machine/event.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import { formatVersion, hasCalls, type State } from "../../core/machine/state.js";
import { transitionTable } from "../../core/machine/transition-table.js";
import { PawlError } from "../../errors.js";
import type { AskingSession, ClaimResult, Store } from "../../ports/store.js";
import { releaseLease } from "./driver-errors.js";
import { shareCache } from "./transcript-cache.js";

/** Wraps a store so that malformed replies throw `store_corrupt`. */
export function createCheckedStore(store: Store): Store {
  const checked = wrapChecks(store);
  shareCache(store, checked);
  return checked;
}

function wrapChecks(store: Store): Store {
  return {
    ...delegateTo(store),
    async claim(sessionId, options) {
      const claimed = await store.claim(sessionId, options);
      if (!isClaim(claimed)) throw corruptError(sessionId, "claim result");
      if (claimed.type === "claimed" && claimed.state !== null)
        try {
          checkState(sessionId, claimed.state, claimed.seq);
        } catch (error) {
          // This process cannot continue the session. It releases the lease at once, so that other processes can.
          await releaseLease(store, claimed.lease);
          throw error;
        }
      return claimed;
    },
    async load(sessionId) {
      const loaded = await store.load(sessionId);
      if (loaded !== null) checkState(sessionId, loaded.state, loaded.seq);
      return loaded;
    },
    async loadAt(sessionId, seq) {
      const loaded = await store.loadAt(sessionId, seq);
      if (loaded === null) return null;
      checkState(sessionId, loaded.state, loaded.seq);
      if (loaded.seq > seq) throw corruptError(sessionId, "state");
      return loaded;
    },
    async read(sessionId, after, limit) {
      const entries = await store.read(sessionId, after, limit);
      if (!Array.isArray(entries) || !entries.every(isEntry)) throw corruptError(sessionId, "log entry");
      return entries;
    },
    async asking(options) {
      const sessions = await store.asking(options);
      if (!Array.isArray(sessions) || !sessions.every(isAskingSession))
        throw corruptError(null, "list of sessions with open questions");
      for (const { sessionId, state } of sessions) if (state !== null) checkState(sessionId, state, state.seq);
      return sessions;
    },
    async inbox(sessionId) {
      const messages = await store.inbox(sessionId);
      if (!Array.isArray(messages) || !messages.every(isInboxMessage)) throw corruptError(sessionId, "inbox message");
      return messages;
    },
  };
}

/** A store may be an instance of a class, whose methods need `this`. */
function delegateTo(store: Store): Store {
  return {
    claim: (sessionId, options) => store.claim(sessionId, options),
    renew: (leases, now, leaseMs) => store.renew(leases, now, leaseMs),
    release: (lease) => store.release(lease),
    commit: (lease, commit) => store.commit(lease, commit),
    redact: (lease, redaction) => store.redact(lease, redaction),
    load: (sessionId) => store.load(sessionId),
    loadAt: (sessionId, seq) => store.loadAt(sessionId, seq),
    read: (sessionId, after, limit) => store.read(sessionId, after, limit),
    post: (sessionId, message) => store.post(sessionId, message),
    inbox: (sessionId) => store.inbox(sessionId),
    messageIds: (sessionId, options) => store.messageIds(sessionId, options),
    list: (options) => store.list(options),
    describe: (sessionId) => store.describe(sessionId),
    asking: (options) => store.asking(options),
    due: (now, limit, isDead) => store.due(now, limit, isDead),
    watch: (listener) => store.watch(listener),
    tellsAllChanges: store.tellsAllChanges === true,
    putBlob: (sessionId, bytes) => store.putBlob(sessionId, bytes),
    getBlob: (sessionId, hash) => store.getBlob(sessionId, hash),
    delete: (sessionId, options) => store.delete(sessionId, options),
    verify: (sessionId) => store.verify(sessionId),
    ...defined({ signals: store.signals, schedules: store.schedules, notices: store.notices }),
    close: () => store.close(),
  };
}

function isClaim(claimed: ClaimResult): boolean {
  return isObject(claimed) && (claimed.type === "held" || (claimed.type === "claimed" && isObject(claimed.lease)));
}

function checkState(sessionId: string, state: State, seq: number): void {
  if (isObject(state) && state.v > formatVersion)
    throw new PawlError(
      "newer_format",
      `Session ${sessionId} was written in format ${state.v} by a later version of Pawl; this one reads up to ${formatVersion}. Update Pawl to continue it.`,
    );
  if (!isState(state) || state.seq !== seq) throw corruptError(sessionId, "state");
}

/** A state is small enough to be checked as a whole. */
function isState(state: State): boolean {
  try {
    if (!isObject(state) || !Object.hasOwn(transitionTable, state.status) || !checkJson(state).ok) return false;
  } catch {
    return false;
  }
  const hasValidRun = state.status === "idle" || (typeof state.runId === "string" && isObject(state.limits));
  const hasValidCalls = !hasCalls(state) || areObjects(state.calls);
  return (
    hasValidRun &&
    hasValidCalls &&
    isObject(state.context) &&
    Array.isArray(state.interrupted) &&
    areObjects(state.queue)
  );
}

const eventTypes: ReadonlySet<unknown> = new Set(Object.keys(transitionTable.idle));
/** A record, so that the compiler reports a missing type. */
const messageTypes: Readonly<Record<InboxMessage["body"]["type"], true>> = {
  input: true,
  answer: true,
  result: true,
  history: true,
  abort: true,
  child: true,
  data: true,
  session_change: true,
  rules_change: true,
  compaction_request: true,
};

function isEntry(entry: Entry): boolean {
  return (
    isObject(entry) && Number.isSafeInteger(entry.seq) && isObject(entry.event) && eventTypes.has(entry.event.type)
  );
}

function isInboxMessage(message: InboxMessage): boolean {
  return (
    isObject(message) &&
    typeof message.id === "string" &&
    typeof message.at === "number" &&
    isObject(message.body) &&
    Object.hasOwn(messageTypes, message.body.type)
  );
}

function isAskingSession(session: AskingSession): boolean {
  return isObject(session) && typeof session.sessionId === "string" && Number.isFinite(session.askedAt);
}

function areObjects(list: readonly unknown[]): boolean {
  return Array.isArray(list) && list.every(isObject);
}

function corruptError(sessionId: string | null, what: string): PawlError {
  const whose = sessionId === null ? what : `${what} for session ${sessionId}`;
  return new PawlError(
    "store_corrupt",
    `The store returned a malformed ${whose}. Nothing was changed. Run store.verify() to find the damage.`,
  );
}
