import { expect, test } from "vitest";
import type { State } from "../../src/core/machine/state.js";
import { openHandle } from "../../src/stores/sqlite/driver.js";
import { openSqliteStore, type SqliteHandle } from "../../src/stores/sqlite/index.js";
import { type CommitOverrides, claim, commit, createState } from "../../src/testing/conformance/bench.js";
import { verifies } from "../verifies.js";

function numberOf(handle: SqliteHandle, sql: string, column: string): number {
  return Number((handle.prepare(sql).get() as { readonly [column: string]: unknown })[column]);
}

/** A state of a session whose title stays as it is: a new title is one more row. */
function stateOf(seq: number): State {
  return { ...createState(seq, "model_running"), session: { agent: "coder", model: "scripted", title: "one title" } };
}

test("a commit costs one row and the same bytes, however long the session is", verifies("STOR-3"), async () => {
  // In memory, for speed: what is counted are rows and pages.
  const handle = await openHandle(":memory:");
  const store = await openSqliteStore({ database: handle });
  const lease = await claim(store);
  const next = (seq: number, parts: CommitOverrides = {}) =>
    commit(store, lease, seq, { state: stateOf(seq + 1), ...parts });
  await next(0);
  /** What the next hundred commits add: rows that were written, and pages of the file. */
  const cost = async (first: number) => {
    const rows = numberOf(handle, "SELECT total_changes() AS n", "n");
    const pages = numberOf(handle, "PRAGMA page_count", "page_count");
    // Texts of one length, so that only the length of the session differs.
    const events = [{ type: "restarted", runId: "r", holder: "x".repeat(1000), at: 1 }] as const;
    for (let seq = first; seq < first + 100; seq++) await next(seq, { events });
    return {
      rows: numberOf(handle, "SELECT total_changes() AS n", "n") - rows,
      pages: numberOf(handle, "PRAGMA page_count", "page_count") - pages,
    };
  };
  for (let seq = 1; seq < 10; seq++) await next(seq);
  const early = await cost(10);
  for (let seq = 110; seq < 1000; seq++) await next(seq);
  const late = await cost(1000);
  for (let seq = 1100; seq < 4000; seq++) await next(seq);
  const latest = await cost(4000);
  expect([early.rows, late.rows, latest.rows]).toEqual([100, 100, 100]);
  expect(late.pages).toBeLessThanOrEqual(early.pages + 3);
  expect(latest.pages).toBeLessThanOrEqual(early.pages + 3);
  await store.close();
  handle.close();
});
