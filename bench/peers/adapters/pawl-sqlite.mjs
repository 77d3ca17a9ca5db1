/**
 * Pawl on its SQLite store.
 */
import { join } from "node:path";
import { openSqliteStore } from "../../../dist/stores/sqlite/index.js";
import { agentFor, runOnce } from "./pawl.mjs";

let files = 0;

export async function open(work, { folder, synchronous }) {
  files += 1;
  const path = join(folder, `pawl-${files}.db`);
  const store = await openSqliteStore({ path, synchronous });
  const agent = agentFor(work, { store });
  return { path, run: () => runOnce(agent, work), close: () => store.close() };
}
