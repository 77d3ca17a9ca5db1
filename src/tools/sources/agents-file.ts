/**
 * `AGENTS.md` as a context source (CTX-11): what the makers of a folder, and the user, tell each agent that works there.
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

/** Where `AGENTS.md` files are looked for. */
export type AgentsFileOptions = {
  /** The folder that the agent works on. The folders above it count, up to the one that holds `.git`. */
  readonly root: string;
  /** A folder with the user's own file, which counts in every folder. */
  readonly user?: string;
  /** The names of the file; of each folder, the first that exists counts. Default: `["AGENTS.md"]`. */
  readonly names?: readonly string[];
  /**
   * Who wrote the files below `root` and above it: "project" for any folder, "author" for one that ships with the
   * agent. Without it they are left out, with a warning: they come from the maker of the folder.
   */
  readonly trust?: SourceTrust;
  /** Whether a file may be read, by its real path. Files that may not be read are left out. Default: all may be. */
  readonly mayReach?: MayReach;
  /** The most bytes of one file. What is over is cut by whole lines. Default: 32 KiB. */
  readonly maxFileBytes?: number;
  /** The most bytes of all files. Those that are farthest from `root` are cut first. Default: 64 KiB. */
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
 * A context source with the `AGENTS.md` files of a folder. Each run of the agent goes by the files as they are when the
 * run begins. They stand below the system prompt: the user's first, then from the repository's root down to `root`. A
 * link that leads out of the folder in which it stands is not followed: such a file is left out, with a warning, and so is one that
 * cannot be read. With trust "author", it ends the run instead.
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
    throw createMisuseError("takes the names of files in `names`, without folders");
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
            `${path} was left out: agentsFile() was given no \`trust\`. Pass trust: "project" to use such files.`,
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

function createMisuseError(what: string): PawlError {
  return new PawlError("bad_configuration", `agentsFile() ${what}.`);
}

/** From the repository's root down to the folder; only the folder if it is in no repository. */
function listFoldersUpToRepository(root: string): readonly string[] {
  const folders: string[] = [];
  for (let folder = root; folders.length < maxFolders; folder = dirname(folder)) {
    folders.unshift(folder);
    if (existsSync(join(folder, ".git"))) return folders;
    if (dirname(folder) === folder) break;
  }
  return [root];
}

/** The first of the names for which there is something in the folder. */
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
 * Null, with a warning, if the file cannot be read: a folder must not end every run in it with, for example, a link that leads out.
 *
 * @throws Error that names the file, if it is the author's: the agent would work without what its author told it
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
    const problem = cause instanceof Error ? cause.message : String(cause);
    if (trust === "author") throw new Error(`${path}: ${problem}`, { cause });
    warnOnce(`${path} was left out: ${problem}`);
    return null;
  }
}

/** The nearest file has the first claim to the bytes. */
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
