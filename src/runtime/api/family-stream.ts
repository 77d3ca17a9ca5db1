/**
 * A session and the sessions below it as one stream (STRM-11).
 *
 * 1. A child's items come after the `child_started` of its call, and all of its log before the `tool_result` of the call.
 *    Siblings interleave.
 * 2. The items of each session come in the order of its log, each event once. A cursor has a place for each open session.
 * 3. A child's part ends with the run that its call started. What is said to the child session later is no part of it.
 * 4. At most one item of each session waits here; others wait in the subscription of the session, which is bounded.
 */

import { freeze } from "../../core/data/freeze.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import { PawlError } from "../../errors.js";
import { beginning, type Cursor, cursorAfter } from "../../stream/cursor.js";
import { type AgentFamily, childAgentOf, joinedFamily } from "../agent/agent-family.js";
import { type CompiledAgent, familiesOf } from "../agent/compiled-agent.js";
import type { FamilyItem, ItemsOf, OfFamily, StreamItem } from "../agent/stream-types.js";
import { childIdOf } from "../effects/children.js";
import { type ChildPlace, type FamilyCursor, familyCursorText, mostOpenSessions } from "../log/family-cursor.js";
import { openChildCalls } from "../log/open-children.js";
import type { LogStore } from "../log/read-entries.js";
import { readEvents } from "../log/read-log.js";
import { endSubscription, itemsOf as itemsOfSubscription, type Subscription } from "../subscribers/subscription.js";
import { createArrivals, type Source } from "./arrivals.js";

export type FamilyStreamOptions = {
  readonly sessionId: string;
  readonly store: LogStore;
  readonly family: AgentFamily;
  /** The items of the session itself, from the cursor on. Null: only what the logs hold is told. */
  readonly live: { readonly items: Source; readonly stop: () => void } | null;
  /** Opens sessions that no known agent of the family owns: they are followed by their logs. */
  readonly itemsOf: ItemsOf;
  /** What the items of each session go through on their way. Default: nothing. */
  readonly through?: (items: ItemsOf) => ItemsOf;
  readonly from: FamilyCursor;
  /** Whether the children that are open when the session's items end are told to the present end of their logs. */
  readonly tellsRest: boolean;
  /** Default: 4,096. */
  readonly mostOpen?: number;
};

/** A session in the stream. */
type Member = {
  readonly of: OfFamily;
  readonly family: AgentFamily;
  readonly itemsOf: ItemsOf;
  readonly above: Member | null;
  /** The run whose end is the end of this session's part; undefined for the session of the stream. */
  readonly runId: string | undefined;
  place: Cursor;
  part: "telling" | "told" | "omitted";
  /** The children whose calls are open, by the position of the call. */
  readonly children: Map<string, Member>;
  /** Whether live items are told. Otherwise, the log is read when the call ends. */
  isLive: boolean;
  source: Source | null;
  /** The item that the source was asked for and that nobody has taken yet. */
  asked: Promise<IteratorResult<StreamItem, unknown>> | null;
  stop: () => void;
};

