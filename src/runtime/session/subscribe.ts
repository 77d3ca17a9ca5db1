/**
 * Subscribes a consumer to a session in this process, driven here or followed.
 */
import type { Tail, TailOptions } from "../../stream/tail/tail.js";
import { addSubscription, hasLastingSubscriber, removeSubscription } from "../subscribers/broadcast.js";
import { evictIfIdle, followSession, isInactive, type LocalSession, pollDelayMs } from "./local-session.js";

export type SubscribeOptions = Omit<TailOptions, "stays" | "onLeave"> & {
  /**
   * If given, the subscription gets everything after this committed entry, and outlives runs and changes of the holder.
   */
  readonly stayAfter?: number;
};

export function subscribe(localSession: LocalSession, { stayAfter, ...options }: SubscribeOptions = {}): Tail {
  // No other subscriber needs earlier events. Of the waiters, only those with `after` do.
  if (isInactive(localSession) && !hasLastingSubscriber(localSession))
    localSession.publishedSeq = Math.max(
      localSession.publishedSeq,
      Math.min(stayAfter ?? 0, ...localSession.waiters.map(({ awaited }) => ("after" in awaited ? awaited.after : 0))),
    );
  const stays = stayAfter !== undefined;
  const onLeave = () => {
    removeSubscription(localSession, subscription);
    evictIfIdle(localSession);
  };
  const subscription = addSubscription(localSession, { ...options, stays, onLeave });
  if (stays && localSession.driver === null) followUnlessOpening(localSession, stayAfter);
  return subscription;
}

/**
 * A driver that is being opened here publishes to a new subscriber what it has missed, so the log need not be read twice. If the log
 * was just read and is empty, a driver is about to be opened, here or elsewhere.
 */
function followUnlessOpening(localSession: LocalSession, after: number): void {
  const first = after === 0 ? { afterMs: pollDelayMs } : {};
  const follow = () => {
    if (localSession.driver === null && hasLastingSubscriber(localSession)) followSession(localSession, first);
  };
  if (localSession.opening === null) follow();
  else void localSession.opening.then(follow, follow);
}
