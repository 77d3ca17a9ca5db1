/**
 * The tool that finds text in files: `search_files`.
 */
import type { Tool, ToolContext } from "../ports/tool.js";
import { counted } from "./counted.js";
import { type Folder, statIn } from "./folder.js";
import { assertLength, maxPathCharacters, maxPatternCharacters, maxSearchCharacters } from "./input-bounds.js";
import { createPace, type Pace } from "./pace.js";
import { type FilePosition, inFolder, inFolderOf, type MayReach, type Root, resolveInRoot } from "./root.js";
import { maxExpressionCharacters, prepareExpression } from "./search-expression.js";
import { type LineSearch, prepareSearch, type SearchOptions } from "./search-text.js";
import { type FileContent, readTextIn, textOrThrow } from "./text-file.js";
import { filterByPattern, type LeftOut, maxDepth, maxEntriesWalked, walk } from "./walk.js";

type SearchInput = SearchOptions & {
  readonly regex?: boolean;
  readonly path?: string;
  readonly pattern?: string;
  readonly limit?: number;
};

export function createSearchFiles(root: Root): Tool<SearchInput, string> {
  return {
    name: "search_files",
    description:
      "Finds lines that contain a text, taken literally unless `regex` is set. Gives `path:line: text` for each, in the order of the paths. " +
      "Binary files, files over 16 MiB, `.git` and `node_modules` are left out.",
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
  const search: Search = {
    findLines: input.regex === true ? await prepareExpression(input) : prepareSearch(input),
    limit: input.limit ?? 200,
    pace: createPace(signal),
    mayReach: root.mayReach,
    tally: {
      shown: [],
      characters: 0,
      lines: 0,
      filesWithMatches: 0,
      searched: 0,
      cutLines: 0,
      large: 0,
      unreadable: 0,
      tooDeep: 0,
    },
  };
  if (await isFolder(root, place)) await inFolder(root, place, (folder) => searchUnder(folder, place, input, search));
  else
    await inFolderOf(root, place, async (folder, name) => {
      const content = await readTextIn(folder, name, place.shown, search.pace);
      await searchIn(place, textOrThrow(content, place.shown), search);
    });
  return report(input, place, search.tally);
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
  tooDeep: number;
};

type Search = {
  readonly findLines: LineSearch;
  readonly limit: number;
  readonly pace: Pace;
  readonly mayReach: MayReach;
  readonly tally: Tally;
};

async function isFolder(root: Root, place: FilePosition): Promise<boolean> {
  if (place.relative === ".") return true;
  return await inFolderOf(root, place, async (folder, name) => (await statIn(folder, name))?.isDirectory() === true);
}

async function searchUnder(folder: Folder, place: FilePosition, input: SearchInput, search: Search): Promise<void> {
  const { pace, tally } = search;
  const fits = filterByPattern(place, input.pattern);
  const leftOut: LeftOut = { tooMany: false, tooDeep: 0 };
  for await (const found of walk(folder, place, { pace, mayReach: search.mayReach }, leftOut)) {
    if (found.kind !== "file" || !fits(found)) continue;
    const content = await readTextIn(found.folder, found.name, found.shown, pace).catch((error: unknown) => {
      if (error instanceof Error) return null;
      throw error;
    });
    if (content === null) tally.unreadable += 1;
    else await searchIn(found, content, search);
  }
  if (leftOut.tooMany)
    throw new Error(`${place.shown} has over ${maxEntriesWalked} entries. Search in a folder below it.`);
  tally.tooDeep = leftOut.tooDeep;
}

async function searchIn(
  { shown }: FilePosition,
  content: FileContent,
  { findLines, limit, pace, tally }: Search,
): Promise<void> {
  if ("refused" in content) {
    if (content.refused === "large") tally.large += 1;
    return;
  }
  tally.searched += 1;
  const most = tally.characters > maxShownCharacters ? 0 : limit - tally.shown.length;
  const found = await findLines(content.text, {
    pace,
    most,
    onMatch: ({ line, text }) => {
      if (tally.characters > maxShownCharacters) return;
      const match = `${shown}:${line}: ${text}`;
      tally.shown.push(match);
      tally.characters += match.length + 1;
    },
  });
  if (found.lines > 0) tally.filesWithMatches += 1;
  tally.lines += found.lines;
  tally.cutLines += found.cutLines;
}

function report(input: SearchInput, place: FilePosition, tally: Tally): string {
  const notes = [
    ...(tally.cutLines > 0 ? [`; ${counted(tally.cutLines, "line")} searched only at the beginning`] : []),
    ...(tally.large > 0 ? [`; ${counted(tally.large, "file")} over 16 MiB left out`] : []),
    ...(tally.unreadable > 0 ? [`; ${counted(tally.unreadable, "file")} could not be read`] : []),
    ...(tally.tooDeep > 0 ? [`; folders below ${maxDepth} levels left out`] : []),
  ].join("");
  const searched = counted(tally.searched, "file");
  if (tally.lines === 0)
    return `No lines ${input.regex === true ? "match" : "contain"} ${JSON.stringify(input.text)} (${searched} searched under ${place.shown}${notes})`;
  const cut = tally.lines > tally.shown.length ? `, the first ${tally.shown.length} shown` : "";
  const found = `${counted(tally.lines, "line")} in ${counted(tally.filesWithMatches, "file")}${cut}`;
  return `${tally.shown.join("\n")}\n(${found}; ${searched} searched${notes})`;
}
