/**
 * Which messages of the inbox a driver takes.
 *
 * A message is taken once, however often it is seen: while its commit is under way, and also by a look that began before
 * the commit was done and is answered after it.
 */
import type { InboxMessage } from "../../core/machine/inbox.js";

/** What a driver knows of the messages that it has seen. */
export type InboxLooks = {
  /** The ids of messages that are being committed. */
  taken: Set<string> | null;
  /** The looks that are under way. */
  looks: readonly Look[];
};

/** The ids that commits have consumed since the look began: it may show them still. */
type Look = Set<string>;

export const noLooks: readonly Look[] = [];

export function beginLook(driver: InboxLooks): Look {
  const look: Look = new Set();
  driver.looks = [...driver.looks, look];
  return look;
}

/** The messages that no commit has consumed meanwhile. */
export function endLook(driver: InboxLooks, look: Look, messages: readonly InboxMessage[]): readonly InboxMessage[] {
  driver.looks = driver.looks.filter((other) => other !== look);
  return messages.filter(({ id }) => !look.has(id));
}

/** The messages that are not being committed already. From now on they are. */
export function takeFresh(driver: InboxLooks, messages: readonly InboxMessage[]): readonly InboxMessage[] {
  const fresh = messages.filter(({ id }) => driver.taken?.has(id) !== true);
  for (const { id } of fresh) driver.taken = (driver.taken ?? new Set()).add(id);
  return fresh;
}

/** A commit has consumed these messages. */
export function noteConsumed(driver: InboxLooks, ids: readonly string[]): void {
  for (const id of ids) {
    driver.taken?.delete(id);
    for (const look of driver.looks) look.add(id);
  }
  if (driver.taken?.size === 0) driver.taken = null;
}
