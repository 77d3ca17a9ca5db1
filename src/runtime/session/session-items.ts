/**
 * The items of one session from any place on: the events of its log first, then live events and deltas.
 */
import { freeze } from "../../core/data/freeze.js";
import type { Store } from "../../ports/store.js";
import type { ItemsOf, ItemsOptions, StreamItem } from "../agent/stream-types.js";
import { behindEvent, type Cursor, isBehind } from "../log/cursor.js";
import { readEvents } from "../log/read-log.js";
import { endSubscription, itemsOf } from "../subscribers/subscription.js";
import { type LocalSession, subscribe } from "./local-session.js";

/** @param seq the last entry of the session, as far as the caller knows */
export async function* sessionItems(
  live: LocalSession,
  seq: number,
  { from, signal, mostBehind }: ItemsOptions,
): AsyncGenerator<StreamItem, void, undefined> {
  const behind = mostBehind === undefined ? {} : { mostBehind };
  const subscription = subscribe(live, { stayAfter: Math.max(seq, from.seq), ...behind });
  const leave = () => endSubscription(subscription);
  signal?.addEventListener("abort", leave, { once: true });
  if (signal?.aborted === true) leave();
  const items = itemsOf(subscription);
  try {
    const known: Known = { upTo: from, attempts: new Set() };
    for await (const event of readEvents(live.parts.store, live.sessionId, from)) {
      known.upTo = behindEvent(event);
      if (event.type === "step_finished" || event.type === "attempt_failed") known.attempts.add(attemptOf(event));
      yield freeze(event);
    }
    for await (const item of items) if (!isKnown(item, known)) yield item;
  } finally {
    signal?.removeEventListener("abort", leave);
    await items.return();
  }
}

/** The same for any session, which need not have begun. */
export function itemsFrom(store: Pick<Store, "load">, live: (sessionId: string) => LocalSession): ItemsOf {
  return async function* items(sessionId, options) {
    const { seq = 0 } = (await store.load(sessionId)) ?? {};
    yield* sessionItems(live(sessionId), seq, options);
  };
}

/** What the consumer got from the log: the last event, and the attempts whose messages are complete. */
type Known = { upTo: Cursor; readonly attempts: Set<string> };

function isKnown(item: StreamItem, { upTo, attempts }: Known): boolean {
  if (item.type === "delta") return attempts.has(attemptOf(item.delta));
  if (item.type === "snapshot" || item.type === "partial_output") return attempts.has(attemptOf(item));
  return "seq" in item && !isBehind(item, upTo);
}

type Attempt = { readonly runId: string; readonly modelCallIndex: number; readonly attempt: number };

function attemptOf({ runId, modelCallIndex, attempt }: Attempt): string {
  return `${runId}/${modelCallIndex}/${attempt}`;
}
