/**
 * Uses ripgrep as a filter for large trees: finds which files contain at least one of a few texts.
 *
 * 1. ripgrep gets the files, or folders of which every file is to be searched. So the walk alone decides which files are
 *    searched, and ripgrep's own ignore rules and configuration have no effect.
 * 2. It searches only for plain texts, never for a regular expression of a model. The files that it reports are opened and
 *    searched again by the tool itself (search-files.ts), so the lines, their order and the limits are the same with and
 *    without it.
 * 3. If its answer is uncertain, because a file cannot be read, the tool searches itself.
 */
import { spawn } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join, sep } from "node:path";
import type { SearchFilter } from "./search-filter.js";

/** A file by its folder and name, relative to the root. `files`: the total number of files in its folder. */
export type ListedFile = { readonly folder: string; readonly name: string; readonly files: number };

/** The maximum length of the arguments of one process; characters. Longer ones are split among several processes. */
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
 * The paths of the files that contain a text of the filter, or of all files of a group for which ripgrep's answer is uncertain.
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

/** The arguments of one process, and the files that they cover. */
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
