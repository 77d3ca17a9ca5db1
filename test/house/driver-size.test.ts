import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { verifies } from "../verifies.js";

test("the driver has fewer than 300 lines", verifies("LOOP-14"), () => {
  const lines = readFileSync("src/runtime/driver/driver.ts", "utf8").trimEnd().split("\n");
  expect(lines.length).toBeLessThan(300);
});
