/**
 * The method `events` of a session: its items, or those of the sessions below it as well.
 */

import { defined } from "../../core/data/defined.js";
import type { State } from "../../core/machine/state.js";
import { formatCursor } from "../../stream/cursor.js";
import { type AgentFamily, joinFamilies } from "../agent/agent-family.js";
import { type CompiledAgent, listFamilies } from "../agent/compiled-agent.js";
import type { EventsOptions, FamilyItem, ItemsOf, SessionSource, StreamItem } from "../agent/stream-types.js";
import { parseFamilyCursor, readCursor } from "../log/family-cursor.js";
import type { LocalSession } from "../session/local-session.js";
import { createItemSource, openItems, streamItems, streamLoggedEvents } from "../session/session-items.js";
import { findAgentOfChild } from "./agent-of-child.js";
import { checkCall } from "./check-call-options.js";
import { streamFamily } from "./family-stream.js";

export type SessionEventsDeps = {
  readonly live: () => LocalSession;
  readonly itemsOf: ItemsOf;
  readonly known: () => Promise<State>;
  /** Resolves when the requests of this process that are under way are durable. */
  readonly afterRequests: () => Promise<void>;
};

/** A session, the agents that its children belong to, and how its items are read here. */
type SessionReading = { readonly seq: number; readonly items: ItemsOf; readonly family: () => AgentFamily };

export function createSessionEvents(
  id: string,
  parts: CompiledAgent,
  { live, itemsOf, known, afterRequests }: SessionEventsDeps,
): (options?: EventsOptions) => AsyncGenerator<StreamItem | FamilyItem, void, undefined> {
  const { store } = parts;

  /** A child session is driven by the agent behind the tool of its call, so that one has its live items. */
  async function readSession(state: State): Promise<SessionReading> {
    const { seq, session } = state;
    const childAgent = session?.parent === undefined ? null : await findAgentOfChild(id, parts);
    if (childAgent !== null)
      return { seq, items: childAgent.items, family: () => joinFamilies(childAgent.families(undefined)) };
    return {
      seq,
      items: (_, wanted) => streamItems(createItemSource(live()), seq, wanted),
      family: () => joinFamilies(listFamilies(parts, undefined)),
    };
  }

  async function* familyEvents(options: EventsOptions): AsyncGenerator<FamilyItem, void, undefined> {
    const { after = 0, follow = true, signal, itemsOf: given } = options;
    const from = parseFamilyCursor(after);
    const { items: own, family } = await readSession(await known());
    const through = (items: ItemsOf) => (given === undefined ? items : wrapItems(given, items, parts));
    const whole = { sessionId: id, store, family: family(), itemsOf, through, from, tellsRest: false };
    if (!follow) return yield* streamFamily({ ...whole, live: null });
    const controller = new AbortController();
    const stop = () => controller.abort();
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted === true) stop();
    const items = through(own)(id, { from: from.cursor, signal: controller.signal });
    try {
      yield* streamFamily({ ...whole, live: { items, stop } });
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  /** What waits for the next item for a long time does not hold the state that it began with. */
  async function openItemsNow(
    options: EventsOptions,
  ): Promise<AsyncGenerator<StreamItem | FamilyItem, void, undefined>> {
    checkCall.events(options);
    if (options.children === true) return familyEvents(options);
    // A place that is none is refused, whether or not the session exists.
    readCursor(options.after ?? 0);
    // A run that this process is just requesting counts as one that goes on.
    if (options.until !== undefined) await afterRequests();
    const state = await known();
    const items = options.follow === false ? itemsOf : (await readSession(state)).items;
    return await openItems(items, store, id, state, options);
  }

  return (options = {}) => lazily(() => openItemsNow(options));
}

/** Begins when the first item is asked for. */
async function* lazily<Item>(
  begin: () => Promise<AsyncGenerator<Item, void, undefined>>,
): AsyncGenerator<Item, void, undefined> {
  yield* await begin();
}

/** The items of a session as the caller's `itemsOf` gives them. */
function wrapItems(
  given: NonNullable<EventsOptions["itemsOf"]>,
  own: ItemsOf,
  { store }: Pick<CompiledAgent, "store">,
): ItemsOf {
  return (id, { from, signal = new AbortController().signal, maxBehind }) => {
    const session: SessionSource = {
      id,
      events({ after, follow = true, joinDeltas, signal: left }) {
        const wanted = { from: readCursor(after), signal: left, ...defined({ maxBehind, joinDeltas }) };
        return follow ? own(id, wanted) : streamLoggedEvents(store, id, wanted);
      },
    };
    const items = given(session, { after: formatCursor(from), signal });
    // Nobody may ask for another item then, so the generator is told that it is over.
    const endItems = () => void items.return().catch(() => {});
    signal.addEventListener("abort", endItems, { once: true });
    return items;
  };
}
