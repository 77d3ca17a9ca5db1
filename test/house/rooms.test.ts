import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { verifies } from "../verifies.js";

/** Runs `npm run rooms`, which reads the imports of src. */
function rooms() {
  return spawnSync(process.execPath, ["scripts/rooms.mjs"], { encoding: "utf8" });
}

test("the rooms form no cycle, and the map of the code is that of the present imports", verifies("LOOP-14"), () => {
  const { status, stdout, stderr } = rooms();
  expect(stderr).toBe("");
  expect(stdout).toContain("0 arrows on a cycle, 0 forbidden arrows, 0 unused allowances.");
  expect(status).toBe(0);
});
