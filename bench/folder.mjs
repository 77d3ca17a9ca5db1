/**
 * A folder for the files of one measurement.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Resolves to the result of `work`; the folder is removed by then. */
export async function inFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), "pawl-bench-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
