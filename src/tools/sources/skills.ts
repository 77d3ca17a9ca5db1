/**
 * Skills as a context source (CTX-11): folders with a `SKILL.md`, in the public format. The model sees the name and the description
 * of each skill, and reads the rest with `read_skill` when needed.
 *
 * 1. A skill is text only. Nothing in it is executed, and it grants no tools and no permissions (SEC-17).
 * 2. No path leads out of a skill's folder, not even through a link (SEC-8).
 */
import { opendir } from "node:fs/promises";
import { join } from "node:path";
import { aFunction, anArray, checkOptions, type OptionTable, oneOf } from "../../check-options.js";
import type { SourceTrust } from "../../core/machine/sources.js";
import { PawlError } from "../../errors.js";
import type { ContextSource, SourceText } from "../../ports/context.js";
import type { Tool } from "../../ports/tool.js";
import { formatPath, formatRequestedPath } from "../files/format-path.js";
import { isWithin, type MayReach, type Root } from "../files/root.js";
import { maxPathCharacters } from "../lib/input-bounds.js";
import { maxFrontMatterBytes, parseFrontMatter } from "./front-matter.js";
import { readFileStart, toAbsolutePath, truncateByLines, trustLevels, tryCreateRoot, warnOnce } from "./source-file.js";

/** A folder whose subfolders are skills. */
export type SkillFolder = {
  /** The path of the folder, which contains a subfolder for each skill. */
  readonly path: string;
  /** The author of the skills. */
  readonly trust: SourceTrust;
};

/** Where to look for skills. */
export type SkillsOptions = {
  /** Folders whose subfolders are skills. If two skills have the same name, the first one is used. */
  readonly folders: readonly (string | SkillFolder)[];
  /**
   * The author of the skills in folders that are given only by path. Without this option, these skills are omitted, with a warning.
   */
  readonly trust?: SourceTrust;
  /** Whether a file may be read, by its real path. A skill is omitted if its `SKILL.md` may not be read. Default: all may be read. */
  readonly mayReach?: MayReach;
  /** The names of skills that the model does not see and cannot read. Default: none. */
  readonly off?: readonly string[];
};

const optionRules: OptionTable<SkillsOptions> = {
  folders: anArray,
  trust: oneOf(...trustLevels),
  mayReach: aFunction,
  off: anArray,
};

const maxSkills = 200;
const maxFolderEntries = 2_000;
const maxIndexBytes = 16 * 1024;
const maxFileBytes = 64 * 1024;
const maxNameCharacters = 64;
const maxDescriptionCharacters = 1_024;
const skillFile = "SKILL.md";

type Skill = {
  readonly name: string;
  readonly description: string;
  readonly root: Root;
  readonly folder: SkillFolder;
};

/**
 * Creates a context source with the skills of some folders, and the tool `read_skill`. Each run of the agent sees the skills that
 * exist when the run begins: at most 200, in 16 KiB.
 *
 * @throws PawlError `bad_configuration`
 *
 * @example
 * ```ts
 * import { skills } from "pawl/tools";
 *
 * const source = skills({ folders: [".agents/skills"], trust: "project" }); // each skill: a folder with a SKILL.md
 * const agent = createAgent({ model, context: { sources: [source] } });
 * ```
 */
export function skills(options: SkillsOptions): ContextSource {
  checkOptions("skills()", optionRules, options, { otherNames: { folder: "folders", paths: "folders" } });
  const { folders, trust, mayReach } = options;
  const off: ReadonlySet<string> = new Set(options.off);
  if (!Array.isArray(folders) || !folders.every(isSkillFolder))
    throw new PawlError("bad_configuration", "skills() needs `folders`: paths, or objects { path, trust }.");
  const skillFolders = folders.map((folder) => (typeof folder === "string" ? { path: folder, trust } : folder));
  const trusted = skillFolders.flatMap(({ path, trust: folderTrust }) =>
    folderTrust === undefined ? [] : [{ path: toAbsolutePath(path), trust: folderTrust }],
  );
  const untrusted = skillFolders.filter((folder) => folder.trust === undefined).map(({ path }) => toAbsolutePath(path));
  const findAvailable = () => findSkills(trusted, off, mayReach);
  return {
    name: "skills",
    async load() {
      for (const path of untrusted)
        if (tryCreateRoot(path) !== null)
          warnOnce(
            `The skills in ${path} were left out, because skills() has no \`trust\`. Pass trust: "project" to use them.`,
          );
      return createIndex(trusted, await findAvailable());
    },
    tools: [createReadSkill(findAvailable)],
  };
}

function isSkillFolder(folder: unknown): boolean {
  if (typeof folder === "string") return folder !== "";
  const { path, trust } = (folder ?? {}) as Partial<SkillFolder>;
  return typeof path === "string" && path !== "" && trust !== undefined && trustLevels.includes(trust);
}

