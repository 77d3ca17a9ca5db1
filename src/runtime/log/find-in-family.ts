/**
 * Searches the logs of a session and its child sessions for an event.
 */
import type { Event } from "../../core/machine/event.js";
import type { InboxBody } from "../../core/machine/inbox.js";
import type { Store } from "../../ports/store.js";
import { readEntries } from "./read-entries.js";

export type FamilySearch = {
  readonly event: (event: Event) => boolean;
  /** For what no process has taken from the inbox yet. Default: inboxes are not searched. */
  readonly message?: (body: InboxBody) => boolean;
};

/** Whether the session or one of its children has a match. */
export async function isInFamily(
  store: Pick<Store, "read" | "inbox">,
  sessionId: string,
  search: FamilySearch,
): Promise<boolean> {
  // The inbox is read first: a message that a driver takes from it meanwhile is in the log by then.
  if (search.message !== undefined)
    for (const { body } of await store.inbox(sessionId)) if (search.message(body)) return true;
  const childIds: string[] = [];
  for await (const { event } of readEntries(store, sessionId, 0)) {
    if (search.event(event)) return true;
    if (event.type === "tool_waiting" && event.childId !== undefined) childIds.push(event.childId);
    if (event.type === "tool_finished" && event.startedChild !== undefined) childIds.push(event.startedChild.childId);
  }
  for (const childId of childIds) if (await isInFamily(store, childId, search)) return true;
  return false;
}
