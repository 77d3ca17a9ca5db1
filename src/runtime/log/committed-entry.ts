/**
 * A committed entry of the log, with its public events and states.
 */
import type { CacheBreak } from "../../core/data/cache-break.js";
import type { ModelSettings } from "../../core/data/model-settings.js";
import type { Entry } from "../../core/machine/event.js";
import type { State } from "../../core/machine/state.js";
import type { SentFrom } from "../../core/transcript/run-record.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import type { PublicEvent } from "../../core/view/public-event.js";

/** `before` and `after` are the states around the entry. `shown` counts the transcript's messages after the entry. */
export type CommittedEntry = {
  readonly entry: Entry;
  /** `unheard` if this process had no subscriber or listener when the entry was drafted, and the entry cannot end a run. */
  readonly events: readonly PublicEvent[];
  readonly before: State;
  readonly after: State;
  readonly shown: number;
  /** The content of a `prepared` entry's model call; null for other entries, and if there is no tracing. */
  readonly sent: SentCall | null;
  /** Who sent the request of the current or last run, and from where; null before the first run. */
  readonly asked: SentFrom | null;
};

/** Marks public events that were not created. */
export const unheard: readonly PublicEvent[] = Object.freeze([]);

export type SentCall = {
  readonly messages: number;
  /** How many leading messages the request shares with the previous call, and whether the tool choice is the same. */
  readonly reused: number;
  readonly sameChoice: boolean;
  /** The blobs of the system prompt and of the specifications. */
  readonly promptHash: string | null | undefined;
  readonly toolsHash: string | null | undefined;
  /** The settings of the call; null if there are none. */
  readonly settings: ModelSettings | null;
  /** How long the provider is asked to cache the request; null: its default. */
  readonly promptCache: "1h" | "off" | null;
  /** Why the request cannot reuse the provider's cache of the previous call, and how much it could reuse. */
  readonly broke: CacheBreak | null;
  readonly expected: number | null;
};

export function toSentCall(
  { event }: Entry,
  { lastSent, promptHash, toolsHash, settings, promptCache, cache }: Transcript,
): SentCall | null {
  if (event.type !== "prepared") return null;
  return {
    messages: lastSent.count,
    reused: lastSent.reused,
    sameChoice: lastSent.sameChoice,
    promptHash,
    toolsHash,
    settings,
    promptCache,
    broke: cache.broke,
    expected: cache.expected,
  };
}