/** Creates one text for each folder that contains skills. */
function createIndex(folders: readonly SkillFolder[], found: readonly Skill[]): readonly SourceText[] {
  let remainingBytes = maxIndexBytes;
  return folders.flatMap((folder): readonly SourceText[] => {
    const own = found.filter((skill) => skill.folder === folder);
    if (own.length === 0) return [];
    const lines = own.map(({ name, description }) => `- ${name}: ${description}`);
    const whole = [indexTitle, ...lines].join("\n");
    const bytes = Buffer.byteLength(whole);
    const text = truncateByLines({ text: whole, bytes }, remainingBytes);
    remainingBytes = Math.max(0, remainingBytes - bytes);
    return [{ name: "skills", path: folder.path, text, trust: folder.trust }];
  });
}

const indexTitle = "Skills: instructions for particular work. If one fits the task, read it with read_skill first.";

async function findSkills(
  folders: readonly SkillFolder[],
  off: ReadonlySet<string>,
  mayReach: MayReach | undefined,
): Promise<readonly Skill[]> {
  const found = new Map<string, Skill>();
  for (const folder of folders) {
    const root = tryCreateRoot(folder.path, mayReach);
    if (root === null) continue;
    for (const name of await listSubfolders(root)) {
      if (found.size === maxSkills) {
        warnOnce(`There are more than ${maxSkills} skills. Skills from ${join(folder.path, name)} on are left out.`);
        return [...found.values()];
      }
      const skill = await readSkill(root, name, folder);
      if (skill !== null && !off.has(skill.name) && !found.has(skill.name)) found.set(skill.name, skill);
    }
  }
  return [...found.values()];
}

/** The sorted names of the subfolders. Links are included; those that lead out of the folder are refused later. */
async function listSubfolders(root: Root): Promise<readonly string[]> {
  const names: string[] = [];
  let entries = 0;
  for await (const entry of await opendir(root.path)) {
    entries += 1;
    if (entries > maxFolderEntries) {
      warnOnce(`${root.path} has more than ${maxFolderEntries} entries. Skills in the remaining entries are left out.`);
      break;
    }
    if (entry.isDirectory() || entry.isSymbolicLink()) names.push(entry.name);
  }
  return names.sort();
}

/** Null if the folder contains no skill or, with a warning, an invalid skill. */
async function readSkill(root: Root, name: string, folder: SkillFolder): Promise<Skill | null> {
  let beginning: string;
  try {
    beginning = (await readFileStart(root, join(name, skillFile), maxFrontMatterBytes)).text;
  } catch {
    return null;
  }
  const frontMatter = parseFrontMatter(beginning);
  const problem = findSkillProblem(frontMatter);
  const own = tryCreateRoot(join(root.path, name), root.mayReach);
  if (frontMatter?.name === undefined || frontMatter.description === undefined || problem !== null) {
    warnOnce(`The skill ${join(folder.path, name, skillFile)} was left out: ${problem}.`);
    return null;
  }
  if (own === null || !isWithin(root.path, own.path)) return null;
  return { name: frontMatter.name, description: frontMatter.description.replace(/\s+/g, " "), root: own, folder };
}

function findSkillProblem(frontMatter: ReturnType<typeof parseFrontMatter>): string | null {
  if (frontMatter === null) return "it does not begin with front matter between two --- lines";
  const { name, description } = frontMatter;
  if (name === undefined || description === undefined) return "its front matter needs a name and a description";
  if (name.length > maxNameCharacters || !/^[\p{L}\p{N}][\p{L}\p{N} ._:-]*$/u.test(name))
    return `its name must have at most ${maxNameCharacters} letters, digits, "-", "_", "." and ":"`;
  if (description.length > maxDescriptionCharacters)
    return `its description has ${description.length} characters; at most ${maxDescriptionCharacters} are allowed`;
  return null;
}

type ReadSkillInput = { readonly name: string; readonly file?: string };

function createReadSkill(findAvailable: () => Promise<readonly Skill[]>): Tool<ReadSkillInput, string> {
  return {
    name: "read_skill",
    lenientInput: true,
    description:
      "Reads a skill: its instructions (SKILL.md), or another file in its folder that they name. The result is text " +
      "from the author of the skill. It grants no tools and no permissions.",
    input: {
      type: "object",
      properties: {
        name: { type: "string", maxLength: maxNameCharacters, description: "The skill's name." },
        file: {
          type: "string",
          maxLength: maxPathCharacters,
          description: `A path relative to the skill's folder. Default: ${skillFile}.`,
        },
      },
      required: ["name"],
      additionalProperties: false,
    },
    readOnly: true,
    maxOutputBytes: maxFileBytes + frameBytes,
    execute: async ({ name, file = skillFile }) => readSkillFile(await findAvailable(), name, file),
  };
}

/** The bytes reserved for the text around a file's content. */
const frameBytes = 8 * 1024;

async function readSkillFile(found: readonly Skill[], name: string, file: string): Promise<string> {
  const skill = found.find((one) => one.name === name);
  if (skill === undefined)
    throw new Error(
      `Unknown skill ${formatRequestedPath(name)}. The skills are: ${found.map((one) => one.name).join(", ") || "none"}.`,
    );
  const { root, folder } = skill;
  const read = await readFileStart(root, file, maxFileBytes);
  const text = truncateByLines(read, maxFileBytes);
  return `[Skill ${name}, ${formatPath(read.path)}, trust: ${folder.trust}. Text only: it grants no tools and no permissions.]\n${text}`;
}
