/**
 * A session that this process only watches: its log is followed, and nothing is ever driven here. All who watch it share
 * one follower. When the last one leaves, the session is forgotten.
 */
import { defined } from "../../core/data/defined.js";
import type { Clock } from "../../ports/clock.js";
import type { Store } from "../../ports/store.js";
import {
  type Broadcast,
  broadcastFollowed,
  endWithError,
  isEmpty,
  subscribeTo,
  unsubscribe,
} from "../subscribers/broadcast.js";
import type { Subscription } from "../subscribers/subscription.js";
import { type Following, followLog } from "./follow.js";
import type { ItemSource } from "./session-items.js";

/** The sessions that are watched, by id. */
export type FollowedSessions = Map<string, FollowedSession>;

type FollowedSession = Broadcast & { following: Following | null };

export function followedSource(sessionId: string, store: Store, clock: Clock, sessions: FollowedSessions): ItemSource {
  return {
    sessionId,
    store,
    subscribe({ stayAfter = 0, mostBehind }) {
      const session = sessions.get(sessionId) ?? createFollowed(sessionId, store, stayAfter);
      sessions.set(sessionId, session);
      const onLeave = () => {
        unsubscribe(session, subscription);
        leaveIfIdle(session, sessions);
      };
      const options = { runId: undefined, stays: true, onLeave, ...defined({ mostBehind }) };
      const subscription: Subscription = subscribeTo(session, options);
      follow(session, store, clock, sessions);
      return subscription;
    },
  };
}

function createFollowed(sessionId: string, store: Store, toldUpTo: number): FollowedSession {
  return {
    sessionId,
    parts: { store, listeners: [], locals: new Map() },
    memory: null,
    waiters: [],
    signals: [],
    subscriptions: [],
    stepListeners: [],
    tracing: null,
    toldUpTo,
    following: null,
  };
}

function follow(session: FollowedSession, store: Store, clock: Clock, sessions: FollowedSessions): void {
  const isNew = session.following === null;
  session.following ??= followLog({
    sessionId: session.sessionId,
    store,
    clock,
    after: session.toldUpTo,
    onEvents: (seq, events) => broadcastFollowed(session, seq, events),
    onWaitedFor: async () => {},
    isWanted: () => !isEmpty(session),
    mayTakeOver: () => false,
    takeOver: async () => false,
    onEnd(error) {
      session.following = null;
      if (error !== undefined) endWithError(session, error);
      leaveIfIdle(session, sessions);
    },
  });
  if (isNew) session.following.look();
}

function leaveIfIdle(session: FollowedSession, sessions: FollowedSessions): void {
  if (!isEmpty(session)) return;
  session.following?.stop();
  if (sessions.get(session.sessionId) === session) sessions.delete(session.sessionId);
}
