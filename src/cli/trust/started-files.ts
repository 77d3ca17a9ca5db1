/**
 * The files of the folder that a server of `.mcp.json` or a hook of `.pawl/hooks.json` may run. Trust in these files includes them.
 *
 * 1. Each file of the folder that a command line or a variable names is hashed with all its bytes.
 * 2. It cannot be known which other files a shell, a runner such as `npm run`, or a program of the folder reads. In that case,
 *    every file of the folder that Git does not ignore counts: by its size, its inode and the time of its last status change. No
 *    program can set that time back, as it can set the time of modification.
 */
import { createHash } from "node:crypto";
import { closeSync, lstatSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join, relative, resolve, sep } from "node:path";
import { PawlError } from "../../index.js";
import { addIgnoreRules, type IgnoreRules, isIgnored, maxIgnoreBytes } from "../../tools/files/ignore-rules.js";
import type { McpTransport } from "../../tools/mcp/index.js";
import { readSmallFile } from "../files/small-file.js";

type StdioTransport = Extract<McpTransport, { readonly type: "stdio" }>;

/** The files of the folder that a server names, relative to the folder. */
export function listNamedFiles(server: StdioTransport, root: string): readonly string[] {
  const searchPath = server.env?.PATH ?? process.env.PATH ?? "";
  const folder = resolve(root, server.cwd ?? ".");
  const words = [server.command, ...(server.args ?? []), ...Object.values(server.env ?? {})];
  const candidates = [
    ...words.flatMap(listPathsInWord).map((path) => resolve(folder, path)),
    ...(/[/\\]/.test(server.command) ? [] : findPrograms(server.command, folder, searchPath)),
  ];
  return [...new Set(candidates.flatMap((path) => toFolderFile(root, path) ?? []))];
}

/** A redirection of an output, or a word: quoted and escaped characters belong to it. */
const shellToken = /(&?>[>|&]*\s*)|((?:\\.|"(?:\\.|[^"\\])*"|'[^']*'|[^\s;&|<>()`])+)/gs;

