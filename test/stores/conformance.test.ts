import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../../src/stores/memory/index.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { type StoreUnderTest, storeConformance } from "../../src/testing/store-conformance.js";
import { verifies } from "../verifies.js";
import { openFileStore, openWithLibsql } from "./open.js";

const stores: { readonly [name: string]: () => Promise<StoreUnderTest> } = {
  memory: async () => {
    const store = createMemoryStore();
    return { store, close: () => store.close() };
  },
  "SQLite, synchronous full": () => openFileStore({ synchronous: "full" }),
  "SQLite, synchronous normal": () => openFileStore({ synchronous: "normal" }),
  "SQLite in memory, a handle of libsql that was given": openWithLibsql,
  "SQLite in memory": async () => {
    const store = await openSqliteStore({ path: ":memory:" });
    return { store, close: () => store.close() };
  },
};

describe.for(Object.entries(stores))("%s", ([, open]) => {
  for (const { name, verifies: ids, run } of storeConformance(open)) {
    const [first = "STOR-1", ...more] = ids;
    test(name, verifies(first, ...more), run);
  }
});

test("the suite has 90 cases or more, each of its own name", verifies("STOR-1"), () => {
  const names = storeConformance(openFileStore).map((each) => each.name);
  expect(names.length).toBeGreaterThanOrEqual(90);
  expect(new Set(names).size).toBe(names.length);
});
