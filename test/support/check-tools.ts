/**
 * Packages that are no part of `npm ci`, for long tests: scripts/checks/package.json.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";

/** The path of a file in one of these packages. */
export function checkTool(file: string): string {
  const path = resolve("scripts/checks/node_modules", file);
  if (!existsSync(path)) throw new Error(`${file} is not installed. Run: npm run check-tools`);
  return path;
}
