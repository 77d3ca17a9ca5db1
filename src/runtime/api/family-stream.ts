/**
 * Streams a session and its child sessions as one stream (STRM-11).
 *
 * 1. A child's items come after the `child_started` of its call, and all of its log before the `tool_result` of the call. Siblings
 *    interleave.
 * 2. The items of each session come in the order of its log, each event once. A cursor has a position for each open session.
 * 3. A child's part ends with the run that its call started. Later requests to the child session are not part of it.
 * 4. Sessions in the background are not part of the stream, because they may outlive the session.
 * 5. At most one item of each session is buffered here; others are buffered in the session's subscription, which is bounded.
 */

import { parseCallKey } from "../../core/data/call-key.js";
import { deepFreeze } from "../../core/data/freeze.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import { PawlError } from "../../errors.js";
import { type Cursor, cursorAfter, startCursor } from "../../stream/cursor.js";
import { createItems, endTail, type Tail } from "../../stream/tail/tail.js";
import { type AgentFamily, findChildAgent, joinFamilies } from "../agent/agent-family.js";
import { type CompiledAgent, listFamilies } from "../agent/compiled-agent.js";
import type { FamilyItem, ItemsOf, OfFamily, StreamItem } from "../agent/stream-types.js";
import { deriveChildId } from "../effects/children.js";
import { type ChildCursor, type FamilyCursor, formatFamilyCursor, maxOpenSessions } from "../log/family-cursor.js";
import { findOpenChildCalls } from "../log/open-children.js";
import type { LogStore } from "../log/read-entries.js";
import { readEvents } from "../log/read-log.js";
import { createArrivals, type ItemIterator } from "./arrivals.js";

export type FamilyStreamOptions = {
  readonly sessionId: string;
  readonly store: LogStore;
  readonly family: AgentFamily;
  /** The items of the session itself, from the cursor on. Null: only logged events are streamed. */
  readonly live: { readonly items: ItemIterator; readonly stop: () => void } | null;
  /** Reads sessions that no known agent of the family owns, by following their logs. */
  readonly itemsOf: ItemsOf;
  /** Wraps the items of each session. Default: no wrapper. */
  readonly through?: (items: ItemsOf) => ItemsOf;
  readonly from: FamilyCursor;
  /** Whether children that are open when the session's items end are streamed up to the current end of their logs. */
  readonly tellsRest: boolean;
  /** Default: 4,096. */
  readonly maxOpen?: number;
};

/** A session in the stream. */
type Member = {
  readonly identity: OfFamily;
  readonly family: AgentFamily;
  readonly itemsOf: ItemsOf;
  readonly above: Member | null;
  /** The run that ends this session's part; undefined for the session of the stream. */
  readonly runId: string | undefined;
  cursor: Cursor;
  part: "streaming" | "done" | "omitted";
  /** The children whose calls are open, by the position of the call. */
  readonly children: Map<string, Member>;
  /** Whether live items are streamed. Otherwise, the log is read when the call ends. */
  isLive: boolean;
  source: ItemIterator | null;
  /** The item that was requested from the source and has not been consumed yet. */
  asked: Promise<IteratorResult<StreamItem, unknown>> | null;
  stop: () => void;
};

