/**
 * A compaction that a person requests, outside the runs of a session.
 */

import { aSignal, aString, checkOptions, type OptionTable } from "../../check-options.js";
import { defined } from "../../core/data/defined.js";
import { getErrorMessage } from "../../core/data/error-message.js";
import { deepFreeze } from "../../core/data/freeze.js";
import type { Fault } from "../../core/data/message.js";
import type { InboxBody } from "../../core/machine/inbox.js";
import { isWaiting, type State } from "../../core/machine/state.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import { PawlError } from "../../errors.js";
import type { MakeId } from "../../ports/clock.js";
import type { EventsOptions, StreamItem } from "../agent/stream-types.js";
import { checkNoteAndBy } from "./check-answer.js";

type CompactedEvent = Extract<PublicEvent, { readonly type: "compacted" }>;

/** Options of a requested compaction. */
export type CompactOptions = {
  /** What the summary must preserve, in the person's words; at most 10,000 characters. */
  readonly keep?: string;
  /** The person who requests it. The log records it. */
  readonly by?: string;
  /** Ends the wait for the outcome. The compaction still takes place. */
  readonly signal?: AbortSignal;
};

/** The outcome of a requested compaction. */
export type CompactResult =
  /** From now on, the summary replaces the oldest messages. */
  | ({
      readonly type: "compacted";
      /** The text that replaces the oldest messages. */
      readonly summary: string;
    } & Pick<CompactedEvent, "retained" | "replaced" | "model" | "usage" | "tokensBefore" | "tokensAfter">)
  /** The conversation has not changed. */
  | { readonly type: "unchanged"; readonly fault: Fault }
  /**
   * The compaction has not run yet: the run waits for a decision, or another process drives the session. It runs before the
   * next model call.
   */
  | { readonly type: "pending" };

/** Compacts the conversation now, or before the next model call of the current run. */
export type CompactMethod = (options?: CompactOptions) => Promise<CompactResult>;

/** The members of the session that the method needs. */
type CompactDeps = {
  readonly makeId: MakeId;
  /** The state of the session; throws `no_session` if the session does not exist. */
  readonly load: () => Promise<State>;
  readonly post: (messageId: string, body: InboxBody, known: State) => Promise<unknown>;
  readonly events: (options: EventsOptions) => AsyncGenerator<StreamItem, void, undefined>;
  /** Drives the session until it rests or stops here, then calls `onEnd`. Returns a function that stops attending. */
  readonly attend: (onEnd: (error?: unknown) => void) => () => void;
};

const optionRules: OptionTable<CompactOptions> = { keep: aString, by: aString, signal: aSignal };

export function createCompact(id: string, { makeId, load, post, events, attend }: CompactDeps): CompactMethod {
  /** Finds the outcome in the log after an entry; null if there is none. */
  async function findRecorded(after: number): Promise<CompactResult | null> {
    for await (const item of events({ after, follow: false, live: false }))
      if (item.type === "compacted") return toCompactResult(item);
    return null;
  }

  async function awaitOutcome(after: number, signal: AbortSignal | undefined): Promise<CompactResult> {
    const ended = new AbortController();
    const failures: unknown[] = [];
    const stopAttending = attend((error) => {
      if (error !== undefined) failures.push(error);
      ended.abort();
    });
    const stop = () => ended.abort();
    signal?.addEventListener("abort", stop);
    try {
      for await (const item of events({ after, live: false, signal: ended.signal })) {
        if (item.type === "compacted") return toCompactResult(item);
        if (isWaiting(await load())) break;
      }
      const known = await findRecorded(after);
      if (known !== null) return known;
      signal?.throwIfAborted();
      if (failures.length > 0) throw toStoreError(id, failures[0]);
      return { type: "pending" };
    } finally {
      signal?.removeEventListener("abort", stop);
      stopAttending();
    }
  }

  return async (options = {}) => {
    checkOptions("compact()", optionRules, options, { code: "bad_input", otherNames: { directives: "keep" } });
    const { keep, by, signal } = options;
    checkNoteAndBy({ by });
    if (keep !== undefined && keep.length > maxKeep)
      throw new PawlError(
        "bad_input",
        `\`keep\` has ${keep.length} characters; it must be a string of at most ${maxKeep} characters.`,
      );
    signal?.throwIfAborted();
    const state = await load();
    if (state.status === "idle") return deepFreeze(createNothingYet(id));
    await post(`compact/${makeId()}`, { type: "compaction_request", ...defined({ keep, by }) }, state);
    const known = await findRecorded(state.seq);
    if (known !== null || isWaiting(await load())) return deepFreeze(known ?? { type: "pending" });
    return deepFreeze(await awaitOutcome(state.seq, signal));
  };
}

/** In characters. */
const maxKeep = 10_000;

/** Wraps an error of the store, which becomes the cause. */
function toStoreError(id: string, cause: unknown): unknown {
  if (cause instanceof PawlError) return cause;
  const why = getErrorMessage(cause);
  return new PawlError(
    "store_failed",
    `The store failed during the compaction of session ${id} (${why}). Repair the store, then retry or resume.`,
    { cause },
  );
}

function createNothingYet(id: string): CompactResult {
  const message = `Session ${id} has no run yet, so there is nothing to summarize.`;
  return { type: "unchanged", fault: { code: "nothing_to_compact", message, retryable: false } };
}

function toCompactResult({
  summary,
  retained,
  replaced,
  model,
  usage,
  tokensBefore,
  tokensAfter,
  fault,
}: CompactedEvent): CompactResult {
  if (summary === undefined) {
    const unknown: Fault = { code: "nothing_to_compact", message: "Nothing changed.", retryable: false };
    return { type: "unchanged", fault: fault ?? unknown };
  }
  return { type: "compacted", summary, ...defined({ retained, replaced, model, usage, tokensBefore, tokensAfter }) };
}
