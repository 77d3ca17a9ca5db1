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

export function followedSource(sessionId: string, sessions: FollowedSessions): ItemSource {
  const { store } = sessions.logs;
  return {
    sessionId,
    store,
    subscribe({ stayAfter = 0, mostBehind, joinDeltas }) {
      const session = sessions.byId.get(sessionId) ?? createFollowed(sessionId, store, stayAfter);
      sessions.byId.set(sessionId, session);
      const onLeave = () => {
        unsubscribe(session, subscription);
        leaveIfIdle(session, sessions);
      };
      const options = { runId: undefined, stays: true, onLeave, ...defined({ mostBehind, joinDeltas }) };
      const subscription: Subscription = subscribeTo(session, options);
      follow(session, sessions);
      return subscription;
    },
  };
}

const nobody: readonly never[] = [];
/** Runs that are followed have no options of this process. */
const noLocals: FollowedSession["parts"]["locals"] = new Map();

function createFollowed(sessionId: string, store: Store, toldUpTo: number): FollowedSession {
  return {
    sessionId,
    parts: { store, listeners: nobody, locals: noLocals },
    memory: null,
    waiters: nobody,
    signals: nobody,
    subscriptions: nobody,
    stepListeners: nobody,
    tracing: null,
    toldUpTo,
    following: null,
  };
}

const never = () => false;
const nothing = async () => {};
const nothingTaken = async () => false;

function follow(session: FollowedSession, sessions: FollowedSessions): void {
  const isNew = session.following === null;
  session.following ??= followLog({
    sessionId: session.sessionId,
    logs: sessions.logs,
    clock: sessions.clock,
    after: session.toldUpTo,
    onEvents: (seq, events) => broadcastFollowed(session, seq, events),
    onWaitedFor: nothing,
    isWanted: () => !isEmpty(session),
    mayTakeOver: never,
    takeOver: nothingTaken,
    onEnd(error) {
      session.following = null;
      if (error !== undefined) endWithError(session, error);
      leaveIfIdle(session, sessions);
    },
  });
  if (isNew) session.following.look();
}

function leaveIfIdle(session: FollowedSession, { byId }: FollowedSessions): void {
  if (!isEmpty(session)) return;
  session.following?.stop();
  if (byId.get(session.sessionId) === session) byId.delete(session.sessionId);
}
