/**
 * No statement scans what it need not: the plan of each, as SQLite chooses it without statistics.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openHandle, type SqliteHandle } from "../../src/stores/sqlite/driver.js";
import { createTables, statements } from "../../src/stores/sqlite/schema.js";
import { verifies } from "../verifies.js";

let handle: SqliteHandle;
beforeAll(async () => {
  handle = await openHandle(":memory:");
  handle.exec(createTables);
});
afterAll(() => {
  handle.close();
});

function planOf(sql: string): readonly string[] {
  const values = Array.from({ length: sql.split("?").length - 1 }, () => 0);
  const rows = handle.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as readonly { readonly detail: string }[];
  return rows.map(({ detail }) => detail);
}

/** Steps of a plan that go through a table from its beginning. Short names are aliases of tables in the statements. */
function scansOf(sql: string): readonly string[] {
  return planOf(sql).filter((step) => /^SCAN (sessions|commits|messages|blobs|[smt])\b/.test(step));
}

test("no statement goes through a table, but those that must", verifies("STOR-3"), () => {
  const scans = Object.entries(statements).map(([name, sql]) => [name, scansOf(sql)] as const);
  expect(Object.fromEntries(scans.filter(([, steps]) => steps.length > 0))).toEqual({
    // One row, from the end.
    newestFormat: ["SCAN commits"],
    // An index of the messages that nobody has read.
    due: ["SCAN messages USING INDEX inbox"],
    // Counts sessions, for a small part of the time.
    deletedSessions: ["SCAN sessions USING COVERING INDEX sessions_by_epoch"],
    // For `verify`.
    strays: [
      "SCAN commits USING COVERING INDEX sqlite_autoindex_commits_1",
      "SCAN messages USING COVERING INDEX sqlite_autoindex_messages_1",
      "SCAN blobs USING COVERING INDEX sqlite_autoindex_blobs_1",
    ],
  });
});

describe("what every commit and every look need", () => {
  test.for(["head", "heldTails"] as const)("%s reads the end of a log from the index alone", (name) => {
    expect(planOf(statements[name])).toContain(
      "SEARCH commits USING COVERING INDEX sqlite_autoindex_commits_1 (session=?)",
    );
  });
  test("a page of a list comes in its order, without sorting all sessions", () => {
    const plan = planOf(statements.list);
    const resting = plan.slice(plan.indexOf("CO-ROUTINE resting"), plan.indexOf("UNION ALL"));
    expect(resting).toContain("SEARCH s USING INDEX sessions_by_update (updated_at<?)");
    expect(resting.join()).not.toContain("TEMP B-TREE");
  });
  test("due notices of a destination come from the index, however many of it and of others are dead or left", () => {
    expect(planOf(statements.dueNotices)).toEqual(["SEARCH notices USING INDEX notices_due (endpoint=? AND due_at<?)"]);
    const plan = planOf(statements.dueNoticesForEach);
    expect(plan).toContain("SEARCH due USING COVERING INDEX notices_due (endpoint=? AND due_at<?)");
    expect(plan.filter((step) => step.startsWith("SCAN"))).toEqual([expect.stringMatching(/^SCAN wanted /)]);
  });
});
