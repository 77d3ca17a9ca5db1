/**
 * The items of one session from any cursor on: first the events of its log, then live events and deltas.
 */

import { defined } from "../../core/data/defined.js";
import { deepFreeze } from "../../core/data/freeze.js";
import type { SessionBinding, State } from "../../core/machine/state.js";
import type { Store } from "../../ports/store.js";
import { createLazyItems } from "../../stream/lazy-items.js";
import { isOfRun } from "../../stream/tail/item-owner.js";
import { createItems, endOnAbort, type ItemIterator, type Tail } from "../../stream/tail/tail.js";
import type { EventsOptions, ItemsOf, ItemsOptions, StreamItem } from "../agent/stream-types.js";
import { readCursor } from "../log/family-cursor.js";
import { findOpenRunId } from "../log/open-runs.js";
import type { LogStore } from "../log/read-entries.js";
import { readEvents } from "../log/read-log.js";
import type { LocalSession } from "./local-session.js";
import { type SubscribeOptions, subscribe } from "./subscribe.js";

/** A session to whose items a consumer can subscribe, driven here or followed. */
export type ItemSource = {
  readonly sessionId: string;
  readonly store: LogStore & Pick<Store, "inbox">;
  readonly subscribe: (options: SubscribeOptions) => Tail;
};

export function createItemSource(live: LocalSession): ItemSource {
  return { sessionId: live.sessionId, store: live.agent.store, subscribe: (options) => subscribe(live, options) };
}

/** @param seq the last entry of the session, as far as the caller knows */
function openTail(source: ItemSource, seq: number, options: ItemsOptions): ItemIterator {
  const { from, signal, ...wanted } = options;
  const { until } = wanted;
  const isOver = until === undefined ? undefined : () => hasEnded(source.store, source.sessionId, until);
  // Live items begin at the end of the log, not at the cursor: one beyond it would hide events from other consumers.
  const tail = source.subscribe({ ...wanted, after: from, hasEnded: isOver, stayAfter: seq });
  if (signal !== undefined) endOnAbort(tail, signal);
  return createItems(tail);
}

/** @param seq the last entry of the session, as far as the caller knows */
export function streamItems(
  source: () => ItemSource,
  seq: number,
  options: ItemsOptions,
): AsyncGenerator<StreamItem, void, undefined> {
  return createLazyItems(async () => openTail(source(), seq, options));
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
    if (options.runId !== undefined && !isOfRun(event, options.runId)) continue;
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

/** A session's last entry, its binding, and a function that loads its state. They come from the caller's own read, or from the store. */
export type ReadSession = {
  readonly seq: number;
  readonly binding: Pick<SessionBinding, "parent"> | null;
  readonly state: () => Promise<State>;
};

/** @param known returns the state of the session */
export async function readSession({ seen }: EventsOptions, known: () => Promise<State>): Promise<ReadSession> {
  // Zero is never ahead of the log. A higher number would hide events if the session was deleted and began again since.
  if (seen?.seq === 0 && seen.info !== null) return { seq: seen.seq, binding: seen.info, state: known };
  const state = await known();
  return { seq: state.seq, binding: state.session, state: async () => state };
}

/**
 * The items for a call of `events` that follows. `until: "run"` means the given run or, without an id, the current run; if it
 * has ended, the items end with the log.
 * @param items returns the items of the session from a cursor on
 * @param known returns a state of the session
 */
export async function openItems(
  items: ItemsOf,
  store: ItemSource["store"],
  sessionId: string,
  known: () => Promise<State>,
  { after = 0, until, signal, limit, live, runId, joinDeltas }: EventsOptions,
): Promise<AsyncGenerator<StreamItem, void, undefined>> {
  const wanted = { from: readCursor(after), signal, ...defined({ limit, live, runId, joinDeltas }) };
  const last = until === undefined ? undefined : await findOpenRunId(store, sessionId, await known(), runId);
  if (last === null) return streamLoggedEvents(store, sessionId, wanted);
  return items(sessionId, last === undefined ? wanted : { ...wanted, until: last });
}

async function hasEnded(store: ItemSource["store"], sessionId: string, runId: string): Promise<boolean> {
  const loaded = await store.load(sessionId);
  return loaded !== null && (await findOpenRunId(store, sessionId, loaded.state, runId)) === null;
}

/** Creates the reader of any session's items. The session need not have begun. */
export function createItemsOf(store: Pick<Store, "load">, live: (sessionId: string) => LocalSession): ItemsOf {
  return (sessionId, options) =>
    createLazyItems(async () => {
      const { seq = 0 } = (await store.load(sessionId)) ?? {};
      return openTail(createItemSource(live(sessionId)), seq, options);
    });
}
