/**
 * What each principal may use at a time: changes in a minute, and open streams (SEC-4).
 */
import { ServerError } from "./server-error.js";
import type { ServerSettings } from "./server-options.js";

export type UsageLimits = {
  /** Counts a change. @throws ServerError `too_many` */
  readonly countChange: (principalId: string, now: number) => void;
  /** Counts a stream; the returned function gives it back. @throws ServerError `too_many` */
  readonly takeStream: (principalId: string) => () => void;
  readonly refused: () => number;
};

type Minute = { readonly from: number; changes: number };

const minuteMs = 60_000;

/** Principals are forgotten when their minute is over, and all of them if there are more than this. */
const mostRemembered = 10_000;

export function createUsageLimits({ limits }: Pick<ServerSettings, "limits">): UsageLimits {
  const minutes = new Map<string, Minute>();
  const streams = new Map<string, number>();
  let open = 0;
  let refused = 0;

  function tooMany(what: string, retryAfterS: number): ServerError {
    refused += 1;
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
    takeStream(principalId) {
      const own = streams.get(principalId) ?? 0;
      if (own >= limits.streamsPerPrincipal)
        throw tooMany(`At most ${limits.streamsPerPrincipal} streams may be open at a time.`, 5);
      if (open >= limits.streams) throw tooMany("This server has as many streams open as it may.", 5);
      open += 1;
      streams.set(principalId, own + 1);
      let isTaken = true;
      return () => {
        if (!isTaken) return;
        isTaken = false;
        open -= 1;
        const left = (streams.get(principalId) ?? 1) - 1;
        if (left === 0) streams.delete(principalId);
        else streams.set(principalId, left);
      };
    },
    refused: () => refused,
  };
}
