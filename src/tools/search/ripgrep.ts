/**
 * Uses ripgrep as a filter for large trees: finds the files that contain at least one of a few texts.
 *
 * 1. ripgrep gets the files, or folders of which every file is to be searched. So only the walk decides which files are searched,
 *    and ripgrep's own ignore rules and configuration have no effect.
 * 2. ripgrep searches only for plain texts, never for a regular expression from a model. The tool itself opens the reported files
 *    and searches them again (search-files.ts), so the lines, their order and the limits are the same with and without ripgrep.
 * 3. If ripgrep's answer is uncertain, because a file cannot be read, the tool searches the files itself.
 */
import { spawn } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join, sep } from "node:path";
import type { SearchFilter } from "./search-filter.js";

/** Files of one folder, in the order of a walk. */
export type FileRun = {
  /** The path of the folder, relative to the root; `.` for the root itself. */
  readonly folder: string;
  readonly names: readonly string[];
  /** The total number of files in the folder. */
  readonly files: number;
};

/** The names of files by the path of their folder, as in `FileRun`. */
export type NamesByFolder = ReadonlyMap<string, ReadonlySet<string>>;

/** The maximum length of the arguments of one process, in characters. Longer arguments are split among several processes. */
const maxArguments = process.platform === "win32" ? 20_000 : 200_000;

/** The absolute path of ripgrep; null if it is not installed. A program in the root is ignored. */
export function findRipgrep(root: string): string | null {
  const name = process.platform === "win32" ? "rg.exe" : "rg";
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const path = join(folder, name);
    if (isAbsolute(folder) && !path.startsWith(root + sep) && isExecutable(path)) return path;
  }
  return null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * Finds the files that contain a text of the filter. If ripgrep's answer for a group of files is uncertain, all files of the group
 * are returned.
 *
 * @throws the signal's reason if it is aborted
 */
export async function findFilesWithText(
  program: string,
  root: string,
  runs: readonly FileRun[],
  { texts, ignoreCase }: SearchFilter,
  signal: AbortSignal,
): Promise<NamesByFolder> {
  const options = [
    ...["--no-config", "--no-ignore", "--hidden", "--max-depth", "1", "--no-mmap", "--text", "--encoding", "none"],
    ...["--no-messages", "--files-with-matches", "--null", "--fixed-strings"],
    ...(ignoreCase ? ["--ignore-case"] : ["--case-sensitive"]),
    ...texts.flatMap((text) => ["-e", text]),
    "--",
  ];
  const found = new Map<string, Set<string>>();
  const add = (folder: string, name: string) => {
    const names = found.get(folder);
    if (names === undefined) found.set(folder, new Set([name]));
    else names.add(name);
  };
  for (const { paths, members } of groupFiles(runs)) {
    const matchedPaths = await runRipgrep(program, root, [...options, ...paths], signal);
    if (matchedPaths === null) for (const { folder, names } of members) for (const name of names) add(folder, name);
    else for (const path of matchedPaths) add(...splitPath(path));
  }
  return found;
}

/** The arguments of one process, and the files that they cover. */
type FileGroup = { readonly paths: string[]; readonly members: Pick<FileRun, "folder" | "names">[] };

function groupFiles(runs: readonly FileRun[]): readonly FileGroup[] {
  const byFolder = new Map<string, { readonly names: string[]; readonly files: number }>();
  for (const { folder, names, files } of runs) {
    const same = byFolder.get(folder);
    if (same === undefined) byFolder.set(folder, { names: [...names], files });
    else same.names.push(...names);
  }
  const groups: FileGroup[] = [];
  let remainingCharacters = 0;
  const add = (path: string, folder: string, names: readonly string[]) => {
    remainingCharacters -= path.length * 2 + 10;
    if (remainingCharacters < 0 || groups.length === 0) {
      groups.push({ paths: [], members: [] });
      remainingCharacters = maxArguments;
    }
    groups.at(-1)?.paths.push(`./${path}`);
    groups.at(-1)?.members.push({ folder, names });
  };
  for (const [folder, { names, files }] of byFolder) {
    const isWhole = names.length === files && !names.some((name) => name.includes("\ufffd"));
    if (isWhole) add(folder, folder, names);
    else for (const name of names) add(joinPath(folder, name), folder, [name]);
  }
  return groups;
}

function splitPath(path: string): readonly [folder: string, name: string] {
  const slash = path.lastIndexOf("/");
  return slash === -1 ? [".", path] : [path.slice(0, slash), path.slice(slash + 1)];
}

/** @param folder relative to the root; `.` for the root itself */
export function joinPath(folder: string, name: string): string {
  return folder === "." ? name : `${folder}/${name}`;
}

/** The paths that ripgrep reports; null if something went wrong. */
function runRipgrep(
  program: string,
  cwd: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<string[] | null> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd,
      env: {},
      stdio: ["ignore", "pipe", "ignore"],
      signal,
      killSignal: "SIGKILL",
    });
    const output: Buffer[] = [];
    child.stdout.on("data", (bytes: Buffer) => void output.push(bytes));
    child.on("error", () => (signal.aborted ? reject(signal.reason) : resolve(null)));
    child.on("close", (code) => {
      if (signal.aborted) reject(signal.reason);
      else if (code !== 0 && code !== 1) resolve(null);
      else resolve(Buffer.concat(output).toString().split("\0").slice(0, -1).map(stripDotPrefix));
    });
  });
}

function stripDotPrefix(path: string): string {
  return path.replace(/^(\.\/)+/, "").replaceAll(sep, "/");
}
