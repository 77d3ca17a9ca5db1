/**
 * The latest report of each eval whose logs were kept. They are stored next to the sessions, so that any server of the sessions
 * can show them.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Report } from "../../evals/index.js";

/** @param home the folder of settings and sessions */
export function writeEvalReport(home: string, report: Report): void {
  const folder = toFolder(home);
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${toFileName(report.name)}.json`);
  // A server may read the file at any time.
  writeFileSync(`${path}.new`, JSON.stringify(report), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** The name of an eval as a file name. Different names have different file names. */
export function toFileName(name: string): string {
  if (/^\w[\w.-]{0,99}$/.test(name)) return name;
  const readable = name.replace(/[^\w-]+/g, "-").slice(0, 60);
  return `${readable}-${createHash("sha256").update(name).digest("hex").slice(0, 12)}`;
}

/** Reads the reports, sorted by name. Reports in another format version are skipped. */
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
