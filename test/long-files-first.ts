/**
 * Starts the files that take longest first, so that no processor waits for one of them at the end. Vitest starts the
 * largest files first unless it remembers how long each took, and a clean checkout remembers nothing.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Each takes half a minute or more on two processors. */
const longest = [
  "simulation/worlds.seeds.test.ts",
  "simulation/crashes.long.test.ts",
  "site/site.long.test.ts",
  "simulation/crash-pairs.long.test.ts",
  "house/tutorial.long.test.ts",
  "tools/worst-inputs.long.test.ts",
  "terminal/kill.long.test.ts",
  "inspector/hostile.long.test.ts",
].map((file) => resolve(import.meta.dirname, file));

const gone = longest.filter((file) => !existsSync(file));
if (gone.length > 0) throw new Error(`test/long-files-first.ts names files that are gone: ${gone.join(", ")}`);

export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => longest.includes(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
