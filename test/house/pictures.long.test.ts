import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

test("the README's moving picture shows what the command prints now", () => {
  const { status, stderr } = spawnSync(process.execPath, ["scripts/pictures.mjs", "--check"], { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});
