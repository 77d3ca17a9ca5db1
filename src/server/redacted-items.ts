/**
 * The items of a session as they may be shown.
 */
import { createStreamRedaction, type Redact, type StreamItem } from "../index.js";

/** @param showsApprovals whether what somebody is asked to approve is shown as it is, as whoever approves must see it */
export async function* redacted(
  items: AsyncIterable<StreamItem>,
  redact: Redact,
  showsApprovals = false,
): AsyncGenerator<StreamItem, void, undefined> {
  const clean = createStreamRedaction(redact);
  for await (const item of items)
    for (const one of clean(item)) yield showsApprovals && one.type === "approval_requested" ? item : one;
}
