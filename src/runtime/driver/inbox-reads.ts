/**
 * Determines which messages of the inbox a driver consumes.
 *
 * A message is consumed once, however often it is read: while its commit is in progress, and by a read that began before
 * the commit and returns after it.
 */
import type { InboxMessage } from "../../core/machine/inbox.js";

/** A driver's record of the messages that it has read. */
export type InboxReads = {
  /** The ids of messages that are being committed. */
  claimed: Set<string> | null;
  /** The reads in progress. */
  reads: readonly InboxRead[];
};

/** The ids that commits have consumed since the read began: the read may still return them. */
type InboxRead = Set<string>;

export const noReads: readonly InboxRead[] = [];

export function beginRead(driver: InboxReads): InboxRead {
  const read: InboxRead = new Set();
  driver.reads = [...driver.reads, read];
  return read;
}

/** Ends a read. Returns the messages that no commit has consumed meanwhile. */
export function endRead(
  driver: InboxReads,
  read: InboxRead,
  messages: readonly InboxMessage[],
): readonly InboxMessage[] {
  driver.reads = driver.reads.filter((other) => other !== read);
  return messages.filter(({ id }) => !read.has(id));
}

/** Returns the messages that are not being committed yet, and marks them as being committed. */
export function claimFresh(driver: InboxReads, messages: readonly InboxMessage[]): readonly InboxMessage[] {
  const fresh = messages.filter(({ id }) => driver.claimed?.has(id) !== true);
  for (const { id } of fresh) driver.claimed = (driver.claimed ?? new Set()).add(id);
  return fresh;
}

/** Records that a commit has consumed these messages. */
export function recordConsumed(driver: InboxReads, ids: readonly string[]): void {
  for (const id of ids) {
    driver.claimed?.delete(id);
    for (const read of driver.reads) read.add(id);
  }
  if (driver.claimed?.size === 0) driver.claimed = null;
}
