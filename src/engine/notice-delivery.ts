/**
 * Delivers a worker's notices while it drives sessions.
 */
import type { Clock } from "../ports/clock.js";
import type { NoticeFailure } from "../ports/worker-notices.js";
import { pauseAfterFailuresMs } from "./retries.js";
import type { WorkerOptions } from "./worker-options.js";

/** If the store fails, the failure is reported, and the next poll is delayed. */
export function createNoticeDelivery(
  { store, notices, pollMs = 1_000, onReport = () => {} }: WorkerOptions,
  { clock, random }: { readonly clock: Clock; readonly random: () => number },
) {
  const stopping = new AbortController();
  const { signal } = stopping;
  /** A poll may hang on a destination that does not respond. Later polls deliver to the others meanwhile. */
  const polls = new Set<Promise<void>>();
  let isRegistered = false;
  let failures = 0;
  /** When the next poll is due, on the scale of the clock's `elapsed`. */
  let nextPollAt = Number.NEGATIVE_INFINITY;

  /** Called before the first session is driven, so that its notices are written. Rejects if the store fails. */
  async function register(): Promise<void> {
    if (!isRegistered) await notices?.register(store);
    isRegistered = true;
  }

  async function deliverAll(): Promise<void> {
    if (notices === undefined) return;
    const onFailure = (failure: NoticeFailure) => onReport({ type: "notice_failed", ...failure });
    while (!signal.aborted && (await notices.deliver(store, { signal, clock, random, onFailure })) > 0);
  }

  /** @param isForced polls now, however recent the last poll was */
  async function catchUp({ isForced = false } = {}): Promise<void> {
    if (notices === undefined || signal.aborted || (!isForced && clock.elapsed() < nextPollAt)) return;
    nextPollAt = clock.elapsed() + pollMs;
    const poll = deliverAll()
      .then(() => {
        failures = 0;
      })
      .catch((error: unknown) => {
        failures += 1;
        const retryInMs = pauseAfterFailuresMs(failures);
        nextPollAt = clock.elapsed() + retryInMs;
        if (!signal.aborted) onReport({ type: "store_failed", error, retryInMs });
      })
      .finally(() => {
        polls.delete(poll);
      });
    polls.add(poll);
    await Promise.all(polls);
  }

  async function stop(): Promise<void> {
    stopping.abort();
    await Promise.all(polls);
  }

  return { register, catchUp, stop };
}
