/**
 * Which messages of the inbox a driver takes.
 *
 * A message is taken once, however often it is seen: while its commit is under way, and also by a look that began before
 * the commit was done and is answered after it.
 */
import type { InboxMessage } from "../../core/machine/inbox.js";

/** What a driver knows of the messages that it has seen. */
export type InboxReads = {
  /** The ids of messages that are being committed. */
  claimed: Set<string> | null;
  /** The looks that are under way. */
  reads: readonly InboxRead[];
};

/** The ids that commits have consumed since the look began: it may show them still. */
type InboxRead = Set<string>;

export const noReads: readonly InboxRead[] = [];

export function beginRead(driver: InboxReads): InboxRead {
  const read: InboxRead = new Set();
  driver.reads = [...driver.reads, read];
  return read;
}

/** The messages that no commit has consumed meanwhile. */
export function endRead(
  driver: InboxReads,
  read: InboxRead,
  messages: readonly InboxMessage[],
): readonly InboxMessage[] {
  driver.reads = driver.reads.filter((other) => other !== read);
  return messages.filter(({ id }) => !read.has(id));
}

/** The messages that are not being committed already. From now on they are. */
export function claimFresh(driver: InboxReads, messages: readonly InboxMessage[]): readonly InboxMessage[] {
  const fresh = messages.filter(({ id }) => driver.claimed?.has(id) !== true);
  for (const { id } of fresh) driver.claimed = (driver.claimed ?? new Set()).add(id);
  return fresh;
}

/** A commit has consumed these messages. */
export function recordConsumed(driver: InboxReads, ids: readonly string[]): void {
  for (const id of ids) {
    driver.claimed?.delete(id);
    for (const read of driver.reads) read.add(id);
  }
  if (driver.claimed?.size === 0) driver.claimed = null;
}
