/**
 * The tool that finds text in files: `search_files`.
 */
import type { Tool, ToolContext } from "../ports/tool.js";
import { counted } from "./counted.js";
import { type Folder, statIn } from "./folder.js";
import { createFolderChain } from "./folder-chain.js";
import { assertLength, maxPathCharacters, maxPatternCharacters, maxSearchCharacters } from "./input-bounds.js";
import { createPace, isTurnOver, type Pace } from "./pace.js";
import { filesWithText, findRipgrep, type ListedFile, pathOf } from "./ripgrep.js";
import { type FilePosition, inFolder, inFolderOf, type Root, resolveInRoot } from "./root.js";
import { type Scanned, scanFile, scanSmall } from "./scan-file.js";
import { maxExpressionCharacters, prepareExpression } from "./search-expression.js";
import { createSearchFilter, type SearchFilter } from "./search-filter.js";
import { countLinesWith, type LineCount, type LineSearch, prepareSearch, type SearchOptions } from "./search-text.js";
import { showPath } from "./shown-path.js";
import { binaryOf, readTextIn, textOf, textOrThrow } from "./text-file.js";
import {
  filterByPattern,
  ignoredNote,
  type LeftOut,
  maxDepth,
  maxEntriesWalked,
  nothingLeftOut,
  walk,
} from "./walk.js";

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
      "Finds lines that contain a text, taken literally unless `regex` is set. Gives `path:line: text` for each, in the order of the paths. " +
      "What Git ignores, `.git` and `node_modules` are left out unless `all` is set; binary files and files over 16 MiB always.",
    input: {
      type: "object",
      properties: {
        text: { type: "string", minLength: 1, maxLength: maxSearchCharacters, description: "A part of one line." },
        path: {
          type: "string",
          maxLength: maxPathCharacters,
          description: "A folder or a file, from the root. Default: the root.",
        },
        pattern: {
          type: "string",
          maxLength: maxPatternCharacters,
          description: "Only in files that fit: *.ts, src/**/*.{js,ts}",
        },
        regex: {
          type: "boolean",
          description: `The text is a regular expression for a part of one line, as RE2 and Go have them: no look-around, no back references. ${maxExpressionCharacters} characters at most.`,
        },
        ignoreCase: { type: "boolean" },
        all: { type: "boolean", description: "Searches what Git ignores, .git and node_modules too." },
        wholeWord: { type: "boolean", description: "Not within a longer word." },
        limit: { type: "integer", minimum: 1, maximum: 5000, description: "Lines shown. Default 200." },
      },
      required: ["text"],
      additionalProperties: false,
    },
    readOnly: true,
    execute: (input, context) => searchFiles(root, input, context),
  };
}

