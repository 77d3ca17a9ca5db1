/**
 * Writes down the errors that no test caught, which vitest's JSON report leaves out: `.ci/run` names them at its end, so that a run
 * that failed by one of them alone says why.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Reporter, Vitest } from "vitest/node";

export function unhandledReporter(file: string): Reporter {
  let vitest: Vitest | undefined;
  return {
    onInit(context) {
      vitest = context;
    },
    onTestRunEnd(_modules, errors) {
      if (vitest === undefined) return;
      const path = join(vitest.config.root, file);
      mkdirSync(join(path, ".."), { recursive: true });
      writeFileSync(path, JSON.stringify(errors.map(({ name, message, stack }) => stack ?? `${name}: ${message}`)));
    },
  };
}
