/**
 * Redacts the items of a session for clients.
 */
import { createStreamRedaction, type Redact, type StreamItem } from "../index.js";

/** @param showsApprovals leaves calls that wait for approval unredacted, because a person must see what they approve */
export async function* redactItems(
  items: AsyncIterable<StreamItem>,
  redact: Redact,
  showsApprovals = false,
): AsyncGenerator<StreamItem, void, undefined> {
  // Created with the first item, because a process may have many idle streams.
  let redactItem: ReturnType<typeof createStreamRedaction> | null = null;
  for await (const item of items) {
    redactItem ??= createStreamRedaction(redact);
    for (const redactedItem of redactItem(item))
      yield showsApprovals && redactedItem.type === "approval_requested" ? item : redactedItem;
  }
}
