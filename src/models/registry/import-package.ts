/**
 * Imports packages that the user has installed: beside this package, else in the project of the working directory.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** The exports of a package. */
export type ImportedModule = { readonly [name: string]: unknown };

/** Imports a package by its name; undefined if it is not installed. */
export type ImportPackage = (packageName: string) => Promise<ImportedModule | undefined>;

/** Imports a package that is installed where Pawl is. */
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
