/**
 * Limits for each principal: changes per minute, open streams, and waiting requests (SEC-4).
 */
import { createMetricRegistry } from "./metrics/registry.js";
import { ServerError } from "./server-error.js";
import type { ServerSettings } from "./server-options.js";

export type UsageLimits = {
  /** Counts the changes of a request. @throws ServerError `too_many`, and counts none of them */
  readonly countChanges: (principalId: string, count: number, now: number) => void;
  /** Counts a stream; the returned function releases it. @throws ServerError `too_many` */
  readonly acquireStream: (principalId: string) => () => void;
  /** Counts a waiting request; the returned function releases it. @throws ServerError `too_many` */
  readonly acquireWait: (principalId: string) => () => void;
  /** The number of rejected requests, as a Prometheus metric. */
  readonly text: () => string;
};

type Minute = { readonly from: number; changes: number };

const minuteMs = 60_000;

/** Beyond this number, principals are forgotten whose minute is over, or else all of them. */
const maxRememberedPrincipals = 10_000;

export function createUsageLimits({ limits }: Pick<ServerSettings, "limits">): UsageLimits {
  const minutes = new Map<string, Minute>();
  const registry = createMetricRegistry();
  const refused = registry.counter("pawl_requests_limited_total", "Requests that were rejected because of a limit.");
  refused.add({}, 0);

  function createTooManyError(what: string, retryAfterS: number): ServerError {
    refused.add({});
    return new ServerError("too_many", what, { retryAfterS });
  }

  function forgetExpired(now: number): void {
    if (minutes.size < maxRememberedPrincipals) return;
    for (const [id, { from }] of minutes) if (now - from >= minuteMs) minutes.delete(id);
    if (minutes.size >= maxRememberedPrincipals) minutes.clear();
  }

  return {
    countChanges(principalId, count, now) {
      forgetExpired(now);
      const existing = minutes.get(principalId);
      const minute = existing !== undefined && now - existing.from < minuteMs ? existing : { from: now, changes: 0 };
      minutes.set(principalId, minute);
      if (minute.changes + count > limits.changesPerMinute)
        throw createTooManyError(
          `Too many changes: at most ${limits.changesPerMinute} per minute are allowed. Try again later.`,
          Math.max(1, Math.ceil((minute.from + minuteMs - now) / 1_000)),
        );
      minute.changes += count;
    },
    acquireStream: createSlots({
      maxTotal: limits.streams,
      maxPerPrincipal: limits.streamsPerPrincipal,
      createPrincipalLimitError: () =>
        createTooManyError(
          `Too many open streams: at most ${limits.streamsPerPrincipal} are allowed. Close one first.`,
          5,
        ),
      createTotalLimitError: () =>
        createTooManyError("The server has reached its limit of open streams. Try again later.", 5),
    }),
    acquireWait: createSlots({
      maxTotal: limits.waits,
      maxPerPrincipal: limits.waitsPerPrincipal,
      createPrincipalLimitError: () =>
        createTooManyError(
          `Too many waiting requests: at most ${limits.waitsPerPrincipal} may wait for results at a time.`,
          5,
        ),
      createTotalLimitError: () =>
        createTooManyError("The server has reached its limit of requests that wait for results. Try again later.", 5),
    }),
    text: registry.text,
  };
}

type SlotRules = {
  readonly maxTotal: number;
  readonly maxPerPrincipal: number;
  readonly createPrincipalLimitError: () => ServerError;
  readonly createTotalLimitError: () => ServerError;
};

/** Creates a pool of slots that principals acquire and release. */
function createSlots({
  maxTotal,
  maxPerPrincipal,
  createPrincipalLimitError,
  createTotalLimitError,
}: SlotRules): (principalId: string) => () => void {
  const slotsByPrincipal = new Map<string, number>();
  let total = 0;
  return (principalId) => {
    const ownCount = slotsByPrincipal.get(principalId) ?? 0;
    if (ownCount >= maxPerPrincipal) throw createPrincipalLimitError();
    if (total >= maxTotal) throw createTotalLimitError();
    total += 1;
    slotsByPrincipal.set(principalId, ownCount + 1);
    let isAcquired = true;
    return () => {
      if (!isAcquired) return;
      isAcquired = false;
      total -= 1;
      const remaining = (slotsByPrincipal.get(principalId) ?? 1) - 1;
      if (remaining === 0) slotsByPrincipal.delete(principalId);
      else slotsByPrincipal.set(principalId, remaining);
    };
  };
}
