/**
 * Cites the requirements that a test proves: `test("…", verifies("LOOP-3"), () => …)`.
 *
 * An id may name a part (`FIN-3#output-cap`). The reporter of the tests collects the citations: test/requirements-reporter.ts.
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
