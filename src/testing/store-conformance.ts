/**
 * A conformance suite for stores: the promises of `Store`, as cases for any test runner.
 *
 * ```ts
 * for (const { name, run } of storeConformance(openMyStore)) test(name, run);
 * ```
 */

import type { Store } from "../ports/store.js";
import { askingCases } from "./conformance/asking.js";
import type { ConformanceCase, StoreCase, StoreUnderTest } from "./conformance/bench.js";
import { commitCases, concurrencyCases, logCases } from "./conformance/commits.js";
import { contentCases } from "./conformance/content.js";
import { consumeCases, messageIdCases, postCases, recordCases } from "./conformance/inboxes.js";
import { claimCases, expiryCases, releaseCases, renewCases } from "./conformance/leases.js";
import { dueCases, listCases } from "./conformance/lists.js";
import { noticeStoreCases } from "./conformance/notices.js";
import { overviewCases } from "./conformance/overviews.js";
import { redactCases } from "./conformance/redacting.js";
import { scheduleStoreCases } from "./conformance/schedules.js";
import { signalling } from "./conformance/signals.js";
import { loadAtCases } from "./conformance/states.js";
import { withStoreClock } from "./conformance/store-clock.js";
import { describeCases, filterCases } from "./conformance/summaries.js";
import { blobCases, deleteCases, upkeepCases } from "./conformance/upkeep.js";
import { watchCases } from "./conformance/watching.js";

export type { ConformanceCase, StoreUnderTest } from "./conformance/bench.js";

const caseGroups: { readonly [subject: string]: readonly StoreCase[] } = {
  claim: claimCases,
  expiry: expiryCases,
  renew: renewCases,
  release: releaseCases,
  commit: commitCases,
  together: concurrencyCases,
  log: logCases,
  loadAt: loadAtCases,
  post: postCases,
  consume: consumeCases,
  record: recordCases,
  messageIds: messageIdCases,
  content: contentCases,
  list: listCases,
  filter: filterCases,
  overview: overviewCases,
  describe: describeCases,
  asking: askingCases,
  due: dueCases,
  watch: watchCases,
  blob: blobCases,
  redact: redactCases,
  signal: signalling,
  schedule: scheduleStoreCases,
  notice: noticeStoreCases,
  delete: deleteCases,
  upkeep: upkeepCases,
};

/**
 * Returns the cases. Each case opens its own store, which must be empty, and closes it. A case throws if the store breaks a
 * promise.
 *
 * Provide `second` and `reopen` if the store supports them. Without them, cases with two handles run on a single handle.
 *
 * @example
 * ```ts
 * import { storeConformance } from "pawl/testing";
 *
 * async function open() {
 *   const store = await openMine(); // empty, and a new one each time
 *   return { store, close: () => store.close() };
 * }
 * for (const { name, run } of storeConformance(open)) test(name, run);
 * ```
 */
export function storeConformance(open: () => Promise<StoreUnderTest>): readonly ConformanceCase[] {
  return Object.entries(caseGroups).flatMap(([subject, cases]) =>
    cases.map(({ name, verifies, check }) => ({
      name: `${subject}: ${name}`,
      verifies,
      run: async () => {
        const opened = await open();
        const store = withStoreClock(opened.store, opened.setClock);
        const openOther = async (opening: Promise<Store> | undefined) =>
          opening === undefined ? store : withStoreClock(await opening, opened.setClock);
        try {
          await check({
            store,
            second: () => openOther(opened.second?.()),
            reopened: () => openOther(opened.reopen?.()),
          });
        } finally {
          await opened.close();
        }
      },
    })),
  );
}
