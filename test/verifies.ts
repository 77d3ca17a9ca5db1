/**
 * Cites the requirements that a test proves: `test("…", verifies("LOOP-3"), () => …)`.
 *
 * An id may name a part (`FIN-3#length`). `test/requirements.test.ts` reads the citations and fails while a row that is owed has none.
 */
import type { TestOptions } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    verifies?: readonly string[];
  }
}

export function verifies(...ids: readonly [string, ...string[]]): TestOptions {
  return { meta: { verifies: ids } };
}