/** The words of a command line for a shell, also those of command lines in quotes, without the files that it writes its output to. */
function listWordsOfLine(line: string, depth = 0): readonly string[] {
  let isOutput = false;
  return [...line.matchAll(shellToken)].flatMap(({ 2: written }) => {
    const isWritten = isOutput;
    isOutput = written === undefined;
    if (written === undefined || isWritten) return [];
    const word = written.replace(
      quotation,
      (_, escaped?: string, double?: string, single?: string) =>
        escaped ?? double?.replace(/\\(["\\$`])/g, "$1") ?? single ?? "",
    );
    return [word, ...(depth < maxLineDepth && /[\s;&|<>()`]/.test(word) ? listWordsOfLine(word, depth + 1) : [])];
  });
}

const quotation = /\\(.)|"((?:\\.|[^"\\])*)"|'([^']*)'/gs;
const maxLineDepth = 3;
/** The maximum number of folders that relative paths of a line are looked up in. */
const maxLineFolders = 8;

/**
 * The files of the folder that a command line for a shell names, relative to the folder: from the root, or from a folder that the
 * line also names, as `cd` does. A path that the shell puts together, from other variables or a pattern, is not found.
 */
export function listFilesOfLine(line: string, root: string): readonly string[] {
  const paths = [...new Set(listWordsOfLine(line).flatMap(listPathsInWord))];
  const folders = [root];
  for (const folder of folders)
    for (const path of paths) {
      const named = resolve(folder, path);
      if (folders.length < maxLineFolders && !folders.includes(named) && isFolderBelow(root, named))
        folders.push(named);
    }
  const files = folders.flatMap((folder) => paths.flatMap((path) => toFolderFile(root, resolve(folder, path)) ?? []));
  return [...new Set(files)];
}

function isFolderBelow(root: string, path: string): boolean {
  if (!path.startsWith(root + sep)) return false;
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Whether a server may run files of the folder that it does not name. */
export function canRunOtherFiles(server: StdioTransport, root: string): boolean {
  const program = server.command.split(/[/\\]/).at(-1) ?? "";
  return (
    runnerPrograms.has(program.toLowerCase().replace(/[\d.]*(\.exe|\.cmd|\.bat)?$/, "")) ||
    Object.keys(server.env ?? {}).some((name) => steeringVariables.test(name)) ||
    server.cwd !== undefined ||
    [server.command, ...(server.args ?? [])].some((word) => word.includes("$")) ||
    listNamedFiles(server, root).length > 0
  );
}

/** Shells, interpreters, package runners and build tools, without the numbers of their versions. */
const runnerPrograms: ReadonlySet<string> = new Set(
  `sh bash dash zsh ksh mksh ash fish csh tcsh pwsh powershell cmd busybox env sudo doas nohup nice timeout xargs setsid
  node nodejs npm npx pnpm pnpx yarn yarnpkg corepack bun bunx deno tsx ts-node
  python py pypy pip pipx uv uvx poetry hatch pdm pipenv conda mamba ruby bundle rake gem perl php composer lua
  java gradle gradlew mvn mvnw kotlin scala sbt go cargo rustup make gmake just task ninja dotnet swift mix elixir
  docker-compose nix nix-shell direnv mise asdf git ssh`.split(/\s+/),
);

/** Variables that name programs, or files that a program loads. */
const steeringVariables =
  /^(PATH|HOME|ENV|BASH_ENV|SHELL|EDITOR|VISUAL|PAGER|CLASSPATH|NODE_OPTIONS|NODE_PATH|_?JAVA_.*|JDK_.*|(LD|DYLD|PYTHON|PERL|RUBY|GEM|BUNDLE|PHP|GIT|NPM_CONFIG|YARN|PNPM|UV|PIP|DENO|BUN|XDG|MAKE|CARGO|GO|LUA|TSX|TS_NODE)_?.*)$/i;

/** The possible paths in a word: `--import=./pre.mjs`, `-r./pre.cjs`, `lib:other`, `file:///srv/x.mjs`. */
function listPathsInWord(word: string): readonly string[] {
  const parts = word.split(/[\s=:,;"']+/);
  const joined = parts.flatMap((part) => /\.{1,2}\/.*/.exec(part)?.[0] ?? []);
  const urlPaths = word.startsWith("file://") ? [decodeUrlPath(word.slice("file://".length))] : [];
  return [word, ...parts, ...joined, ...urlPaths].filter((path) => path !== "" && path.length < 4096);
}

/** The URL may be malformed. Then it is returned unchanged. */
function decodeUrlPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** The path at which the system finds a program, in the order of its search path; empty if there is none. */
function findPrograms(command: string, folder: string, searchPath: string): readonly string[] {
  const candidates = searchPath.split(delimiter).map((entry) => resolve(folder, entry, command));
  const first = candidates.find((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true);
  return first === undefined ? [] : [first];
}

/** The path relative to the folder; null if it is not a file in it. */
function toFolderFile(root: string, path: string): string | null {
  const inner = relative(root, path);
  if (inner === "" || inner.startsWith("..") || isAbsolute(inner)) return null;
  try {
    return statSync(path).isFile() ? inner : null;
  } catch {
    return null;
  }
}

/** The maximum number of files that a folder of scripts may have. */
const maxScripts = 500;

/**
 * All files below a folder of the root, as paths from the root. A link counts if it leads to a file.
 * @throws PawlError `bad_configuration` if there are too many, or if a link leads to a folder, whose files would not be seen
 */
export function listFilesBelow(root: string, folder: string): readonly string[] {
  const files: string[] = [];
  const folders = [folder];
  for (let path = folders.pop(); path !== undefined; path = folders.pop()) {
    for (const entry of readEntries(join(root, path))) {
      const inner = join(path, entry.name);
      if (entry.isDirectory()) folders.push(inner);
      else if (statSync(join(root, inner), { throwIfNoEntry: false })?.isFile() === true) files.push(inner);
      else
        throw new PawlError(
          "bad_configuration",
          `${join(root, inner)} is neither a file nor a folder. Remove it, because ${folder} is trusted by its files.`,
        );
      if (files.length + folders.length > maxScripts)
        throw new PawlError(
          "bad_configuration",
          `${join(root, folder)} has more than ${maxScripts} files. Keep only scripts of hooks there.`,
        );
    }
  }
  return files;
}

/** The maximum size of a file that is hashed. A link can lead to a file without an end, such as one in `/proc`. */
const maxHashedBytes = 512 * 1024 * 1024;

/** The SHA-256 of a file. @throws PawlError `bad_configuration` if it is too large; a system error if it cannot be read */
export function hashFile(path: string): string {
  const hash = createHash("sha256");
  const piece = Buffer.alloc(1024 * 1024);
  const file = openSync(path, "r");
  try {
    let bytes = 0;
    for (let read = readSync(file, piece); read > 0; read = readSync(file, piece)) {
      bytes += read;
      if (bytes > maxHashedBytes)
        throw new PawlError(
          "bad_configuration",
          `${path} has more than 512 MiB, and trust would include its content. Remove it, or the command that names it.`,
        );
      hash.update(piece.subarray(0, read));
    }
    return hash.digest("hex");
  } finally {
    closeSync(file);
  }
}

/**
 * The state of all files of the folder that Git does not ignore.
 *
 * @throws PawlError `bad_configuration` if the folder has too many files
 */
export function hashFolderState(root: string): string {
  const hash = createHash("sha256");
  let entries = 0;
  const folders: { readonly path: string; readonly above: IgnoreRules | null }[] = [{ path: "", above: null }];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const { path, above } = folder;
    const file = readIgnoreFile(join(root, path));
    const rules = file === null ? above : addIgnoreRules(above, file, path);
    for (const entry of readEntries(join(root, path))) {
      const inner = `${path}${entry.name}`;
      const isFolder = entry.isDirectory();
      entries += 1;
      if (entries > maxEntries) throw createTooLargeError(root);
      // A .gitignore is included even if it ignores itself.
      if (entry.name !== ".gitignore" && (entry.name === ".git" || isIgnored(rules, inner, isFolder))) continue;
      if (isFolder) folders.push({ path: `${inner}/`, above: rules });
      else hash.update(`${inner}\0${describeFileState(join(root, inner))}\0`);
    }
  }
  return hash.digest("hex");
}

const maxEntries = 200_000;

function readEntries(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true }).sort((one, other) => (one.name < other.name ? -1 : 1));
  } catch {
    return [];
  }
}

/** The state of the file itself. A link is not followed, because replacing the link already changes its state. */
function describeFileState(path: string): string {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? "" : `${stats.mode} ${stats.size} ${stats.ino} ${stats.mtimeNs} ${stats.ctimeNs}`;
}

function readIgnoreFile(folder: string): Uint8Array | null {
  try {
    const ignoreFile = readSmallFile(join(folder, ".gitignore"), maxIgnoreBytes);
    return ignoreFile.type === "file" ? ignoreFile.bytes : null;
  } catch {
    return null;
  }
}

function createTooLargeError(root: string): PawlError {
  return new PawlError(
    "bad_configuration",
    `${root} has more than ${maxEntries} files and folders, and a server of its .mcp.json may run any of them. Start the server from your own mcp.json, with a program outside of the folder.`,
  );
}
