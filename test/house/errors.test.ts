/**
 * The table of error codes, the documentation and the code tell the same.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorCodes } from "../../src/index.js";
import { serverCodes } from "../../src/server/index.js";

const documented = [...readFileSync("docs/errors.md", "utf8").matchAll(/^## (\S+)$/gm)].map(([, code]) => code);

const sources = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && file !== "errors.ts" && file !== join("server", "server-error.ts"))
  .map((file) => readFileSync(join("src", file), "utf8"))
  .join("\n");

test("every error code has one heading in docs/errors.md, and every heading is a code", () => {
  expect([...documented].sort()).toEqual([...errorCodes, ...serverCodes].sort());
});

test.each([...errorCodes, ...serverCodes])("%s is used by the code", (code) => {
  expect(sources).toContain(`"${code}"`);
});
