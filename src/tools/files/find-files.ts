/**
 * Finds the files in a folder as the file tools see them, for a program that lets a person choose one.
 */
import {
  aBoolean,
  aFunction,
  anyValue,
  aSignal,
  checkOptions,
  integerFrom,
  type OptionTable,
} from "../../check-options.js";
import { createPace } from "../lib/pace.js";
import { defaultAccess } from "./folder.js";
import { createRoot, type MayReach, toResolvedPath, withOpenFolder } from "./root.js";
import { createOmissions, walk } from "./walk.js";

/** The options of `findFiles`. */
export type FindFilesOptions = {
  /** The folder. */
  readonly root: string;
  /** Also returns the files that Git ignores, and those in `.git` and `node_modules`. Default: false. */
  readonly all?: boolean;
  /** Whether a file or folder may be read, by its real, absolute path. Default: everything within the root. */
  readonly mayReach?: MayReach;
  /** The maximum number of paths. Default: 20,000. */
  readonly maxFiles?: number;
  readonly signal?: AbortSignal;
};

const optionRules: OptionTable<FindFilesOptions> = {
  root: anyValue,
  all: aBoolean,
  mayReach: aFunction,
  maxFiles: integerFrom(1, "files"),
  signal: aSignal,
};

/**
 * Finds the files in a folder and below it. Links are not followed, and files that Git ignores are omitted: by `.gitignore`
 * files, by `.git/info/exclude`, and by the user's own excludes file. At most 200,000 files and folders are visited.
 *
 * @returns paths relative to the root, with `/` between names, sorted by name
 * @throws PawlError `bad_configuration` if the root is not a folder; the signal's reason if it is aborted
 *
 * @example
 * ```ts
 * import { findFiles } from "pawl/tools";
 *
 * const sources = (await findFiles({ root: "." })).filter((path) => path.endsWith(".ts"));
 * ```
 */
export async function findFiles(options: FindFilesOptions): Promise<readonly string[]> {
  checkOptions("findFiles()", optionRules, options, { otherNames: { cwd: "root", folder: "root", limit: "maxFiles" } });
  const { all = false, maxFiles = 20_000, signal = new AbortController().signal } = options;
  const root = createRoot(options.root, [], defaultAccess, options.mayReach);
  const resolved = toResolvedPath(root.path, ".");
  const paths: string[] = [];
  await withOpenFolder(root, resolved, async (folder) => {
    const walkOptions = { root: root.path, mayReach: root.mayReach, all, pace: createPace(signal) };
    for await (const entries of walk(folder, resolved, walkOptions, createOmissions()))
      for (const { kind, relative } of entries) {
        if (kind === "file") paths.push(relative);
        if (paths.length === maxFiles) return;
      }
  });
  return paths;
}
