/**
 * ripgrep as a filter for large trees: which of some files contain one of a few texts.
 *
 * 1. It is given the files, or folders of which every file is wanted. So which files are searched is decided by the walk alone,
 *    and what ripgrep knows of ignore rules and its configuration counts for nothing.
 * 2. It is asked for plain texts only, never for a regular expression of a model. What it names is opened and searched again by
 *    the tool itself (search-files.ts), so the lines, their order and the limits are the same with it and without it.
 * 3. If it cannot say for sure, because a file cannot be read, the tool looks itself.
 */
import { spawn } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join, sep } from "node:path";
import type { SearchFilter } from "./search-filter.js";

/** A file by its folder and name, from the root. `files`: how many files its folder has in all. */
export type ListedFile = { readonly folder: string; readonly name: string; readonly files: number };

/** More characters of arguments than this are given to several processes. */
const maxArguments = process.platform === "win32" ? 20_000 : 200_000;

/** The absolute path of the program; null if it is not installed. A program in the root is not meant. */
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
 * The paths of the files that contain a text of the filter, or all of them where ripgrep cannot say.
 *
 * @throws the reason of the signal if it is aborted
 */
export async function findFilesWithText(
  program: string,
  root: string,
  files: readonly ListedFile[],
  { texts, ignoreCase }: SearchFilter,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const options = [
    ...["--no-config", "--no-ignore", "--hidden", "--max-depth", "1", "--no-mmap", "--text", "--encoding", "none"],
    ...["--no-messages", "--files-with-matches", "--null", "--fixed-strings"],
    ...(ignoreCase ? ["--ignore-case"] : ["--case-sensitive"]),
    ...texts.flatMap((text) => ["-e", text]),
    "--",
  ];
  const matchingPaths = new Set<string>();
  for (const { paths, members } of groupFiles(files)) {
    const matchedPaths = await runRipgrep(program, root, [...options, ...paths], signal);
    for (const path of matchedPaths ?? members) matchingPaths.add(path);
  }
  return matchingPaths;
}

/** What one process is given, and the files that it covers. */
type FileGroup = { readonly paths: readonly string[]; readonly members: readonly string[] };

function groupFiles(files: readonly ListedFile[]): readonly FileGroup[] {
  const byFolder = new Map<string, ListedFile[]>();
  for (const file of files) {
    const same = byFolder.get(file.folder);
    if (same === undefined) byFolder.set(file.folder, [file]);
    else same.push(file);
  }
  const groups: { paths: string[]; members: string[] }[] = [];
  let remainingCharacters = 0;
  for (const [folder, members] of byFolder) {
    const isWhole = members.length === members[0]?.files && !members.some(({ name }) => name.includes("\ufffd"));
    const groupPaths = isWhole ? [folder] : members.map(({ name }) => joinPath(folder, name));
    for (const path of groupPaths) {
      remainingCharacters -= path.length * 2 + 10;
      if (remainingCharacters < 0 || groups.length === 0) {
        groups.push({ paths: [], members: [] });
        remainingCharacters = maxArguments;
      }
      groups.at(-1)?.paths.push(`./${path}`);
      if (!isWhole) groups.at(-1)?.members.push(path);
    }
    if (isWhole) for (const { name } of members) groups.at(-1)?.members.push(joinPath(folder, name));
  }
  return groups;
}

/** @param folder from the root; `.` for the root itself */
export function joinPath(folder: string, name: string): string {
  return folder === "." ? name : `${folder}/${name}`;
}

/** The paths that it names; null if something went wrong. */
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
