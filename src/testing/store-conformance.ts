/**
 * One suite for every store: the promises of `Store`, as cases that any test runner can run.
 *
 * ```ts
 * for (const { name, run } of storeConformance(openMyStore)) test(name, run);
 * ```
 */

import type { Store } from "../ports/store.js";
import { askingSessions } from "./conformance/asking.js";
import type { Case, ConformanceCase, StoreUnderTest } from "./conformance/bench.js";
import { committing, logs, together } from "./conformance/commits.js";
import { contents } from "./conformance/content.js";
import { inItsTime } from "./conformance/in-its-time.js";
import { consuming, posting, recording, takenIds } from "./conformance/inboxes.js";
import { claiming, expiry, releasing, renewing } from "./conformance/leases.js";
import { dueSessions, listing } from "./conformance/lists.js";
import { redacting } from "./conformance/redacting.js";
import { loadingAt } from "./conformance/states.js";
import { describing, filtering } from "./conformance/summaries.js";
import { blobs, deleting, upkeep } from "./conformance/upkeep.js";
import { watching } from "./conformance/watching.js";

export type { ConformanceCase, StoreUnderTest } from "./conformance/bench.js";

const groups: { readonly [subject: string]: readonly Case[] } = {
  claim: claiming,
  expiry,
  renew: renewing,
  release: releasing,
  commit: committing,
  together,
  log: logs,
  loadAt: loadingAt,
  post: posting,
  consume: consuming,
  record: recording,
  messageIds: takenIds,
  content: contents,
  list: listing,
  filter: filtering,
  describe: describing,
  asking: askingSessions,
  due: dueSessions,
  watch: watching,
  blob: blobs,
  redact: redacting,
  delete: deleting,
  upkeep,
};

/**
 * The cases. Each opens a store of its own, which must be empty, and closes it. A case throws if the store breaks a promise.
 *
 * Give `second` and `reopen` if the store has them. Without them, cases of two handles run on one.
 *
 * @example
 * ```ts
 * import { storeConformance } from "pawl/testing";
 *
 * async function open() {
 *   const store = await openMine(); // empty, and another one each time
 *   return { store, close: () => store.close() };
 * }
 * for (const { name, run } of storeConformance(open)) test(name, run);
 * ```
 */
export function storeConformance(open: () => Promise<StoreUnderTest>): readonly ConformanceCase[] {
  return Object.entries(groups).flatMap(([subject, cases]) =>
    cases.map(({ name, verifies, check }) => ({
      name: `${subject}: ${name}`,
      verifies,
      run: async () => {
        const opened = await open();
        const store = inItsTime(opened.store, opened.setClock);
        const other = async (one: Promise<Store> | undefined) =>
          one === undefined ? store : inItsTime(await one, opened.setClock);
        try {
          await check({
            store,
            second: () => other(opened.second?.()),
            reopened: () => other(opened.reopen?.()),
          });
        } finally {
          await opened.close();
        }
      },
    })),
  );
}
