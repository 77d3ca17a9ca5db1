/**
 * What the demo model reads out of the results of the file tools.
 */

/** A line of a file, as `search_files` gives it. */
export type Hit = { readonly path: string; readonly line: number; readonly text: string };

export type SearchResult = {
  readonly hits: readonly Hit[];
  /** Lines that were found; more than `hits` where the output was cut. */
  readonly total: number;
  readonly searched: number;
};

export function readSearchResult(output: string): SearchResult {
  const hits = output.split("\n").flatMap((line) => {
    const found = /^(.+?):(\d+): (.*)$/.exec(line);
    return found === null ? [] : [{ path: found[1] ?? "", line: Number(found[2]), text: found[3] ?? "" }];
  });
  const counts = /^\((?<total>\d+) lines? in .*; (?<searched>\d+) files? searched/m.exec(output)?.groups;
  const searched = counts?.searched ?? /^No lines contain .*\((\d+) files? searched/m.exec(output)?.[1] ?? 0;
  return { hits, total: Number(counts?.total ?? hits.length), searched: Number(searched) };
}

export type FileList = { readonly paths: readonly string[]; readonly total: number };

export function readFileList(output: string): FileList {
  const count = /^\((\d+) (?:files?|entry|entries)\b.*\)$/m.exec(output);
  if (count === null) return { paths: [], total: 0 };
  const paths = output
    .slice(0, count.index)
    .split("\n")
    .filter((line) => line !== "");
  return { paths, total: Number(count[1]) };
}

/** The lines of a file as `read_file` gives them, by number. */
export type FileLines = { readonly lines: ReadonlyMap<number, string>; readonly total: number };

export function readFileLines(output: string): FileLines {
  const lines = new Map<number, string>();
  for (const line of output.split("\n")) {
    const found = /^(\d+)\t(.*)$/.exec(line);
    if (found !== null) lines.set(Number(found[1]), found[2] ?? "");
  }
  const total = /\(lines \d+ to \d+ of (\d+)/.exec(output)?.[1];
  return { lines, total: total === undefined ? lines.size : Number(total) };
}

const commentOpening = /(?<![:\w])(?:\/\/+|\/\*+|<!--|(?<!\S)(?:#+|--|;+|%+|\*))!?[ \t]*[-@[]?[ \t]*/g;
const proseOpening = /^(?:[-*+>] |\d+\. )?(?:\[[ x]\] )?/g;

/** A word that begins a comment, and what the comment says; null where the line only mentions it. */
export function readNote(hit: Hit, words: readonly string[]): { readonly word: string; readonly text: string } | null {
  const opening = /\.(?:md|mdx|txt|rst|adoc)$/i.test(hit.path) ? proseOpening : commentOpening;
  for (const found of hit.text.matchAll(opening)) {
    const rest = hit.text.slice(found.index + found[0].length);
    const word = words.find((candidate) => rest.startsWith(candidate) && !/^\w/.test(rest.slice(candidate.length)));
    if (word === undefined || isWithinQuotes(hit.text.slice(0, found.index))) continue;
    const said = rest
      .slice(word.length)
      .replace(/^(?:\([^)]*\))?[\]\s:,.-]*/, "")
      .replace(/\s*(?:\*\/\}?|-->)\s*$/, "");
    return { word, text: said === "" ? "(it says no more)" : said };
  }
  return null;
}

function isWithinQuotes(before: string): boolean {
  return ['"', "'", "`"].some((quote) => (before.split(quote).length - 1) % 2 === 1);
}

/** What a file is about: its title and headings where it is prose, what it gives to others where it is code. */
export type Outline = {
  readonly headings: readonly string[];
  readonly exports: readonly string[];
  readonly about: string | null;
};

export function readOutline(path: string, { lines }: FileLines): Outline {
  const texts = [...lines.values()];
  const isProse = /\.(?:md|mdx|markdown|rst|adoc|txt)$|(?:^|\/)[A-Z]+$/i.test(path) && !/\.[cm]?[jt]sx?$/.test(path);
  return isProse ? outlineOfProse(texts) : outlineOfCode(texts);
}

function outlineOfProse(texts: readonly string[]): Outline {
  let isCode = false;
  const headings: string[] = [];
  let about: string | null = null;
  for (const text of texts) {
    if (/^\s*(?:```|~~~)/.test(text)) isCode = !isCode;
    else if (isCode) continue;
    else if (/^#{1,6} /.test(text)) headings.push(text);
    else if (about === null && /^[\p{L}*_]/u.test(text)) about = text.trim();
  }
  return { headings, exports: [], about };
}

const definitions: readonly RegExp[] = [
  /^export (?:default )?(?:declare )?(?:abstract )?(?:async )?(?:function\*?|class|const|let|var|type|interface|enum|namespace) (?<name>[\w$]+)/,
  /^export (?:type )?(?<name>\{.*\}|\*.*?)(?: from .*)?;?$/,
  /^(?:module\.)?exports(?:\.(?<name>\w+))? =/,
  /^(?:pub )?(?:async )?(?:def|class|fn|func|struct|trait) (?<name>\w+)/,
];

function outlineOfCode(texts: readonly string[]): Outline {
  const exports: string[] = [];
  for (const text of texts) {
    const name = definitions.map((pattern) => pattern.exec(text)?.groups?.name).find((found) => found !== undefined);
    if (name !== undefined && !exports.includes(name)) exports.push(name);
  }
  const comment = texts
    .slice(0, 10)
    .map((text) => /^(?:\/\/|#|\s*\*|\/\*\*)\s+(?!\/)(?<words>.*\p{L}.*)$/u.exec(text)?.groups?.words);
  return {
    headings: [],
    exports,
    about: comment.find((words) => words !== undefined)?.replace(/\s*\*\/$/, "") ?? null,
  };
}
