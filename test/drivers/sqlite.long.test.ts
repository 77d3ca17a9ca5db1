/**
 * The driver's tests over SQLite files.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll } from "vitest";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { createTempFolder } from "../stores/open.js";
import { defineDriverTests } from "./driver-tests.js";

const folder = createTempFolder();
let stores = 0;
afterAll(() => rmSync(folder, { recursive: true }));

defineDriverTests(() => {
  stores += 1;
  return openSqliteStore({ path: join(folder, `${stores}.db`), synchronous: "normal", pollMs: 10 });
});
