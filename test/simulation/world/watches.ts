/**
 * Those who watch a session together with the sessions below it. They leave in the middle, and go on behind a place that
 * they had come to, in the same process or another one.
 */
import type { PublicEvent } from "../../../src/core/view/public-event.js";
import type { FamilyItem } from "../../../src/runtime/agent/stream-types.js";
import type { Agent } from "../../../src/runtime/api/build-agent.js";
import type { Chance } from "../../../src/testing/world/chance.js";
import type { Process, World } from "../../../src/testing/world/world.js";

/** An event of the session or of one below it. */
export type Told = FamilyItem & PublicEvent & { readonly cursor: string };

export type Watch = {
  process: Process;
  /** What was told, up to the place behind which the watch went on last. */
  readonly seen: Told[];
  isOver: boolean;
  error: unknown;
  leave: () => void;
};

/** What one stream after the other told of a family, put together. */
export type Telling = {
  readonly by: string;
  readonly seen: readonly Told[];
  /** The session at the top was told to its end. */
  readonly isWhole: boolean;
};

export function beginWatch(process: Process, sessionId: string): Watch {
  const watch: Watch = { process, seen: [], isOver: false, error: undefined, leave: () => {} };
  goOn(watch, process, sessionId);
  return watch;
}

/** Goes on in a process behind the first `places` events; behind all of them unless given. */
export function goOn(watch: Watch, process: Process, sessionId: string, places: number = watch.seen.length): void {
  watch.leave();
  watch.seen.splice(places);
  const after = watch.seen.at(-1)?.cursor ?? 0;
  const left = new AbortController();
  watch.process = process;
  watch.isOver = false;
  watch.leave = () => left.abort();
  const follow = async () => {
    const items = process.agent.session(sessionId).events({ children: true, after, signal: left.signal });
    for await (const item of items) {
      if (left.signal.aborted) return;
      if (isTold(item)) watch.seen.push(item);
    }
  };
  follow()
    .catch((error) => {
      if (!left.signal.aborted) watch.error = error;
    })
    .finally(() => {
      if (!left.signal.aborted) watch.isOver = true;
    });
}

/** What was watched, and what the logs tell: all of it, and behind some of the places that were watched. */
export async function tellingsOf(
  { store, sessionId }: World,
  watches: readonly Watch[],
  reader: Pick<Agent, "session">,
  chance: Chance | null,
): Promise<readonly Telling[]> {
  if (chance === null || watches.length === 0 || (await store.load(sessionId)) === null) return [];
  const read = async (by: string, before: readonly Told[]): Promise<Telling> => {
    const after = before.at(-1)?.cursor ?? 0;
    const seen = [...before];
    for await (const item of reader.session(sessionId).events({ children: true, follow: false, after }))
      if (isTold(item)) seen.push(item);
    return { by, seen, isWhole: true };
  };
  const tellings = [await read("the logs", [])];
  for (const { process, seen, isOver } of watches) {
    tellings.push({ by: process.name, seen, isWhole: !isOver && process.status === "running" });
    if (seen.length === 0) continue;
    const places = 1 + chance.below(seen.length);
    tellings.push(await read(`${process.name} until ${seen[places - 1]?.cursor}, and the logs`, seen.slice(0, places)));
  }
  return tellings;
}

function isTold(item: FamilyItem): item is Told {
  return "index" in item;
}
