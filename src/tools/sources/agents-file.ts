/**
 * `AGENTS.md` as a context source (CTX-11): instructions for every agent from the authors of a folder, and from the user.
 */

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  aFunction,
  anArray,
  checkOptions,
  integerFrom,
  nonEmptyString,
  type OptionTable,
  oneOf,
} from "../../check-options.js";
import { getErrorMessage } from "../../core/data/error-message.js";
import type { SourceTrust } from "../../core/machine/sources.js";
import { PawlError } from "../../errors.js";
import type { ContextSource, SourceText } from "../../ports/context.js";
import { statIn } from "../files/folder.js";
import {
  isWithin,
  type MayReach,
  type Root,
  resolveExistingPart,
  toResolvedPath,
  withOpenFolder,
} from "../files/root.js";
import {
  readFileStart,
  type SourceFileText,
  toAbsolutePath,
  truncateByLines,
  trustLevels,
  tryCreateRoot,
  warnOnce,
} from "./source-file.js";

/** Where to look for `AGENTS.md` files. */
export type AgentsFileOptions = {
  /** The folder that the agent works on. The folders above it are included, up to the one that contains `.git`. */
  readonly root: string;
  /** A folder with the user's own file, which applies in every folder. */
  readonly user?: string;
  /** The possible names of the file; in each folder, the first one that exists is used. Default: `["AGENTS.md"]`. */
  readonly names?: readonly string[];
  /**
   * The author of the files in and above `root`: "project" for any folder, "author" for a folder that ships with the agent. Without
   * this option, these files are omitted, with a warning, because they come from the author of the folder.
   */
  readonly trust?: SourceTrust;
  /** Whether a file may be read, by its real path. Other files are omitted. Default: all may be read. */
  readonly mayReach?: MayReach;
  /** The maximum size of one file, in bytes. The excess is cut by whole lines. Default: 32 KiB. */
  readonly maxFileBytes?: number;
  /** The maximum size of all files, in bytes. The files farthest from `root` are cut first. Default: 64 KiB. */
  readonly maxBytes?: number;
};

const optionRules: OptionTable<AgentsFileOptions> = {
  root: nonEmptyString,
  user: nonEmptyString,
  names: anArray,
  trust: oneOf(...trustLevels),
  mayReach: aFunction,
  maxFileBytes: integerFrom(1, "bytes"),
  maxBytes: integerFrom(1, "bytes"),
};

const maxFolders = 64;

type Candidate = { readonly folder: string; readonly trust: SourceTrust };
type FoundFile = Candidate & SourceFileText;

/**
 * Creates a context source with the `AGENTS.md` files of a folder. Each run of the agent uses the files as they are when the run
 * begins. They follow the system prompt: the user's file first, then the files from the repository's root down to `root`. A file
 * that cannot be read, or a link that leads out of its folder, is omitted with a warning. With trust "author", such a file ends the
 * run instead.
 *
 * @throws PawlError `bad_configuration`
 *
 * @example
 * ```ts
 * import { agentsFile } from "pawl/tools";
 *
 * const source = agentsFile({ root: ".", trust: "project" });
 * const agent = createAgent({ model, context: { sources: [source] } });
 * ```
 */
export function agentsFile(options: AgentsFileOptions): ContextSource {
  checkOptions("agentsFile()", optionRules, options, { otherNames: { cwd: "root", folder: "root", home: "user" } });
  const { root, user, names = ["AGENTS.md"], trust, mayReach = () => true } = options;
  const { maxFileBytes = 32 * 1024, maxBytes = 64 * 1024 } = options;
  if (typeof root !== "string") throw createMisuseError("needs a root: the folder that the agent works on");
  if (names.length === 0 || !names.every((name) => typeof name === "string" && /^[^/\\\0]{1,255}$/.test(name)))
    throw createMisuseError("needs file names without folders in `names`");
  return {
    name: "AGENTS.md",
    async load() {
      const candidates: readonly Candidate[] = [
        ...(user === undefined ? [] : [{ folder: toAbsolutePath(user), trust: "user" as const }]),
        ...listFoldersUpToRepository(toAbsolutePath(root)).map((folder) => ({
          folder,
          trust: trust ?? ("project" as const),
        })),
      ];
      const found: FoundFile[] = [];
      for (const candidate of candidates) {
        const name = await findNameIn(candidate.folder, names);
        if (name === null) continue;
        const path = join(candidate.folder, name);
        if (!mayReach(resolveExistingPart(path), "read")) continue;
        if (trust === undefined && candidate.trust !== "user") {
          warnOnce(
            `${path} was left out, because agentsFile() has no \`trust\`. Pass trust: "project" to use such files.`,
          );
          continue;
        }
        const read = await readCandidate(candidate, name, maxFileBytes);
        if (read !== null) found.push({ ...candidate, ...read, path });
      }
      return toSourceTexts(found, maxFileBytes, maxBytes);
    },
  };
}

function createMisuseError(problem: string): PawlError {
  return new PawlError("bad_configuration", `agentsFile() ${problem}.`);
}

/** The folders from the repository's root down to this folder; only this folder if it is not in a repository. */
function listFoldersUpToRepository(root: string): readonly string[] {
  const folders: string[] = [];
  for (let folder = root; folders.length < maxFolders; folder = dirname(folder)) {
    folders.unshift(folder);
    if (existsSync(join(folder, ".git"))) return folders;
    if (dirname(folder) === folder) break;
  }
  return [root];
}

/** The first of the names that exists in the folder. */
async function findNameIn(path: string, names: readonly string[]): Promise<string | null> {
  const root = tryCreateRoot(path);
  if (root === null) return null;
  return await withOpenFolder(root, toTopPath(root), async (folder) => {
    for (const name of names) if ((await statIn(folder, name)) !== null) return name;
    return null;
  });
}

function toTopPath(root: Root) {
  return toResolvedPath(root.path, ".");
}

/**
 * Returns null, with a warning, if the file cannot be read: a folder must not end every run in it, for example through a link that
 * leads out of the folder.
 *
 * @throws Error that names the file if it is the author's: otherwise the agent would lack its author's instructions
 */
async function readCandidate(
  { folder, trust }: Candidate,
  name: string,
  maxBytes: number,
): Promise<SourceFileText | null> {
  const path = join(folder, name);
  try {
    const root = tryCreateRoot(folder);
    if (root === null) throw new Error(`The folder ${folder} is gone.`);
    if (!isWithin(root.path, resolveExistingPart(join(root.path, name))))
      throw new Error("it is a link that leads out of its folder.");
    return await readFileStart(root, name, maxBytes);
  } catch (cause) {
    const problem = getErrorMessage(cause);
    if (trust === "author") throw new Error(`${path}: ${problem}`, { cause });
    warnOnce(`${path} was left out: ${problem}`);
    return null;
  }
}

/** Allots the bytes to the nearest file first. */
function toSourceTexts(found: readonly FoundFile[], maxFileBytes: number, maxBytes: number): readonly SourceText[] {
  let remainingBytes = maxBytes;
  const texts: SourceText[] = [];
  for (const { path, trust, ...file } of found.toReversed()) {
    const text = truncateByLines(file, Math.min(maxFileBytes, remainingBytes));
    remainingBytes = Math.max(0, remainingBytes - Math.min(file.bytes, maxFileBytes));
    texts.unshift({ name: "AGENTS.md", path, text, trust });
  }
  return texts;
}
