/**
 * The items of a session as they may be shown.
 */
import { createStreamRedaction, type Redact, type StreamItem } from "../index.js";

/** @param showsApprovals whether what somebody is asked to approve is shown as it is, as a person who approves must see it */
export async function* redactItems(
  items: AsyncIterable<StreamItem>,
  redact: Redact,
  showsApprovals = false,
): AsyncGenerator<StreamItem, void, undefined> {
  // Made with the first item: a process may have many streams in which nothing happens.
  let redactItem: ReturnType<typeof createStreamRedaction> | null = null;
  for await (const item of items) {
    redactItem ??= createStreamRedaction(redact);
    for (const redactedItem of redactItem(item))
      yield showsApprovals && redactedItem.type === "approval_requested" ? item : redactedItem;
  }
}