async function searchFiles(root: Root, input: SearchInput, { signal }: ToolContext): Promise<string> {
  assertLength("The text", input.text, maxSearchCharacters);
  if (input.text === "") throw new Error("The text is empty. Give a part of a line.");
  if (/[\r\n]/.test(input.text))
    throw new Error("The text spans several lines, but each line is searched on its own. Give a part of one line.");
  const place = await resolveInRoot(root, input.path ?? ".");
  const filter = createSearchFilter(input);
  const search: Search = {
    input,
    filter,
    findLines: input.regex === true ? await prepareExpression(input, filter) : prepareSearch(input),
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
  const leftOut = nothingLeftOut();
  if (await isFolder(root, place))
    await inFolder(root, place, (folder) => searchUnder(root, folder, place, search, leftOut));
  else
    await inFolderOf(root, place, async (folder, name) => {
      const { text } = textOrThrow(await readTextIn(folder, name, place.shown, search.pace), place.shown);
      search.tally.searched += 1;
      await addMatches(place.shown, text, search);
    });
  return report(place, search, leftOut);
}

/** The most characters of a result, whatever its limit by lines is. */
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

async function isFolder(root: Root, place: FilePosition): Promise<boolean> {
  if (place.relative === ".") return true;
  return await inFolderOf(root, place, async (folder, name) => (await statIn(folder, name))?.isDirectory() === true);
}

/** Starting ripgrep takes as long as searching this many small files. */
const filesBeforeRipgrep = 3_000;

async function searchUnder(
  root: Root,
  top: Folder,
  place: FilePosition,
  search: Search,
  leftOut: LeftOut,
): Promise<void> {
  const { input, filter, pace } = search;
  const fits = filterByPattern(place, input.pattern);
  const others = createOthers(root, top, place, search);
  let [count, program]: [number, string | null] = [0, null];
  try {
    const { pattern, all } = input;
    const options = { pace, root: root.path, mayReach: root.mayReach, pattern, all };
    for await (const entries of walk(top, place, options, leftOut))
      for (const found of entries) {
        if (found.kind !== "file" || !fits(found)) continue;
        count += 1;
        if (count === filesBeforeRipgrep && filter !== null) program = findRipgrep(root.path);
        if (program !== null && filter !== null) {
          others.add(program, filter, found);
          continue;
        }
        const small = scanSmall(found.folder, found.name, filter);
        if (small === "no match") search.tally.searched += 1;
        else await searchIn(found.shown, await scanFile(found, filter, pace, small), search);
      }
    await others.finish();
  } finally {
    await others.stop();
  }
  if (leftOut.tooMany)
    throw new Error(`${place.shown} has over ${maxEntriesWalked} entries. Search in a folder below it.`);
}

/** ripgrep is given no fewer files than this at a time, unless they are the last. */
const filesOfBatch = 5_000;

/** Looking at the clock costs more than passing over a file. */
const filesBetweenLooks = 64;

/**
 * The files of which ripgrep is asked first. While it works on some, the walk goes on. The files that it names are
 * searched in the order of the walk.
 */
function createOthers(root: Root, top: Folder, place: FilePosition, search: Search) {
  const stopping = new AbortController();
  const signal = AbortSignal.any([search.signal, stopping.signal]);
  const chain = createFolderChain(top, place.relative);
  let batch: ListedFile[] = [];
  let asked: Promise<unknown> | null = null;
  let searched: Promise<void> = Promise.resolve();
  const start = (program: string, filter: SearchFilter) => {
    const files = batch;
    batch = [];
    const named = filesWithText(program, root.path, files, filter, signal);
    const forget = () => {
      asked = null;
    };
    asked = named.then(forget, forget);
    searched = Promise.all([named, searched]).then(async ([paths]) => {
      for (const [at, file] of files.entries()) {
        if (at % filesBetweenLooks === 0 && isTurnOver()) await search.pace();
        const path = pathOf(file.folder, file.name);
        if (paths.has(path)) await searchIn(showPath(path), await scanNamed(file), search);
        else search.tally.searched += 1;
      }
    });
    // It is told when the walk has ended.
    searched.catch(() => {});
  };
  const scanNamed = async ({ folder, name }: ListedFile): Promise<Scanned> => {
    const opened = await chain.open(folder).catch(() => null);
    return opened === null ? "unreadable" : await scanFile({ folder: opened, name }, search.filter, search.pace);
  };
  let last = () => {};
  return {
    add(program: string, filter: SearchFilter, { relative, name, files }: FilePosition & ListedName): void {
      const folder = relative === name ? "." : relative.slice(0, -name.length - 1);
      batch.push({ folder, name, files });
      last = () => start(program, filter);
      if (asked === null && batch.length >= filesOfBatch) start(program, filter);
    },
    async finish(): Promise<void> {
      await asked;
      if (batch.length > 0) last();
      await searched;
    },
    async stop(): Promise<void> {
      stopping.abort();
      await searched.catch(() => {});
      await chain.close();
    },
  };
}

type ListedName = Pick<ListedFile, "name" | "files">;

async function searchIn(shown: string, scanned: Scanned, search: Search): Promise<void> {
  const { tally, limit, pace, input } = search;
  if (scanned === "large" || scanned === "unreadable") {
    tally[scanned] += 1;
    return;
  }
  tally.searched += 1;
  if (scanned === "no match" || binaryOf(scanned) !== null) return;
  const isFull = tally.shown.length >= limit || tally.characters > maxShownCharacters;
  const counted = isFull && input.regex !== true ? countLinesWith(scanned, input) : null;
  if (counted === null) await addMatches(shown, await textOf(scanned, pace), search);
  else addCounts({ lines: counted, cutLines: 0 }, tally);
}

async function addMatches(shown: string, text: string, { findLines, limit, pace, tally }: Search): Promise<void> {
  const most = tally.characters > maxShownCharacters ? 0 : limit - tally.shown.length;
  const found = await findLines(text, {
    pace,
    most,
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

function report(place: FilePosition, { input, tally }: Search, leftOut: LeftOut): string {
  const notes = [
    ...(tally.cutLines > 0 ? [`; ${counted(tally.cutLines, "line")} searched only at the beginning`] : []),
    ...(tally.large > 0 ? [`; ${counted(tally.large, "file")} over 16 MiB left out`] : []),
    ...(tally.unreadable > 0 ? [`; ${counted(tally.unreadable, "file")} could not be read`] : []),
    ...(leftOut.tooDeep > 0 ? [`; folders below ${maxDepth} levels left out`] : []),
    ignoredNote(leftOut, tally.lines === 0),
  ].join("");
  const searched = counted(tally.searched, "file");
  if (tally.lines === 0)
    return `No lines ${input.regex === true ? "match" : "contain"} ${JSON.stringify(input.text)} (${searched} searched under ${place.shown}${notes})`;
  const cut = tally.lines > tally.shown.length ? `, the first ${tally.shown.length} shown` : "";
  const found = `${counted(tally.lines, "line")} in ${counted(tally.filesWithMatches, "file")}${cut}`;
  return `${tally.shown.join("\n")}\n(${found}; ${searched} searched${notes})`;
}
