/**
 * The store conformance suite of `pawl/testing`, in any runtime that runs npm packages. Prints what failed, and a line
 * with the counts.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryStore } from "pawl";
import { openSqliteStore } from "pawl/sqlite";
import { storeConformance } from "pawl/testing";

const stores = {
  async memory() {
    const store = createMemoryStore();
    return { store, close: () => store.close() };
  },
  async SQLite() {
    const folder = mkdtempSync(join(tmpdir(), "pawl-conformance-"));
    const store = await openSqliteStore({ path: join(folder, "sessions.db") });
    return {
      store,
      async close() {
        await store.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
};

let [passed, failed] = [0, 0];
for (const [name, open] of Object.entries(stores)) {
  for (const one of storeConformance(open)) {
    try {
      await one.run();
      passed += 1;
    } catch (error) {
      failed += 1;
      console.log(`${name}: ${one.name}: ${error instanceof Error ? error.message : error}`);
    }
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
