/**
 * Implements `session.events()`: the session's items, optionally with those of its child sessions.
 */

import { defined } from "../../core/data/defined.js";
import type { State } from "../../core/machine/state.js";
import { formatCursor } from "../../stream/cursor.js";
import { createLazyItems } from "../../stream/lazy-items.js";
import { type AgentFamily, joinFamilies } from "../agent/agent-family.js";
import { type CompiledAgent, listFamilies } from "../agent/compiled-agent.js";
import type { EventsOptions, FamilyItem, ItemsOf, SessionSource, StreamItem } from "../agent/stream-types.js";
import { parseFamilyCursor, readCursor } from "../log/family-cursor.js";
import type { LocalSession } from "../session/local-session.js";
import {
  createItemSource,
  openItems,
  type ReadSession,
  readLoggedEvents,
  readSession,
  streamItems,
  streamLoggedEvents,
} from "../session/session-items.js";
import { findAgentOfChild } from "./agent-of-child.js";
import { checkCall } from "./check-call-options.js";
import { streamFamily } from "./family-stream.js";

export type SessionEventsDeps = {
  readonly live: () => LocalSession;
  readonly itemsOf: ItemsOf;
  readonly known: () => Promise<State>;
  /** Resolves when the requests that this process is sending are durable. */
  readonly afterRequests: () => Promise<void>;
};

/** How to read a session here: its items, and the agents of its children. */
type SessionReading = { readonly items: ItemsOf; readonly family: () => AgentFamily };

export function createSessionEvents(
  id: string,
  agent: CompiledAgent,
  { live, itemsOf, known, afterRequests }: SessionEventsDeps,
): (options?: EventsOptions) => AsyncGenerator<StreamItem | FamilyItem, void, undefined> {
  const { store } = agent;

  /** A child session is driven by the agent that the parent's call uses as a tool, so that agent has its live items. */
  async function findReading({ seq, binding }: ReadSession): Promise<SessionReading> {
    const childAgent = binding?.parent === undefined ? null : await findAgentOfChild(id, agent);
    if (childAgent !== null)
      return { items: childAgent.items, family: () => joinFamilies(childAgent.families(undefined)) };
    return {
      items: (_, wanted) => streamItems(() => createItemSource(live()), seq, wanted),
      family: () => joinFamilies(listFamilies(agent, undefined)),
    };
  }

  async function* familyEvents(options: EventsOptions): AsyncGenerator<FamilyItem, void, undefined> {
    const { after = 0, follow = true, signal, itemsOf: callerItemsOf } = options;
    const from = parseFamilyCursor(after);
    const { items: ownItemsOf, family } = await findReading(await readSession(options, known));
    const through = (items: ItemsOf) => (callerItemsOf === undefined ? items : wrapItems(callerItemsOf, items, agent));
    const whole = { sessionId: id, store, family: family(), itemsOf, through, from, tellsRest: false };
    if (!follow) return yield* streamFamily({ ...whole, live: null });
    const controller = new AbortController();
    const stop = () => controller.abort();
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted === true) stop();
    const items = through(ownItemsOf)(id, { from: from.cursor, signal: controller.signal });
    try {
      yield* streamFamily({ ...whole, live: { items, stop } });
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  /** A separate function, so that a consumer that waits for a long time does not keep the initial state in memory. */
  async function openItemsNow(
    options: EventsOptions,
  ): Promise<AsyncGenerator<StreamItem | FamilyItem, void, undefined>> {
    checkCall.events(options);
    if (options.children === true) return familyEvents(options);
    // An invalid cursor is rejected, whether or not the session exists.
    readCursor(options.after ?? 0);
    // A run that this process is requesting counts as in progress.
    if (options.until !== undefined) await afterRequests();
    if (options.follow === false) return readLoggedEvents(store, id, options, known);
    const session = await readSession(options, known);
    return await openItems((await findReading(session)).items, store, id, session.state, options);
  }

  return (options = {}) => createLazyItems(() => openItemsNow(options));
}

/** Wraps the items of a session with the caller's `itemsOf`. */
function wrapItems(
  callerItemsOf: NonNullable<EventsOptions["itemsOf"]>,
  ownItemsOf: ItemsOf,
  { store }: Pick<CompiledAgent, "store">,
): ItemsOf {
  return (id, { from, signal = new AbortController().signal, maxBehind }) => {
    const session: SessionSource = {
      id,
      events({ after, follow = true, joinDeltas, signal: eventsSignal }) {
        const itemsOptions = { from: readCursor(after), signal: eventsSignal, ...defined({ maxBehind, joinDeltas }) };
        return follow ? ownItemsOf(id, itemsOptions) : streamLoggedEvents(store, id, itemsOptions);
      },
    };
    const items = callerItemsOf(session, { after: formatCursor(from), signal });
    // After an abort, the consumer may never call `next` again, so the generator is ended explicitly.
    const endItems = () => void items.return().catch(() => {});
    signal.addEventListener("abort", endItems, { once: true });
    return items;
  };
}
