/**
 * What each principal may use at a time: changes in a minute, open streams, and requests that wait (SEC-4).
 */
import { createFigures } from "./metrics/figures.js";
import { ServerError } from "./server-error.js";
import type { ServerSettings } from "./server-options.js";

export type UsageLimits = {
  /** Counts a change. @throws ServerError `too_many` */
  readonly countChange: (principalId: string, now: number) => void;
  /** Counts a stream; the returned function gives it back. @throws ServerError `too_many` */
  readonly takeStream: (principalId: string) => () => void;
  /** Counts a request that waits; the returned function gives it back. @throws ServerError `too_many` */
  readonly takeWait: (principalId: string) => () => void;
  /** The requests that were refused, as a figure of Prometheus. */
  readonly text: () => string;
};

type Minute = { readonly from: number; changes: number };

const minuteMs = 60_000;

/** Principals are forgotten when their minute is over, and all of them if there are more than this. */
const mostRemembered = 10_000;

export function createUsageLimits({ limits }: Pick<ServerSettings, "limits">): UsageLimits {
  const minutes = new Map<string, Minute>();
  const figures = createFigures();
  const refused = figures.counter("pawl_requests_limited_total", "Requests that were refused because of a limit.");
  refused.add({}, 0);

  function tooMany(what: string, retryAfterS: number): ServerError {
    refused.add({});
    return new ServerError("too_many", what, { retryAfterS });
  }

  function forgetOld(now: number): void {
    if (minutes.size < mostRemembered) return;
    for (const [id, { from }] of minutes) if (now - from >= minuteMs) minutes.delete(id);
    if (minutes.size >= mostRemembered) minutes.clear();
  }

  return {
    countChange(principalId, now) {
      forgetOld(now);
      const known = minutes.get(principalId);
      const minute = known !== undefined && now - known.from < minuteMs ? known : { from: now, changes: 0 };
      minutes.set(principalId, minute);
      if (minute.changes >= limits.changesPerMinute)
        throw tooMany(
          `At most ${limits.changesPerMinute} changes a minute are taken.`,
          Math.max(1, Math.ceil((minute.from + minuteMs - now) / 1_000)),
        );
      minute.changes += 1;
    },
    takeStream: createPlaces({
      most: limits.streams,
      mostOfOne: limits.streamsPerPrincipal,
      tooManyOfOne: () => tooMany(`At most ${limits.streamsPerPrincipal} streams may be open at a time.`, 5),
      tooManyOfAll: () => tooMany("This server has as many streams open as it may.", 5),
    }),
    takeWait: createPlaces({
      most: limits.waits,
      mostOfOne: limits.waitsPerPrincipal,
      tooManyOfOne: () => tooMany(`At most ${limits.waitsPerPrincipal} requests may wait for results at a time.`, 5),
      tooManyOfAll: () => tooMany("As many requests wait for results as this server allows.", 5),
    }),
    text: figures.text,
  };
}

type PlaceRules = {
  readonly most: number;
  readonly mostOfOne: number;
  readonly tooManyOfOne: () => ServerError;
  readonly tooManyOfAll: () => ServerError;
};

/** Places that principals take and give back. */
function createPlaces({
  most,
  mostOfOne,
  tooManyOfOne,
  tooManyOfAll,
}: PlaceRules): (principalId: string) => () => void {
  const taken = new Map<string, number>();
  let all = 0;
  return (principalId) => {
    const own = taken.get(principalId) ?? 0;
    if (own >= mostOfOne) throw tooManyOfOne();
    if (all >= most) throw tooManyOfAll();
    all += 1;
    taken.set(principalId, own + 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      all -= 1;
      const left = (taken.get(principalId) ?? 1) - 1;
      if (left === 0) taken.delete(principalId);
      else taken.set(principalId, left);
    };
  };
}
