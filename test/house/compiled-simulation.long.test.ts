/** What `npm run crash`, `npm run soak` and `npm run simulate` load is compiled before they run. */
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

test.each(["scripts/crash-jobs.mjs", "scripts/simulate.mjs"])("every file that %s imports is compiled", (script) => {
  const program = `
    import { compileSimulation } from "./scripts/compile-simulation.mjs";
    import { hashOfCode } from "./scripts/kept-jobs.mjs";
    compileSimulation();
    console.log(hashOfCode(${JSON.stringify(script)}));`;
  const hash = execFileSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
  expect(hash.trim()).toMatch(/^[0-9a-f]{64}$/);
});
