/**
 * Packages that are no part of `npm ci`, for long tests: scripts/checks/package.json.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";

/** The path of a file in one of these packages. `npm run next-majors` has newer versions of some. */
export function resolveCheckTool(file: string): string {
  const newerPath = resolve(process.env.PAWL_CLIENTS ?? "", "node_modules", file);
  if (process.env.PAWL_CLIENTS !== undefined && existsSync(newerPath)) return newerPath;
  const path = resolve("scripts/checks/node_modules", file);
  if (!existsSync(path)) throw new Error(`${file} is not installed. Run: npm run check-tools`);
  return path;
}
