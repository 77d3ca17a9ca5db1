/**
 * Those who watch a session together with the sessions below it. They leave in the middle, and go on behind a place that
 * they had come to, in the same process or another one.
 */
import type { PublicEvent } from "../../../src/core/view/public-event.js";
import type { FamilyItem } from "../../../src/runtime/agent/stream-types.js";
import type { Agent } from "../../../src/runtime/api/build-agent.js";
import type { SeededRandom } from "../../../src/testing/world/seeded-random.js";
import type { Process, World } from "../../../src/testing/world/world.js";

/** An event of the session or of one below it. */
export type LoggedItem = FamilyItem & PublicEvent & { readonly cursor: string };

export type Watch = {
  process: Process;
  /** What was told, up to the place behind which the watch went on last. */
  readonly seen: LoggedItem[];
  isOver: boolean;
  error: unknown;
  disconnect: () => void;
};

/** What one stream after the other told of a family, put together. */
export type Telling = {
  readonly by: string;
  readonly seen: readonly LoggedItem[];
  /** The session at the top was told to its end. */
  readonly isWhole: boolean;
};

export function startWatch(process: Process, sessionId: string): Watch {
  const watch: Watch = { process, seen: [], isOver: false, error: undefined, disconnect: () => {} };
  continueWatch(watch, process, sessionId);
  return watch;
}

/** Goes on in a process after the first `keptCount` events; after all of them unless given. */
export function continueWatch(
  watch: Watch,
  process: Process,
  sessionId: string,
  keptCount: number = watch.seen.length,
): void {
  watch.disconnect();
  watch.seen.splice(keptCount);
  const after = watch.seen.at(-1)?.cursor ?? 0;
  const connection = new AbortController();
  watch.process = process;
  watch.isOver = false;
  watch.disconnect = () => connection.abort();
  const follow = async () => {
    const items = process.agent.session(sessionId).events({ children: true, after, signal: connection.signal });
    for await (const item of items) {
      if (connection.signal.aborted) return;
      if (isLogged(item)) watch.seen.push(item);
    }
  };
  follow()
    .catch((error) => {
      if (!connection.signal.aborted) watch.error = error;
    })
    .finally(() => {
      if (!connection.signal.aborted) watch.isOver = true;
    });
}

/** What was watched, and what the logs tell: all of it, and behind some of the places that were watched. */
export async function collectTellings(
  { store, sessionId }: World,
  watches: readonly Watch[],
  reader: Pick<Agent, "session">,
  chance: SeededRandom | null,
): Promise<readonly Telling[]> {
  if (chance === null || watches.length === 0 || (await store.load(sessionId)) === null) return [];
  const readFromLogs = async (by: string, seenBefore: readonly LoggedItem[]): Promise<Telling> => {
    const after = seenBefore.at(-1)?.cursor ?? 0;
    const seen = [...seenBefore];
    for await (const item of reader.session(sessionId).events({ children: true, follow: false, after }))
      if (isLogged(item)) seen.push(item);
    return { by, seen, isWhole: true };
  };
  const tellings = [await readFromLogs("the logs", [])];
  for (const { process, seen, isOver } of watches) {
    tellings.push({ by: process.name, seen, isWhole: !isOver && process.status === "running" });
    if (seen.length === 0) continue;
    const keptCount = 1 + chance.below(seen.length);
    tellings.push(
      await readFromLogs(
        `${process.name} until ${seen[keptCount - 1]?.cursor}, and the logs`,
        seen.slice(0, keptCount),
      ),
    );
  }
  return tellings;
}

function isLogged(item: FamilyItem): item is LoggedItem {
  return "index" in item;
}