export async function* streamFamily(options: FamilyStreamOptions): AsyncGenerator<FamilyItem, void, undefined> {
  const { sessionId, store, live, from, tellsRest, through, maxOpen = maxOpenSessions } = options;
  const root: Member = {
    identity: { sessionId, depth: 0 },
    family: options.family,
    itemsOf: options.itemsOf,
    above: null,
    runId: undefined,
    cursor: from.cursor,
    part: "streaming",
    children: new Map(),
    isLive: live !== null,
    source: live?.items ?? null,
    asked: null,
    stop: () => live?.stop(),
  };
  /** Cursors of sessions that have not appeared yet. */
  const pendingCursors = new Map(from.children);
  const arrivals = createArrivals<Member>();
  let openCount = 1;

  function toFamilyItem(member: Member, item: StreamItem): FamilyItem {
    const labelled = { ...item, ...member.identity };
    return Object.freeze("index" in item ? { ...labelled, cursor: formatFamilyCursor(root) } : labelled) as FamilyItem;
  }

  function omitMember(member: Member, why: "too_many" | "unreadable"): FamilyItem {
    endMember(member, "omitted");
    return deepFreeze({ type: "children_omitted", why, ...member.identity, cursor: formatFamilyCursor(root) });
  }

  function endMember(member: Member, part: "done" | "omitted"): void {
    stopMember(member);
    member.part = part;
    if (part === "omitted") openCount -= 1;
    for (const child of member.children.values()) closeMember(child);
    member.children.clear();
  }

  function closeMember(member: Member): void {
    stopMember(member);
    if (member.part !== "omitted") openCount -= 1;
    for (const child of member.children.values()) closeMember(child);
  }

  function addMember(parent: Member, call: ChildCall, cursor: ChildCursor): Member {
    const { callKey, name, childId } = call;
    const agent = findChildAgent(name, parent.family);
    const member: Member = {
      identity: {
        sessionId: childId,
        parent: { sessionId: parent.identity.sessionId, callKey },
        depth: parent.identity.depth + 1,
      },
      family: joinFamilies(agent?.families(undefined) ?? []),
      itemsOf: agent?.items ?? parent.itemsOf,
      above: parent,
      runId: deriveChildId(childId, callKey),
      cursor: cursor === "end" ? startCursor : cursor,
      part: cursor === "end" ? "done" : "streaming",
      children: new Map(),
      isLive: parent.isLive,
      source: null,
      asked: null,
      stop: () => {},
    };
    parent.children.set(callPosition(callKey), member);
    openCount += 1;
    return member;
  }

  /** Begins to stream a member, and the children that are open at its cursor. */
  async function* beginMember(member: Member): AsyncGenerator<FamilyItem, void, undefined> {
    if (member.part !== "streaming") return;
    if (openCount > maxOpen) return yield omitMember(member, "too_many");
    if (isOwnAncestor(member)) return yield omitMember(member, "unreadable");
    try {
      for (const call of await findOpenChildCalls(store, member.identity.sessionId, member.cursor))
        yield* beginMember(addMember(member, call, pendingCursors.get(callPath(member, call.callKey)) ?? startCursor));
    } catch (error) {
      if (member === root || !isUnreadable(error)) throw error;
      return yield omitMember(member, "unreadable");
    }
    if (member !== root && member.isLive) followMember(member);
  }

  function followMember(member: Member): void {
    const controller = new AbortController();
    member.stop = () => controller.abort();
    const maxBehind = Math.max(16, Math.floor(maxWaiting / openCount));
    const itemsOptions = { from: member.cursor, signal: controller.signal, maxBehind };
    const items = through === undefined ? member.itemsOf : through(member.itemsOf);
    member.source = items(member.identity.sessionId, itemsOptions);
    requestNext(member);
  }

  function requestNext(member: Member): void {
    if (member.source === null) return;
    member.asked = member.source.next();
    arrivals.expect(member, member.asked);
  }

  async function* emitItem(member: Member, item: StreamItem): AsyncGenerator<FamilyItem, void, undefined> {
    if (!("index" in item)) return yield toFamilyItem(member, item);
    if (item.type === "tool_result") yield* finishCall(member, item);
    member.cursor = cursorAfter(item);
    if (item.type === "final" && item.runId === member.runId) endMember(member, "done");
    // Remaining cursors belong to calls of the previous step.
    if (item.type === "step_finished" && pendingCursors.size > 0) forgetCursors(member);
    const child = item.type === "child_started" ? addMember(member, item, startCursor) : undefined;
    yield toFamilyItem(member, item);
    if (child !== undefined) yield* beginMember(child);
  }

  /** Streams the rest of a child before the result of its call. */
  async function* finishCall(
    member: Member,
    { callKey, name, startedChild }: Extract<PublicEvent, { readonly type: "tool_result" }>,
  ): AsyncGenerator<FamilyItem, void, undefined> {
    const position = callPosition(callKey);
    if (startedChild !== undefined) return;
    let child = member.children.get(position);
    if (child === undefined && findChildAgent(name, member.family) !== undefined) {
      // The child's result may have arrived before the parent committed that it waits for the child.
      const childId = deriveChildId(member.identity.sessionId, callKey);
      if ((await store.load(childId)) !== null)
        child = addMember(
          member,
          { callKey, name, childId },
          pendingCursors.get(callPath(member, callKey)) ?? startCursor,
        );
    }
    if (child === undefined) return;
    yield* emitRest(child);
    closeMember(child);
    member.children.delete(position);
  }

  /** Streams the rest of a member's log, and of its children's logs. */
  async function* emitRest(member: Member): AsyncGenerator<FamilyItem, void, undefined> {
    if (member !== root) stopMember(member);
    try {
      yield* emitArrived(member);
      if (hasEnded(member)) return;
      for await (const event of readEvents(store, member.identity.sessionId, member.cursor)) {
        yield* emitItem(member, deepFreeze(event));
        if (hasEnded(member)) return;
      }
    } catch (error) {
      if (member === root || !isUnreadable(error)) throw error;
      return yield omitMember(member, "unreadable");
    }
    for (const child of [...member.children.values()]) yield* emitRest(child);
  }

  /** Streams the live items that have already arrived: the log has no deltas. */
  async function* emitArrived(member: Member): AsyncGenerator<FamilyItem, void, undefined> {
    const { source, asked } = member;
    member.source = null;
    member.asked = null;
    if (source === null || asked === null || member === root) return;
    try {
      for (let result = await asked; result.done !== true && !hasEnded(member); result = await source.next())
        yield* emitItem(member, result.value);
    } catch (error) {
      if (!endsItems(error)) throw error;
    }
  }

  function forgetCursors(member: Member): void {
    const path = childPathPrefix(member);
    for (const one of pendingCursors.keys()) if (one.startsWith(path)) pendingCursors.delete(one);
  }

  /** Streams the next item that arrives, from the session or from a child. Returns false when the session's items have ended. */
  async function* emitNext(): AsyncGenerator<FamilyItem, boolean, undefined> {
    const { source: member, result } = await arrivals.next();
    if (!member.isLive) return true;
    member.asked = null;
    if ("error" in result) {
      if (member === root || !(isUnreadable(result.error) || endsItems(result.error))) throw result.error;
      if (isUnreadable(result.error)) yield omitMember(member, "unreadable");
      else stopMember(member);
    } else if (result.done === true) {
      if (member === root) return false;
      stopMember(member);
    } else {
      yield* emitItem(member, result.value);
      if (member.isLive) requestNext(member);
    }
    return true;
  }

  try {
    yield* beginMember(root);
    if (live === null) return yield* emitRest(root);
    requestNext(root);
    while (yield* emitNext());
    if (tellsRest) for (const child of [...root.children.values()]) yield* emitRest(child);
  } catch (error) {
    // The result of the run reports that the store failed.
    if (!tellsRest || !(error instanceof PawlError) || error.code !== "store_failed") throw error;
  } finally {
    closeMember(root);
  }
}

