/**
 * The items of one session from any cursor on: first the events of its log, then live events and deltas.
 */

import { defined } from "../../core/data/defined.js";
import { deepFreeze } from "../../core/data/freeze.js";
import type { State } from "../../core/machine/state.js";
import type { Store } from "../../ports/store.js";
import { type Cursor, cursorAfter, isAfter } from "../../stream/cursor.js";
import { type AttemptOfCall, toAttemptKey } from "../agent/attempt-key.js";
import type { EventsOptions, ItemsOf, ItemsOptions, StreamItem } from "../agent/stream-types.js";
import { readCursor } from "../log/family-cursor.js";
import { findOpenRunId } from "../log/open-runs.js";
import type { LogStore } from "../log/read-entries.js";
import { readEvents } from "../log/read-log.js";
import { createItems, endSubscription, isOfRun, type Subscription } from "../subscribers/subscription.js";
import { type LocalSession, type SubscribeOptions, subscribe } from "./local-session.js";

/** A session to whose items a consumer can subscribe, driven here or followed. */
export type ItemSource = {
  readonly sessionId: string;
  readonly store: LogStore & Pick<Store, "inbox">;
  readonly subscribe: (options: SubscribeOptions) => Subscription;
};

export function createItemSource(live: LocalSession): ItemSource {
  return { sessionId: live.sessionId, store: live.parts.store, subscribe: (options) => subscribe(live, options) };
}

/** @param seq the last entry of the session, as far as the caller knows */
export async function* streamItems(
  source: ItemSource,
  seq: number,
  options: ItemsOptions,
): AsyncGenerator<StreamItem, void, undefined> {
  const { from, signal, maxBehind, limit = Number.POSITIVE_INFINITY, live = true, until, joinDeltas } = options;
  const { sessionId, store } = source;
  // Not the cursor: one beyond the end of the log would hide events from other consumers.
  const subscription = source.subscribe({ stayAfter: seq, ...defined({ maxBehind, joinDeltas }) });
  const stop = () => endSubscription(subscription);
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted === true) stop();
  const items = createItems(subscription);
  let remaining = limit;
  try {
    const seen: SeenItems = { upTo: from, attempts: null };
    // If the run has ended before this check, the log that is read next contains its end.
    const ended = until !== undefined && (await hasEnded(store, sessionId, until));
    // The subscription brings what comes after its cursor.
    if (live !== "only" && (ended || isAfter(subscription.cursor, from)))
      for await (const event of readEvents(store, sessionId, from)) {
        seen.upTo = cursorAfter(event);
        if (event.type === "step_finished" || event.type === "attempt_failed") recordEnded(seen, event);
        if (isWanted(event, options)) {
          yield deepFreeze(event);
          remaining -= 1;
        }
        if (remaining <= 0 || isRunEnd(event, until)) return;
      }
    if (ended) return;
    for await (const item of items) {
      if (!isKnown(item, seen) && isWanted(item, options)) {
        yield item;
        if ("seq" in item) remaining -= 1;
      }
      if (remaining <= 0 || isRunEnd(item, until)) return;
    }
  } finally {
    signal?.removeEventListener("abort", stop);
    await items.return();
  }
}

function isWanted(item: StreamItem, { live = true, runId }: Pick<ItemsOptions, "live" | "runId">): boolean {
  if (live !== true && "seq" in item === (live === "only")) return false;
  return runId === undefined || isOfRun(item, runId);
}

function isRunEnd(item: StreamItem, until: string | undefined): boolean {
  return until !== undefined && item.type === "final" && item.runId === until;
}

/** The events of the log, up to its current end. */
export async function* streamLoggedEvents(
  store: LogStore,
  sessionId: string,
  options: Pick<ItemsOptions, "from" | "limit" | "runId" | "live">,
): AsyncGenerator<StreamItem, void, undefined> {
  let remaining = options.limit ?? Number.POSITIVE_INFINITY;
  if (options.live === "only") return;
  for await (const event of readEvents(store, sessionId, options.from)) {
    if (!isWanted(event, options)) continue;
    yield deepFreeze(event);
    remaining -= 1;
    if (remaining <= 0) return;
  }
}

/**
 * The events of the log for a call of `events`. A session that has events exists, so that need not be looked up.
 * @param checkExists throws `no_session` if there is no such session
 */
export async function* readLoggedEvents(
  store: LogStore,
  sessionId: string,
  { after = 0, limit, live, runId }: EventsOptions,
  checkExists: () => Promise<unknown>,
): AsyncGenerator<StreamItem, void, undefined> {
  let isEmpty = true;
  const options = { from: readCursor(after), ...defined({ limit, live, runId }) };
  for await (const event of streamLoggedEvents(store, sessionId, options)) {
    isEmpty = false;
    yield event;
  }
  if (isEmpty) await checkExists();
}

/**
 * The items for a call of `events` that follows. `until: "run"` means the given run or, without an id, the current run; if it
 * has ended, the items end with the log.
 * @param items returns the items of the session from a cursor on
 * @param state a state of the session that the caller has loaded
 */
export async function openItems(
  items: ItemsOf,
  store: ItemSource["store"],
  sessionId: string,
  state: State,
  { after = 0, until, signal, limit, live, runId, joinDeltas }: EventsOptions,
): Promise<AsyncGenerator<StreamItem, void, undefined>> {
  const wanted = { from: readCursor(after), signal, ...defined({ limit, live, runId, joinDeltas }) };
  const last = until === undefined ? undefined : await findOpenRunId(store, sessionId, state, runId);
  if (last === null) return streamLoggedEvents(store, sessionId, wanted);
  return items(sessionId, last === undefined ? wanted : { ...wanted, until: last });
}

async function hasEnded(store: ItemSource["store"], sessionId: string, runId: string): Promise<boolean> {
  const loaded = await store.load(sessionId);
  return loaded !== null && (await findOpenRunId(store, sessionId, loaded.state, runId)) === null;
}

/** Creates the reader of any session's items. The session need not have begun. */
export function createItemsOf(store: Pick<Store, "load">, live: (sessionId: string) => LocalSession): ItemsOf {
  return async function* items(sessionId, options) {
    const { seq = 0 } = (await store.load(sessionId)) ?? {};
    yield* streamItems(createItemSource(live(sessionId)), seq, options);
  };
}

/** What the consumer has received from the log: the last event, and the attempts whose messages are complete. */
type SeenItems = { upTo: Cursor; attempts: Set<string> | null };

function recordEnded(seen: SeenItems, attempt: AttemptOfCall): void {
  seen.attempts = (seen.attempts ?? new Set()).add(toAttemptKey(attempt));
}

function isKnown(item: StreamItem, { upTo, attempts }: SeenItems): boolean {
  if (item.type === "delta") return attempts?.has(toAttemptKey(item.delta)) === true;
  if (item.type === "snapshot" || item.type === "partial_output") return attempts?.has(toAttemptKey(item)) === true;
  return "seq" in item && !isAfter(item, upTo);
}
