/**
 * The tool `search_files`, which finds text in files.
 */
import type { Tool, ToolContext } from "../../ports/tool.js";
import { type Folder, statIn } from "../files/folder.js";
import { createFolderChain, type FolderChain } from "../files/folder-chain.js";
import { formatPath } from "../files/format-path.js";
import { type ResolvedPath, type Root, resolveInRoot, withOpenFolder, withParentFolder } from "../files/root.js";
import { decodeFileText, detectBinary, readTextIn, requireText } from "../files/text-file.js";
import {
  createOmissions,
  createPatternFilter,
  formatIgnoredNote,
  maxDepth,
  maxEntriesWalked,
  type WalkEntry,
  type WalkOmissions,
  walk,
} from "../files/walk.js";
import { formatCount } from "../lib/format-count.js";
import { assertMaxLength, maxPathCharacters, maxPatternCharacters, maxSearchCharacters } from "../lib/input-bounds.js";
import { createPace, isTurnOver, type Pace } from "../lib/pace.js";
import { createExpressionSearch, maxExpressionCharacters } from "./expression-search.js";
import {
  countMatchingLines,
  createTextSearch,
  type LineCount,
  type LineSearch,
  type SearchOptions,
} from "./line-search.js";
import { type FileRun, findFilesWithText, findRipgrep, joinPath, type NamesByFolder } from "./ripgrep.js";
import { findCandidates, type ScanResult, scanFile } from "./scan-file.js";
import { createSearchFilter, type SearchFilter } from "./search-filter.js";

type SearchInput = SearchOptions & {
  readonly regex?: boolean;
  readonly path?: string;
  readonly pattern?: string;
  readonly all?: boolean;
  readonly limit?: number;
};

export function createSearchFiles(root: Root): Tool<SearchInput, string> {
  return {
    name: "search_files",
    lenientInput: true,
    description:
      "Finds lines that contain a text, taken literally unless `regex` is set. Returns `path:line: text` for each, in path order. " +
      "Files that Git ignores, `.git` and `node_modules` are left out unless `all` is set; binary files and files over 16 MiB are always left out.",
    input: {
      type: "object",
      properties: {
        text: { type: "string", minLength: 1, maxLength: maxSearchCharacters, description: "Part of a single line." },
        path: {
          type: "string",
          maxLength: maxPathCharacters,
          description: "A folder or a file, relative to the root. Default: the root.",
        },
        pattern: {
          type: "string",
          maxLength: maxPatternCharacters,
          description: "Only in matching files: *.ts, src/**/*.{js,ts}",
        },
        regex: {
          type: "boolean",
          description: `The text is a regular expression for part of a single line, in the syntax of RE2 and Go: no look-around, no back-references. At most ${maxExpressionCharacters} characters.`,
        },
        ignoreCase: { type: "boolean" },
        all: { type: "boolean", description: "Also searches files that Git ignores, .git and node_modules." },
        wholeWord: { type: "boolean", description: "Does not match within a longer word." },
        limit: {
          type: "integer",
          minimum: 1,
          maximum: 5000,
          description: "The maximum number of lines shown. Default 200.",
        },
      },
      required: ["text"],
      additionalProperties: false,
    },
    readOnly: true,
    execute: (input, context) => searchFiles(root, input, context),
  };
}

async function searchFiles(root: Root, input: SearchInput, { signal }: ToolContext): Promise<string> {
  assertMaxLength("The text", input.text, maxSearchCharacters);
  if (input.text === "") throw new Error("The text is empty. Give part of a line.");
  if (/[\r\n]/.test(input.text))
    throw new Error("The text spans several lines, but lines are searched one by one. Give part of a single line.");
  const resolved = await resolveInRoot(root, input.path ?? ".");
  const filter = createSearchFilter(input);
  const search: Search = {
    input,
    filter,
    findLines: input.regex === true ? await createExpressionSearch(input, filter) : createTextSearch(input),
    limit: input.limit ?? 200,
    pace: createPace(signal),
    signal,
    tally: {
      shown: [],
      characters: 0,
      lines: 0,
      filesWithMatches: 0,
      searched: 0,
      cutLines: 0,
      large: 0,
      unreadable: 0,
    },
  };
  const omissions = createOmissions();
  if (await isFolder(root, resolved))
    await withOpenFolder(root, resolved, (folder) => searchUnder(root, folder, resolved, search, omissions));
  else
    await withParentFolder(root, resolved, async (folder, name) => {
      const { text } = requireText(
        await readTextIn(folder, name, resolved.displayPath, search.pace),
        resolved.displayPath,
      );
      search.tally.searched += 1;
      await addMatches(resolved.displayPath, text, search);
    });
  return formatResult(resolved, search, omissions);
}

