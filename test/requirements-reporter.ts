/**
 * Holds tests and requirements together. Citations are read from the tests: `verifies("LOOP-3")`.
 *
 * 1. A citation of an unknown row fails any run.
 * 2. After a whole run of a project (the quick tests, the long tests), temp/requirements/<project>.json says which owed rows no passing
 *    test of that project cites. A row is unproved when it is in the file of every project: scripts/check-requirements.mjs.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Reporter, TestModule, Vitest } from "vitest/node";
import { owedCitations, unknownCitations, unproved } from "./requirements.js";

const folder = "temp/requirements";

export function requirementsReporter(): Reporter {
  let vitest: Vitest | undefined;
  return {
    onInit(context) {
      vitest = context;
    },
    async onTestRunEnd(modules, _errors, reason) {
      if (vitest === undefined || reason === "interrupted") return;
      failOnUnknown(vitest, modules);
      for (const { name } of vitest.projects) {
        const ofProject = modules.filter((module) => module.project.name === name);
        if (await ranEverything(vitest, name, ofProject)) report(vitest, name, ofProject);
      }
    },
  };
}

function failOnUnknown(vitest: Vitest, modules: readonly TestModule[]): void {
  const unknown = unknownCitations(modules.flatMap((module) => [...module.children.allTests()].flatMap(citationsOf)));
  if (unknown.length === 0) return;
  vitest.logger.error(
    `Tests cite requirements that do not exist: ${unknown.join(", ")} (rows and parts are in test/requirements.ts)`,
  );
  process.exitCode = 1;
}

function report(vitest: Vitest, project: string, modules: readonly TestModule[]): void {
  const proved = modules.flatMap((module) => [...module.children.allTests("passed")].flatMap(citationsOf));
  const missing = unproved(proved);
  const owed = owedCitations().length;
  const file = join(vitest.config.root, folder, `${project}.json`);
  mkdirSync(join(vitest.config.root, folder), { recursive: true });
  writeFileSync(file, JSON.stringify({ owed, missing }));
  vitest.logger.log(`Requirements: the ${project} tests prove ${owed - missing.length} of the ${owed} that are owed.`);
}

function citationsOf(test: { readonly meta: () => { readonly verifies?: readonly string[] } }): readonly string[] {
  return test.meta().verifies ?? [];
}

/** Whether nothing of a project was filtered out: by file, by name, by shard. */
async function ranEverything(vitest: Vitest, project: string, modules: readonly TestModule[]): Promise<boolean> {
  if (modules.length === 0 || vitest.config.testNamePattern !== undefined) return false;
  const ran = new Set(modules.map((module) => module.moduleId));
  const all = (await vitest.globTestSpecifications()).filter((specification) => specification.project.name === project);
  return all.every((specification) => ran.has(specification.moduleId));
}
