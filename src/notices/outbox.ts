/**
 * The undelivered notices of a store: those that wait for their next attempt, and dead notices.
 */
import { aBoolean, aStore, checkOptions, integerFrom, type OptionTable, required } from "../check-options.js";
import { deepFreeze } from "../core/data/freeze.js";
import type { NoticeRow } from "../ports/notice-store.js";
import type { Store } from "../ports/store.js";
import { requireNotices } from "./require-notices.js";

/** Options of `createOutbox`. */
export type OutboxOptions = {
  /** The store that keeps the notices. */
  readonly store: Store;
};

/** One page of a list of notices. */
export type OutboxListOptions = {
  /** Only notices that are dead. Default: all. */
  readonly isDead?: boolean;
  /** Only notices after this number. */
  readonly after?: number;
  /** Default: 100. */
  readonly limit?: number;
};

/** The notices of a store that no destination has acknowledged. */
export type Outbox = {
  /** Notices, oldest first, one page at a time. @throws PawlError `bad_input` */
  readonly list: (options?: OutboxListOptions) => Promise<readonly NoticeRow[]>;
  /** Delivers a dead notice again, with a full set of attempts. False if there is no dead notice with this number. */
  readonly retry: (number: number) => Promise<boolean>;
  /** Removes a notice. False if there is no notice with this number. */
  readonly remove: (number: number) => Promise<boolean>;
  /** The destinations for which notices are written. */
  readonly destinations: () => Promise<readonly string[]>;
  /**
   * Writes no more notices for a destination, and removes its existing notices. A worker that still has the destination adds it again
   * when it starts. False if there is no such destination.
   */
  readonly removeDestination: (id: string) => Promise<boolean>;
};

const optionRules: OptionTable<OutboxOptions> = { store: required(aStore) };
const listRules: OptionTable<OutboxListOptions> = { isDead: aBoolean, after: integerFrom(0), limit: integerFrom(1) };

const pageSize = 100;

/**
 * Gives access to the notices of a store that are not delivered yet, including dead notices.
 * @throws PawlError `store_lacks` for a custom store without `notices`
 *
 * @example
 * ```ts
 * import { createOutbox } from "pawl/notices";
 *
 * const outbox = createOutbox({ store });
 * for (const { number, destination, error } of await outbox.list({ isDead: true })) {
 *   console.warn(`${destination}: ${error}`);
 *   await outbox.retry(number);
 * }
 * ```
 */
export function createOutbox(options: OutboxOptions): Outbox {
  checkOptions("createOutbox()", optionRules, options);
  const rows = requireNotices(options.store);

  async function retry(number: number): Promise<boolean> {
    const [row] = await rows.list({ isDead: true, after: number - 1, limit: 1 });
    if (row?.number !== number || row.notice === null) return false;
    return rows.replace(row, { notice: row.notice, tries: 0, dueAt: 0 });
  }

  return {
    async list(options = {}) {
      checkOptions("list()", listRules, options, { code: "bad_input" });
      const { limit = pageSize, ...filters } = options;
      return deepFreeze(await rows.list({ ...filters, limit }));
    },
    retry,
    remove: (number) => rows.remove(number),
    destinations: async () => deepFreeze((await rows.destinations()).map(({ id }) => id)),
    removeDestination: (id) => rows.removeDestination(id),
  };
}