/** The maximum length of a result, whatever its limit on lines, in characters. */
const maxShownCharacters = 256 * 1024;

type Tally = {
  readonly shown: string[];
  characters: number;
  lines: number;
  filesWithMatches: number;
  searched: number;
  cutLines: number;
  large: number;
  unreadable: number;
};

type Search = {
  readonly input: SearchInput;
  readonly filter: SearchFilter | null;
  readonly findLines: LineSearch;
  readonly limit: number;
  readonly pace: Pace;
  readonly signal: AbortSignal;
  readonly tally: Tally;
};

async function isFolder(root: Root, resolved: ResolvedPath): Promise<boolean> {
  if (resolved.relative === ".") return true;
  return await withParentFolder(
    root,
    resolved,
    async (folder, name) => (await statIn(folder, name))?.isDirectory() === true,
  );
}

async function searchUnder(
  root: Root,
  top: Folder,
  resolved: ResolvedPath,
  search: Search,
  omissions: WalkOmissions,
): Promise<void> {
  const { pattern, all } = search.input;
  const matches = createPatternFilter(resolved, pattern);
  const batches = createBatchSearch(root, createFolderChain(top, resolved.relative), search);
  try {
    const options = { pace: search.pace, root: root.path, mayReach: root.mayReach, pattern, all };
    for await (const entries of walk(top, resolved, options, omissions)) {
      const files = entries.filter((entry) => entry.kind === "file" && matches(entry));
      const [first] = files;
      if (first !== undefined) await batches.add(toFileRun(first, files));
    }
    await batches.finish();
  } finally {
    await batches.stop();
  }
  if (omissions.tooMany)
    throw new Error(`${resolved.displayPath} has over ${maxEntriesWalked} entries. Search in a folder below it.`);
}

/** The entries that a walk yields at once are in the same folder. */
function toFileRun({ relative, name, files: total }: WalkEntry, files: readonly WalkEntry[]): FileRun {
  const folder = relative === name ? "." : relative.slice(0, -name.length - 1);
  return { folder, names: files.map((file) => file.name), files: total };
}

/** The minimum number of files in a batch, except the last. Starting ripgrep takes as long as searching this many files. */
const minBatchFiles = 3_000;

/**
 * Searches the files of a walk in batches, in walk order. Large trees are first filtered with ripgrep, and the walk continues while
 * ripgrep works on a batch.
 */