export async function* familyStream(options: FamilyStreamOptions): AsyncGenerator<FamilyItem, void, undefined> {
  const { sessionId, store, live, from, tellsRest, through, mostOpen = mostOpenSessions } = options;
  const root: Member = {
    of: { sessionId, depth: 0 },
    family: options.family,
    itemsOf: options.itemsOf,
    above: null,
    runId: undefined,
    place: from.place,
    part: "telling",
    children: new Map(),
    isLive: live !== null,
    source: live?.items ?? null,
    asked: null,
    stop: () => live?.stop(),
  };
  /** Places of the cursor whose sessions have not come yet. */
  const left = new Map(from.children);
  const arrivals = createArrivals<Member>();
  let open = 1;

  function told(member: Member, item: StreamItem): FamilyItem {
    const labelled = { ...item, ...member.of };
    return Object.freeze("index" in item ? { ...labelled, cursor: familyCursorText(root) } : labelled) as FamilyItem;
  }

  function omitted(member: Member, why: "too_many" | "unreadable"): FamilyItem {
    end(member, "omitted");
    return freeze({ type: "children_omitted", why, ...member.of, cursor: familyCursorText(root) });
  }

  function end(member: Member, part: "told" | "omitted"): void {
    leave(member);
    member.part = part;
    if (part === "omitted") open -= 1;
    for (const child of member.children.values()) close(child);
    member.children.clear();
  }

  function close(member: Member): void {
    leave(member);
    if (member.part !== "omitted") open -= 1;
    for (const child of member.children.values()) close(child);
  }

  function add(parent: Member, call: ChildCall, place: ChildPlace): Member {
    const { callKey, name, childId } = call;
    const agent = childAgentOf(name, parent.family);
    const member: Member = {
      of: { sessionId: childId, parent: { sessionId: parent.of.sessionId, callKey }, depth: parent.of.depth + 1 },
      family: joinedFamily(agent?.families(undefined) ?? []),
      itemsOf: agent?.items ?? parent.itemsOf,
      above: parent,
      runId: childIdOf(childId, callKey),
      place: place === "end" ? beginning : place,
      part: place === "end" ? "told" : "telling",
      children: new Map(),
      isLive: parent.isLive,
      source: null,
      asked: null,
      stop: () => {},
    };
    parent.children.set(positionOf(callKey), member);
    open += 1;
    return member;
  }

  /** Begins to tell of a member, and of the children that are open at its place. */
  async function* begin(member: Member): AsyncGenerator<FamilyItem, void, undefined> {
    if (member.part !== "telling") return;
    if (open > mostOpen) return yield omitted(member, "too_many");
    if (isBelowItself(member)) return yield omitted(member, "unreadable");
    try {
      for (const call of await openChildCalls(store, member.of.sessionId, member.place))
        yield* begin(add(member, call, left.get(pathOf(member, call.callKey)) ?? beginning));
    } catch (error) {
      if (member === root || !isUnreadable(error)) throw error;
      return yield omitted(member, "unreadable");
    }
    if (member !== root && member.isLive) follow(member);
  }

  function follow(member: Member): void {
    const controller = new AbortController();
    member.stop = () => controller.abort();
    const mostBehind = Math.max(16, Math.floor(mostWaiting / open));
    const wanted = { from: member.place, signal: controller.signal, mostBehind };
    const items = through === undefined ? member.itemsOf : through(member.itemsOf);
    member.source = items(member.of.sessionId, wanted);
    ask(member);
  }

  function ask(member: Member): void {
    if (member.source === null) return;
    member.asked = member.source.next();
    arrivals.expect(member, member.asked);
  }

  async function* take(member: Member, item: StreamItem): AsyncGenerator<FamilyItem, void, undefined> {
    if (!("index" in item)) return yield told(member, item);
    if (item.type === "tool_result") yield* closeCall(member, item);
    member.place = cursorAfter(item);
    if (item.type === "final" && item.runId === member.runId) end(member, "told");
    // Places that are left belong to calls of the step before.
    if (item.type === "step_finished" && left.size > 0) forget(member);
    const child = item.type === "child_started" ? add(member, item, beginning) : undefined;
    yield told(member, item);
    if (child !== undefined) yield* begin(child);
  }

  /** Tells the rest of a child before the result of its call. */
  async function* closeCall(
    member: Member,
    { callKey, name }: Extract<PublicEvent, { readonly type: "tool_result" }>,
  ): AsyncGenerator<FamilyItem, void, undefined> {
    const position = positionOf(callKey);
    let child = member.children.get(position);
    if (child === undefined && childAgentOf(name, member.family) !== undefined) {
      // The child's result may have come before its parent had committed that it waits for it.
      const childId = childIdOf(member.of.sessionId, callKey);
      if ((await store.load(childId)) !== null)
        child = add(member, { callKey, name, childId }, left.get(pathOf(member, callKey)) ?? beginning);
    }
    if (child === undefined) return;
    yield* rest(child);
    close(child);
    member.children.delete(position);
  }

  /** Tells what the log of a member holds by now, and the logs of those below it. */
  async function* rest(member: Member): AsyncGenerator<FamilyItem, void, undefined> {
    if (member !== root) leave(member);
    try {
      yield* arrived(member);
      if (hasEnded(member)) return;
      for await (const event of readEvents(store, member.of.sessionId, member.place)) {
        yield* take(member, freeze(event));
        if (hasEnded(member)) return;
      }
    } catch (error) {
      if (member === root || !isUnreadable(error)) throw error;
      return yield omitted(member, "unreadable");
    }
    for (const child of [...member.children.values()]) yield* rest(child);
  }

  /** Tells the live items that have arrived by now: the log has no deltas. */
  async function* arrived(member: Member): AsyncGenerator<FamilyItem, void, undefined> {
    const { source, asked } = member;
    member.source = null;
    member.asked = null;
    if (source === null || asked === null || member === root) return;
    try {
      for (let result = await asked; result.done !== true && !hasEnded(member); result = await source.next())
        yield* take(member, result.value);
    } catch (error) {
      if (!isShutDown(error)) throw error;
    }
  }

  function forget(member: Member): void {
    const path = memberPath(member);
    for (const one of left.keys()) if (one.startsWith(path)) left.delete(one);
  }

  /** The next item that arrives, from the session or from a child. False if the session's items have ended. */
  async function* takeNext(): AsyncGenerator<FamilyItem, boolean, undefined> {
    const { whose, result } = await arrivals.next();
    if (!whose.isLive) return true;
    whose.asked = null;
    if ("error" in result) {
      if (whose === root || !(isUnreadable(result.error) || isShutDown(result.error))) throw result.error;
      if (isUnreadable(result.error)) yield omitted(whose, "unreadable");
      else leave(whose);
    } else if (result.done === true) {
      if (whose === root) return false;
      leave(whose);
    } else {
      yield* take(whose, result.value);
      if (whose.isLive) ask(whose);
    }
    return true;
  }

  try {
    yield* begin(root);
    if (live === null) return yield* rest(root);
    ask(root);
    while (yield* takeNext());
    if (tellsRest) for (const child of [...root.children.values()]) yield* rest(child);
  } catch (error) {
    // The result of the run says that the store failed.
    if (!tellsRest || !(error instanceof PawlError) || error.code !== "store_failed") throw error;
  } finally {
    close(root);
  }
}

