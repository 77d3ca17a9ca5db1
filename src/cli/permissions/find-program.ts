/**
 * Finds a program as a shell would. The location matters: a folder may have its own file `ls` or `git`, and `npx` puts
 * `node_modules/.bin` first in PATH.
 */
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

export type ProgramLocation = {
  readonly path: string;
  /** Whether the program is, or may be, a file below the folder. */
  readonly isBelow: boolean;
};

/** @returns the first program of this name in PATH; null if there is none */
export function findProgram(name: string, root: string): ProgramLocation | null {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const path = join(folder, name);
    // A relative folder depends on the current folder, which each `cd` changes.
    if (!isAbsolute(folder)) return { path, isBelow: true };
    try {
      accessSync(path, constants.X_OK);
      if (statSync(path).isFile())
        return { path, isBelow: isWithinFolder(root, path) || isWithinFolder(root, realpathSync(path)) };
    } catch {
      // The next folder may have it.
    }
  }
  return null;
}

/** Whether a path is the folder or below it. Both are absolute and normalized. */
export function isWithinFolder(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}
