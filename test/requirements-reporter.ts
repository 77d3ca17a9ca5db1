/**
 * Holds tests and requirements together. Citations are read from the tests that passed (`verifies("LOOP-3")`): a citation of
 * an unknown row fails any run; a row that is owed and proved by no passing test fails a run of all tests.
 */
import type { Reporter, TestModule, Vitest } from "vitest/node";
import { owedCitations, unknownCitations, unproved } from "./requirements.js";

export function requirementsReporter(): Reporter {
  let vitest: Vitest | undefined;
  return {
    onInit(context) {
      vitest = context;
    },
    async onTestRunEnd(modules, _errors, reason) {
      if (vitest === undefined || reason === "interrupted") return;
      const { cited, proved } = citationsOf(modules);

      const unknown = unknownCitations(cited);
      if (unknown.length > 0)
        fail(
          vitest,
          `Tests cite requirements that do not exist: ${unknown.join(", ")} (rows and parts are in test/requirements.ts)`,
        );

      if (!(await ranEverything(vitest, modules))) return;
      const owed = owedCitations().length;
      const missing = unproved(proved);
      if (missing.length > 0) {
        fail(
          vitest,
          `${missing.length} of ${owed} owed requirements are proved by no passing test: ${missing.join(", ")}`,
        );
      } else {
        vitest.logger.log(`Requirements: all ${owed} that are owed are proved by tests.`);
      }
    },
  };
}

function citationsOf(modules: readonly TestModule[]): { readonly cited: string[]; readonly proved: string[] } {
  const cited: string[] = [];
  const proved: string[] = [];
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      const citations = test.meta().verifies ?? [];
      cited.push(...citations);
      if (test.result().state === "passed") proved.push(...citations);
    }
  }
  return { cited, proved };
}

/** Whether nothing was filtered out: by file, by name, by shard. */
async function ranEverything(vitest: Vitest, modules: readonly TestModule[]): Promise<boolean> {
  if (vitest.config.testNamePattern !== undefined) return false;
  const ran = new Set(modules.map((module) => module.moduleId));
  const all = await vitest.globTestSpecifications();
  return all.every((specification) => ran.has(specification.moduleId));
}

function fail(vitest: Vitest, message: string): void {
  vitest.logger.error(message);
  process.exitCode = 1;
}