/** The items of a run and of its children, from the place at which the subscription begins. */
export function runItems(
  sessionId: string,
  subscription: Subscription,
  { parts, itemsOf }: { readonly parts: CompiledAgent; readonly itemsOf: ItemsOf },
): AsyncGenerator<FamilyItem, void, undefined> {
  const from = { place: subscription.seen, children: new Map() };
  const live = { items: itemsOfSubscription(subscription), stop: () => endSubscription(subscription) };
  const family = joinedFamily(familiesOf(parts, undefined));
  return familyStream({ sessionId, store: parts.store, family, itemsOf, from, tellsRest: true, live });
}

type ChildCall = { readonly callKey: string; readonly name: string; readonly childId: string };

function leave(member: Member): void {
  member.isLive = false;
  member.stop();
}

/** A function, because `part` changes while items are told. */
function hasEnded({ part }: Member): boolean {
  return part !== "telling";
}

/** Items that may wait in all subscriptions together, roughly. */
const mostWaiting = 65_536;

const unreadable: ReadonlySet<string> = new Set(["store_corrupt", "newer_format", "older_format"]);

function isUnreadable(error: unknown): boolean {
  return error instanceof PawlError && unreadable.has(error.code);
}

function isShutDown(error: unknown): boolean {
  return error instanceof PawlError && error.code === "shut_down";
}

/** A damaged log may name a session as its own child. */
function isBelowItself({ of, above }: Member): boolean {
  for (let one = above; one !== null; one = one.above) if (one.of.sessionId === of.sessionId) return true;
  return false;
}

function positionOf(callKey: string): string {
  return callKey.slice(callKey.lastIndexOf("/") + 1);
}

function pathOf(parent: Member, callKey: string): string {
  return `${memberPath(parent)}${positionOf(callKey)}`;
}

/** The path of a member's children, without their positions: "" for the session of the stream. */
function memberPath({ of, above }: Member): string {
  return above === null || of.parent === undefined ? "" : `${pathOf(above, of.parent.callKey)}-`;
}
