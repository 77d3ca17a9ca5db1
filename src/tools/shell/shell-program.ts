/**
 * Finds the shell that runs commands: bash if it is installed, because models and people write bash; otherwise `sh`.
 */
import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

export type ShellProgram = { readonly name: "bash" | "sh"; readonly path: string };

export function findShell(searchPath = process.env.PATH ?? "/usr/bin:/bin"): ShellProgram {
  // A relative path would resolve inside the root, whose files are not trusted.
  const folders = searchPath.split(delimiter).filter(isAbsolute);
  const path = folders.map((folder) => join(folder, "bash")).find(isExecutable);
  return path === undefined ? { name: "sh", path: "sh" } : { name: "bash", path };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
