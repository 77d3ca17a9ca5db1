/**
 * Imports optional packages that the user has installed: next to Pawl, else next to the running program.
 *
 * The working directory is not searched. Its contents may be untrusted, and a package's code runs with all the rights of this
 * process and with its keys.
 */
import { realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { isAbsolute } from "node:path";
import { pathToFileURL } from "node:url";

/** The exports of a package. */
export type ImportedModule = { readonly [name: string]: unknown };

/** Imports a package by its name; undefined if it is not installed. */
export type ImportPackage = (packageName: string) => Promise<ImportedModule | undefined>;

/**
 * Imports a package that is installed next to Pawl, or next to the running program (`process.argv[1]`). Packages in the working
 * directory are not used. Returns undefined if the package is not installed.
 */
export async function importInstalledPackage(packageName: string): Promise<ImportedModule | undefined> {
  for (const from of [import.meta.url, ...listMainFiles()]) {
    const file = findPackage(packageName, from);
    if (file !== undefined) return (await import(pathToFileURL(file).href)) as ImportedModule;
  }
  return undefined;
}

/** The program's file, both as started and with symbolic links resolved: package managers link programs. */
function listMainFiles(): readonly string[] {
  const [, program] = process.argv;
  if (program === undefined || !isAbsolute(program)) return [];
  try {
    return [...new Set([program, realpathSync(program)])];
  } catch {
    // With "node --eval", the argument may not be a file.
    return [];
  }
}

function findPackage(packageName: string, from: string): string | undefined {
  try {
    return createRequire(from).resolve(packageName);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}