/** The items of a run and of its children, from the cursor of the subscription on. */
export function streamRunItems(
  sessionId: string,
  subscription: Tail,
  { agent, itemsOf }: { readonly agent: CompiledAgent; readonly itemsOf: ItemsOf },
): AsyncGenerator<FamilyItem, void, undefined> {
  const from = { cursor: subscription.cursor, children: new Map() };
  const live = { items: createItems(subscription), stop: () => endTail(subscription) };
  const family = joinFamilies(listFamilies(agent, undefined));
  return streamFamily({ sessionId, store: agent.store, family, itemsOf, from, tellsRest: true, live });
}

type ChildCall = { readonly callKey: string; readonly name: string; readonly childId: string };

function stopMember(member: Member): void {
  member.isLive = false;
  member.stop();
}

/** A function, because `part` changes while items are streamed, and TypeScript would narrow it. */
function hasEnded({ part }: Member): boolean {
  return part !== "streaming";
}

/** The approximate number of items that may be buffered in all subscriptions together. */
const maxWaiting = 65_536;

const unreadable: ReadonlySet<string> = new Set(["store_corrupt", "newer_format", "older_format"]);

function isUnreadable(error: unknown): boolean {
  return error instanceof PawlError && unreadable.has(error.code);
}

/** Whether a child's live items have ended before the child: its agent was shut down here, or its session was deleted. */
function endsItems(error: unknown): boolean {
  return error instanceof PawlError && (error.code === "shut_down" || error.code === "no_session");
}

/** A damaged log may name a session as its own child. */
function isOwnAncestor({ identity, above }: Member): boolean {
  for (let one = above; one !== null; one = one.above) if (one.identity.sessionId === identity.sessionId) return true;
  return false;
}

function callPosition(callKey: string): string {
  return String(parseCallKey(callKey).position);
}

function callPath(parent: Member, callKey: string): string {
  return `${childPathPrefix(parent)}${callPosition(callKey)}`;
}

/** The path of a member's children, without their positions: "" for the session of the stream. */
function childPathPrefix({ identity, above }: Member): string {
  return above === null || identity.parent === undefined ? "" : `${callPath(above, identity.parent.callKey)}-`;
}
