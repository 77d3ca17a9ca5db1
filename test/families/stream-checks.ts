/**
 * What must hold of a stream with children.
 */
import { expect } from "vitest";
import type { FamilyItem, PublicEvent, Store } from "../../src/index.js";
import type { createFamily } from "./tree.js";

type ItemWithCursor = Extract<FamilyItem, { readonly cursor: string }>;
export type LoggedItem = Extract<ItemWithCursor, { readonly seq: number }>;

export const isLogged = (item: FamilyItem): item is LoggedItem => "index" in item;

export async function collect(items: AsyncIterable<FamilyItem>, isLast: (item: FamilyItem) => boolean = () => false) {
  const all: FamilyItem[] = [];
  for await (const item of items) {
    all.push(item);
    if (isLast(item)) break;
  }
  return all;
}

export const isEnd = (item: FamilyItem) => item.type === "final" && item.depth === 0;

/** The places of each session in the order in which they were told. */
export function groupCursors(items: readonly FamilyItem[]): { readonly [sessionId: string]: readonly string[] } {
  const places: { [sessionId: string]: string[] } = {};
  for (const item of items.filter(isLogged)) {
    places[item.sessionId] ??= [];
    places[item.sessionId]?.push(`${item.seq}.${item.index}`);
  }
  return places;
}

/** Each session's events are those of its log, and a child's come between the start and the result of its call. */
export async function expectMatchesLogs(
  items: readonly FamilyItem[],
  read: (sessionId: string) => Promise<readonly PublicEvent[]>,
) {
  for (const [sessionId, places] of Object.entries(groupCursors(items)))
    expect(places, sessionId).toEqual((await read(sessionId)).map(({ seq, index }) => `${seq}.${index}`));
  expectChildOrder(items);
}

export function expectChildOrder(items: readonly FamilyItem[]) {
  const open = new Set<string>();
  for (const item of items) {
    const call = (sessionId: string, callKey: string) => `${sessionId} ${callKey}`;
    if (item.parent !== undefined && item.depth > 0)
      expect(open.has(call(item.parent.sessionId, item.parent.callKey)), "an item of a child out of its call").toBe(
        true,
      );
    if (item.type === "child_started") open.add(call(item.sessionId, item.callKey));
    if (item.type === "tool_result") open.delete(call(item.sessionId, item.callKey));
  }
}

export function createEventReader(agent: ReturnType<typeof createFamily>, store: Store) {
  return async (sessionId: string) => {
    const { info } = (await store.list()).find((one) => one.sessionId === sessionId) ?? {};
    expect(info).toBeDefined();
    return readEvents(agent, sessionId, store);
  };
}

/** The events of any session of the store, by an agent that may own none of them. */
async function readEvents(agent: ReturnType<typeof createFamily>, sessionId: string, store: Store) {
  const events: PublicEvent[] = [];
  const ownSession = agent.with({ store }).session(sessionId);
  for await (const item of ownSession.events({ follow: false })) events.push(item as PublicEvent);
  return events;
}

type CursorsBySession = ReturnType<typeof groupCursors>;

export function expectCursorsAddUp(
  before: CursorsBySession,
  after: CursorsBySession,
  all: CursorsBySession,
  cursor: string,
) {
  for (const [sessionId, places] of Object.entries(all))
    expect([...(before[sessionId] ?? []), ...(after[sessionId] ?? [])], `${sessionId} behind ${cursor}`).toEqual(
      places,
    );
  expect(Object.keys(after).filter((sessionId) => all[sessionId] === undefined)).toEqual([]);
}
