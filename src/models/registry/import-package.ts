/**
 * Packages that the user installs: looked for beside this package, then in the project that it is run in.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export type ImportedModule = { readonly [name: string]: unknown };

/** Imports a package by its name; undefined where it is not installed. */
export type ImportPackage = (packageName: string) => Promise<ImportedModule | undefined>;

/** The package as it is installed beside this one or, failing that, in the working directory's project. */
export async function importInstalledPackage(packageName: string): Promise<ImportedModule | undefined> {
  for (const from of [import.meta.url, join(process.cwd(), "index.js")]) {
    const file = findPackage(packageName, from);
    if (file !== undefined) return (await import(pathToFileURL(file).href)) as ImportedModule;
  }
  return undefined;
}

function findPackage(packageName: string, from: string): string | undefined {
  try {
    return createRequire(from).resolve(packageName);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}
