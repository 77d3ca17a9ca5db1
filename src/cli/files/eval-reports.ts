/**
 * The latest report of each eval whose logs were kept. They are next to the sessions, so that any server of those can show them.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Report } from "../../evals/index.js";

/** @param home the folder of settings and sessions */
export function writeEvalReport(home: string, report: Report): void {
  const folder = toFolder(home);
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${report.name.replace(/[^\w.-]+/g, "-")}.json`);
  // A server may read the file at any time.
  writeFileSync(`${path}.new`, JSON.stringify(report), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** Reads the reports, by name, without those of other versions. */
export function readEvalReports(home: string): readonly Report[] {
  return listFiles(toFolder(home)).flatMap((path) => {
    try {
      const report = JSON.parse(readFileSync(path, "utf8")) as Partial<Report> | null;
      return report?.v === 1 && Array.isArray(report.trials) && typeof report.name === "string"
        ? [report as Report]
        : [];
    } catch {
      return [];
    }
  });
}

function listFiles(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".json"))
      .sort()
      .map((name) => join(folder, name));
  } catch {
    // No eval has kept its logs yet.
    return [];
  }
}

function toFolder(home: string): string {
  return join(home, "evals");
}