function createBatchSearch(root: Root, chain: FolderChain, search: Search) {
  const { filter, pace, tally } = search;
  const stopping = new AbortController();
  const signal = AbortSignal.any([search.signal, stopping.signal]);
  let [batch, batchFiles]: [FileRun[], number] = [[], 0];
  let program: string | null = null;
  let filtering: Promise<unknown> | null = null;
  let searched: Promise<void> = Promise.resolve();

  /** @param found the files that ripgrep has found; null to examine every file */
  const searchRuns = async (runs: readonly FileRun[], found: NamesByFolder | null) => {
    for (const { folder: path, names } of runs) {
      if (isTurnOver()) await pace();
      const matched = found?.get(path);
      if (found !== null && matched === undefined) {
        tally.searched += names.length;
        continue;
      }
      const folder = await chain.open(path).catch(() => null);
      const isCandidate = (name: string) => matched?.has(name) ?? true;
      const candidates =
        folder === null || filter === null || found !== null
          ? names.filter(isCandidate)
          : findCandidates(folder, names, filter);
      tally.searched += names.length - candidates.length;
      for (const name of candidates) {
        const scanned = folder === null ? "unreadable" : await scanFile({ folder, name }, filter, pace);
        await searchScanned(formatPath(joinPath(path, name)), scanned, search);
      }
    }
  };
  const searchBatch = async () => {
    const runs = batch;
    if (batchFiles >= minBatchFiles && filter !== null) program ??= findRipgrep(root.path);
    [batch, batchFiles] = [[], 0];
    if (program === null || filter === null) return await searchRuns(runs, null);
    const filtered = findFilesWithText(program, root.path, runs, filter, signal);
    const earlier = searched;
    const clearFiltering = () => {
      filtering = null;
    };
    filtering = filtered.then(clearFiltering, clearFiltering);
    // After an abort, `stop` closes folders that the previous batch may still use, so this also waits for that batch.
    searched = earlier.then(async () => await searchRuns(runs, await filtered));
    // The error is rethrown when the walk has ended.
    searched.catch(() => {});
  };
  return {
    async add(run: FileRun): Promise<void> {
      // ripgrep gets a whole folder as a single path, so a folder is never split.
      const isFull = batchFiles >= minBatchFiles && run.folder !== batch.at(-1)?.folder;
      if (isFull && filtering === null) await searchBatch();
      batch.push(run);
      batchFiles += run.names.length;
    },
    async finish(): Promise<void> {
      await filtering;
      await searchBatch();
      await searched;
    },
    async stop(): Promise<void> {
      stopping.abort();
      await searched.catch(() => {});
      chain.close();
    },
  };
}

async function searchScanned(shown: string, scanned: ScanResult, search: Search): Promise<void> {
  const { tally, limit, pace, input } = search;
  if (scanned === "large" || scanned === "unreadable") {
    tally[scanned] += 1;
    return;
  }
  tally.searched += 1;
  if (scanned === "no match" || detectBinary(scanned) !== null) return;
  const isFull = tally.shown.length >= limit || tally.characters > maxShownCharacters;
  const counted = isFull && input.regex !== true ? countMatchingLines(scanned, input) : null;
  if (counted === null) await addMatches(shown, await decodeFileText(scanned, pace), search);
  else addCounts({ lines: counted, cutLines: 0 }, tally);
}

async function addMatches(shown: string, text: string, { findLines, limit, pace, tally }: Search): Promise<void> {
  const maxMatches = tally.characters > maxShownCharacters ? 0 : limit - tally.shown.length;
  const found = await findLines(text, {
    pace,
    maxMatches,
    onMatch: ({ line, text }) => {
      if (tally.characters > maxShownCharacters) return;
      const match = `${shown}:${line}: ${text}`;
      tally.shown.push(match);
      tally.characters += match.length + 1;
    },
  });
  addCounts(found, tally);
}

function addCounts({ lines, cutLines }: LineCount, tally: Tally): void {
  if (lines > 0) tally.filesWithMatches += 1;
  tally.lines += lines;
  tally.cutLines += cutLines;
}

function formatResult(resolved: ResolvedPath, { input, tally }: Search, omissions: WalkOmissions): string {
  const notes = [
    ...(tally.cutLines > 0 ? [`; ${formatCount(tally.cutLines, "line")} searched only at the beginning`] : []),
    ...(tally.large > 0 ? [`; ${formatCount(tally.large, "file")} over 16 MiB left out`] : []),
    ...(tally.unreadable > 0 ? [`; ${formatCount(tally.unreadable, "file")} could not be read`] : []),
    ...(omissions.tooDeep > 0 ? [`; folders below ${maxDepth} levels left out`] : []),
    formatIgnoredNote(omissions, tally.lines === 0),
  ].join("");
  const searched = formatCount(tally.searched, "file");
  if (tally.lines === 0)
    return `No lines ${input.regex === true ? "match" : "contain"} ${JSON.stringify(input.text)} (${searched} searched under ${resolved.displayPath}${notes})`;
  const cut = tally.lines > tally.shown.length ? `, the first ${tally.shown.length} shown` : "";
  const found = `${formatCount(tally.lines, "line")} in ${formatCount(tally.filesWithMatches, "file")}${cut}`;
  return `${tally.shown.join("\n")}\n(${found}; ${searched} searched${notes})`;
}
