/**
 * The tool that finds text in files: `search_files`.
 */
import { lstat } from "node:fs/promises";
import type { Tool } from "../ports/tool.js";
import { counted } from "./counted.js";
import { explained, type FilePosition, type Root, resolveInRoot } from "./root.js";
import { findMatches, type SearchOptions } from "./search-text.js";
import { type FileContent, readTextFile, readTextOrThrow } from "./text-file.js";
import { filterByPattern, maxEntriesWalked, walk } from "./walk.js";

type SearchInput = SearchOptions & { readonly path?: string; readonly pattern?: string; readonly limit?: number };

export function createSearchFiles(root: Root): Tool<SearchInput, string> {
  return {
    name: "search_files",
    description:
      "Finds lines that contain a text, taken literally: it is not a regular expression. Gives `path:line: text` for each, in the order of the paths. " +
      "Binary files, files over 16 MiB, `.git` and `node_modules` are left out.",
    input: {
      type: "object",
      properties: {
        text: { type: "string", minLength: 1, description: "A part of one line." },
        path: { type: "string", description: "A folder or a file, from the root. Default: the root." },
        pattern: { type: "string", description: "Only in files that fit: *.ts, src/**/*.{js,ts}" },
        ignoreCase: { type: "boolean" },
        wholeWord: { type: "boolean", description: "Not within a longer word." },
        limit: { type: "integer", minimum: 1, maximum: 5000, description: "Lines shown. Default 200." },
      },
      required: ["text"],
      additionalProperties: false,
    },
    readOnly: true,
    execute: async (input, { signal }) => {
      if (/[\r\n]/.test(input.text))
        throw new Error("The text spans several lines, but each line is searched on its own. Give a part of one line.");
      const place = await resolveInRoot(root, input.path ?? ".");
      return report(input, place, await searchUnder(root, place, input, signal));
    },
  };
}

type Tally = {
  readonly shown: string[];
  lines: number;
  filesWithMatches: number;
  searched: number;
  large: number;
  unreadable: number;
};

async function searchUnder(root: Root, place: FilePosition, input: SearchInput, signal: AbortSignal): Promise<Tally> {
  const tally: Tally = { shown: [], lines: 0, filesWithMatches: 0, searched: 0, large: 0, unreadable: 0 };
  const stats = await lstat(place.absolute).catch((error: unknown) => {
    throw explained(error, place.shown);
  });
  if (!stats.isDirectory()) {
    tallyFile(tally, place, await readTextOrThrow(root, place), input);
    return tally;
  }
  const fits = filterByPattern(place, input.pattern);
  let walked = 0;
  for await (const found of walk(place, { signal })) {
    walked += 1;
    if (walked > maxEntriesWalked)
      throw new Error(`${place.shown} has over ${maxEntriesWalked} entries. Search in a folder below it.`);
    if (found.kind !== "file" || !fits(found)) continue;
    const content = await readTextFile(root, found).catch(() => "unreadable" as const);
    if (content === "unreadable") tally.unreadable += 1;
    else tallyFile(tally, found, content, input);
  }
  return tally;
}

function tallyFile(tally: Tally, file: FilePosition, content: FileContent, input: SearchInput): void {
  if ("refused" in content) {
    if (content.refused === "large") tally.large += 1;
    return;
  }
  tally.searched += 1;
  const matches = findMatches(content.text, input);
  if (matches.length === 0) return;
  tally.filesWithMatches += 1;
  tally.lines += matches.length;
  const room = Math.max(0, (input.limit ?? 200) - tally.shown.length);
  for (const match of matches.slice(0, room)) tally.shown.push(`${file.shown}:${match.line}: ${match.text}`);
}

function report(input: SearchInput, place: FilePosition, tally: Tally): string {
  const notes = [
    ...(tally.large > 0 ? [`; ${counted(tally.large, "file")} over 16 MiB left out`] : []),
    ...(tally.unreadable > 0 ? [`; ${counted(tally.unreadable, "file")} could not be read`] : []),
  ].join("");
  const searched = counted(tally.searched, "file");
  if (tally.lines === 0)
    return `No lines contain ${JSON.stringify(input.text)} (${searched} searched under ${place.shown}${notes})`;
  const cut = tally.lines > tally.shown.length ? `, the first ${tally.shown.length} shown` : "";
  const found = `${counted(tally.lines, "line")} in ${counted(tally.filesWithMatches, "file")}${cut}`;
  return `${tally.shown.join("\n")}\n(${found}; ${searched} searched${notes})`;
}
