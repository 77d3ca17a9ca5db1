/**
 * A session that this process only watches: its log is followed, and it is never driven here. All its consumers share
 * one follower. When the last consumer leaves, the session is dropped.
 */
import type { Clock } from "../../ports/clock.js";
import type { Store } from "../../ports/store.js";
import type { Tail } from "../../stream/tail/tail.js";
import {
  addSubscription,
  type Broadcast,
  broadcastFollowed,
  closeDeleted,
  closeWithError,
  hasNoConsumers,
  removeSubscription,
} from "../subscribers/broadcast.js";
import { sourceMethods } from "../subscribers/stream-source.js";
import { type Following, followLog } from "./follow.js";
import type { ItemSource } from "./session-items.js";
import { createWatchedLogs, type WatchedLogs } from "./watch-logs.js";

/** The sessions that are watched, by id. */
export type FollowedSessions = {
  readonly logs: WatchedLogs;
  readonly clock: Clock;
  readonly byId: Map<string, FollowedSession>;
};

type FollowedSession = Broadcast & { following: Following | null };

export function createFollowedSessions(store: Store, clock: Clock): FollowedSessions {
  return { logs: createWatchedLogs(store), clock, byId: new Map() };
}

export function createFollowedSource(sessionId: string, sessions: FollowedSessions): ItemSource {
  const { store } = sessions.logs;
  return {
    sessionId,
    store,
    subscribe({ stayAfter = 0, ...options }) {
      const session = sessions.byId.get(sessionId) ?? createFollowedSession(sessionId, store, stayAfter);
      sessions.byId.set(sessionId, session);
      const onLeave = () => {
        removeSubscription(session, subscription);
        evictIfIdle(session, sessions);
      };
      const subscription: Tail = addSubscription(session, { ...options, stays: true, onLeave });
      follow(session, sessions);
      return subscription;
    },
  };
}

const none: readonly never[] = [];
/** Followed runs have no local options in this process. */
const noLocals: FollowedSession["agent"]["locals"] = new Map();

function createFollowedSession(sessionId: string, store: Store, publishedSeq: number): FollowedSession {
  return {
    ...sourceMethods,
    sessionId,
    agent: { store, listeners: none, locals: noLocals },
    memory: null,
    waiters: none,
    signals: none,
    subscriptions: none,
    entryListeners: none,
    tracing: null,
    publishedSeq,
    following: null,
  };
}

const no = () => false;
const noop = async () => {};
const takeNothing = async () => false;

function follow(session: FollowedSession, sessions: FollowedSessions): void {
  const isNew = session.following === null;
  session.following ??= followLog({
    sessionId: session.sessionId,
    logs: sessions.logs,
    clock: sessions.clock,
    after: session.publishedSeq,
    onEvents: (seq, events) => broadcastFollowed(session, seq, events),
    onWaitedFor: noop,
    isWanted: () => !hasNoConsumers(session),
    mayTakeOver: no,
    takeOver: takeNothing,
    isStarting: no,
    onDeleted: (error) => closeDeleted(session, error),
    onEnd(error) {
      session.following = null;
      if (error !== undefined) closeWithError(session, error);
      evictIfIdle(session, sessions);
    },
  });
  if (isNew) session.following.poll();
}

function evictIfIdle(session: FollowedSession, { byId }: FollowedSessions): void {
  if (!hasNoConsumers(session)) return;
  session.following?.stop();
  if (byId.get(session.sessionId) === session) byId.delete(session.sessionId);
}
