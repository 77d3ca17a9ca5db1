/**
 * What the demo model says and writes of what it found.
 */

import type { FileLines, FileList, Hit, Outline, SearchResult } from "./findings.js";
import { inPlace } from "./words.js";

/** `answer` is for the conversation, and short; `section` is for a report, without its heading; empty where there is nothing to report. */
export type Finding = { readonly title: string; readonly answer: string; readonly section: string };

export type Note = Hit & { readonly word: string };

export type Notes = {
  readonly words: readonly string[];
  readonly path: string;
  readonly notes: readonly Note[];
  /** Lines that hold a word and are no such comment. */
  readonly mentions: readonly Hit[];
  /** The lines from the first notes on, as many notes as there are texts. */
  readonly contexts: readonly string[];
  readonly searched: number;
  /** The search found more than it showed. */
  readonly isCut: boolean;
  readonly countOnly: boolean;
};

const inAnswer = 10;

export function findingOfNotes(found: Notes): Finding {
  const { words, path, notes, mentions, searched, isCut } = found;
  const title = `${words.join(" and ")} comments ${inPlace(path)}`;
  const others =
    mentions.length === 0
      ? ""
      : ` ${count(mentions.length, "other line mentions", "other lines mention")} ${words.length === 1 ? "the word" : "the words"}.`;
  if (notes.length === 0) {
    const none = `There are no ${words.join(" or ")} comments ${at(path)} (${count(searched, "file")} searched).${others}`;
    return { title, answer: none, section: [none, ...mentionLines(mentions)].join("\n") };
  }
  const files = groupByPath(notes);
  const byWord = words.map((word) => `${notes.filter((note) => note.word === word).length} ${word}`).join(", ");
  const total = `${count(notes.length, "comment")} (${byWord}) in ${count(files.size, "file")} ${at(path)}; ${count(searched, "file")} searched.${isCut ? " There are more: the search was cut." : ""}`;
  const lines = notes.map((note) => `- \`${note.path}:${note.line}\` ${note.word}: ${note.text}`);
  const answer = found.countOnly
    ? `${total}${others}`
    : [`Found ${total}`, "", ...firstOf(lines), ...(others === "" ? [] : ["", others.trim()])].join("\n");
  return {
    title,
    answer,
    section: [
      `**${total}**`,
      "",
      ...tableOf(words, files),
      ...sectionsOf(files, found),
      ...mentionLines(mentions),
    ].join("\n"),
  };
}

function tableOf(words: readonly string[], files: ReadonlyMap<string, readonly Note[]>): readonly string[] {
  const rows = [...files].map(([path, notes]) => {
    const counts = words.map((word) => notes.filter((note) => note.word === word).length);
    return `| \`${path}\` | ${counts.join(" | ")} |`;
  });
  return [`| File | ${words.join(" | ")} |`, `|---|${words.map(() => "---:|").join("")}`, ...rows];
}

function sectionsOf(files: ReadonlyMap<string, readonly Note[]>, { notes, contexts }: Notes): readonly string[] {
  return [...files].flatMap(([path, ofFile]) => [
    "",
    `### ${path}`,
    ...ofFile.flatMap((note) => {
      const context = contexts[notes.indexOf(note)] ?? "";
      const shown = context === "" ? [] : ["", ...fenced(context, path).map((line) => `  ${line}`)];
      return ["", `- **Line ${note.line}**, ${note.word}: ${note.text}`, ...shown];
    }),
  ]);
}

function mentionLines(mentions: readonly Hit[]): readonly string[] {
  if (mentions.length === 0) return [];
  return [
    "",
    "### Mentioned, but not as a comment",
    "",
    ...mentions.map(({ path, line, text }) => `- \`${path}:${line}\` ${inlineCode(text)}`),
  ];
}

export function findingOfHits(text: string, path: string, { hits, total: found, searched }: SearchResult): Finding {
  const title = `"${text}" ${inPlace(path)}`;
  if (hits.length === 0) {
    const none = `No line ${at(path)} contains ${inlineCode(text)} (${count(searched, "file")} searched).`;
    return { title, answer: none, section: none };
  }
  const files = groupByPath(hits);
  const total = `${count(found, "line contains", "lines contain")} ${inlineCode(text)} in ${count(files.size, "file")} ${at(path)}.${found > hits.length ? ` The first ${hits.length} were shown to me.` : ""}`;
  const lines = hits.map((hit) => `- \`${hit.path}:${hit.line}\` ${inlineCode(hit.text)}`);
  return { title, answer: [total, "", ...firstOf(lines)].join("\n"), section: [total, "", ...lines].join("\n") };
}

export function findingOfCount(text: string, path: string, result: SearchResult): Finding {
  const files = groupByPath(result.hits);
  const answer = `${inlineCode(text)} stands on ${count(result.total, "line")} in ${count(files.size, "file")} ${at(path)} (${count(result.searched, "file")} searched).`;
  return { title: `"${text}" ${inPlace(path)}`, answer, section: answer };
}

export function findingOfFiles(what: string, { paths, total }: FileList, countOnly: boolean): Finding {
  const title = `${what.charAt(0).toUpperCase()}${what.slice(1)}`;
  const said =
    total === 0
      ? `There are no ${what}.`
      : `There ${total === 1 ? "is" : "are"} ${total} ${total === 1 ? what.replace("files", "file") : what}.`;
  if (countOnly || total === 0) return { title, answer: said, section: said };
  const lines = paths.map((path) => `- \`${path}\``);
  const cut = total > paths.length ? [`- … and ${total - paths.length} more`] : [];
  return {
    title,
    answer: [said, "", ...firstOf(lines, 50)].join("\n"),
    section: [said, "", ...lines, ...cut].join("\n"),
  };
}

export type LineCount = { readonly path: string; readonly lines: number };

export function findingOfLineCounts(path: string, counts: readonly LineCount[], total: number): Finding {
  const title = `Lines of ${path}`;
  const sum = counts.reduce((lines, file) => lines + file.lines, 0);
  const only = counts[0];
  if (counts.length === 1 && only !== undefined) {
    const answer = `\`${only.path}\` has ${count(only.lines, "line")}.`;
    return { title, answer, section: answer };
  }
  const cut = total > counts.length ? ` Only the first ${counts.length} of ${total} files were counted.` : "";
  const said = `${count(counts.length, "file")} ${at(path)} ${counts.length === 1 ? "has" : "have"} ${count(sum, "line")} together.${cut}`;
  const sorted = counts.toSorted((a, b) => b.lines - a.lines).map((file) => `| \`${file.path}\` | ${file.lines} |`);
  const table = sorted.length === 0 ? [] : ["", "| File | Lines |", "|---|---:|"];
  return {
    title,
    answer: [said, ...table, ...sorted.slice(0, inAnswer)].join("\n"),
    section: [said, ...table, ...sorted].join("\n"),
  };
}

export function findingOfFile(path: string, { lines, total }: FileLines): Finding {
  const numbers = [...lines.keys()];
  const range = lines.size < total ? `, lines ${numbers[0] ?? 0} to ${numbers.at(-1) ?? 0} of ${total}` : "";
  const texts = [...lines.values()];
  const said = texts.length === 0 ? `\`${path}\` is empty.` : `\`${path}\`${range}:`;
  if (texts.length === 0) return { title: path, answer: said, section: said };
  const cut = texts.length > 100 ? ["", `(${texts.length - 100} more lines were read.)`] : [];
  return {
    title: path,
    answer: [said, "", ...fenced(texts.slice(0, 100).join("\n"), path), ...cut].join("\n"),
    section: [said, "", ...fenced(texts.join("\n"), path)].join("\n"),
  };
}

export type OutlineOfFile = LineCount & Outline;

export function findingOfOutline(path: string, outlines: readonly OutlineOfFile[], total: number): Finding {
  const title = `Summary of ${path}`;
  if (outlines.length === 0) {
    const said =
      total === 0
        ? `There are no files ${at(path)}.`
        : `There are ${count(total, "file")} ${at(path)}, none with headings or exports that I know how to read.`;
    return { title, answer: said, section: said };
  }
  const [only] = outlines;
  const isOne = total === 1 && outlines.length === 1 && only !== undefined;
  const text = isOne
    ? linesOfOutline(only).join("\n")
    : [
        `${outlines.length} of ${count(total, "file")} ${at(path)}, by their headings and exports:`,
        ...outlines.flatMap((outline) => ["", ...linesOfOutline(outline)]),
      ].join("\n");
  return { title, answer: text, section: text };
}

function linesOfOutline({ path, lines, headings, exports, about }: OutlineOfFile): readonly string[] {
  const nothing = headings.length === 0 && exports.length === 0 ? ["It has neither headings nor exports."] : [];
  return [
    `**\`${path}\`** (${count(lines, "line")})${about === null ? "" : `: ${about}`}`,
    ...nothing,
    ...headings.map((heading) => `${"  ".repeat(heading.search(/[^#]/) - 1)}- ${heading.replace(/^#+ /, "")}`),
    ...(exports.length === 0 ? [] : [`Exports: ${exports.map(inlineCode).join(", ")}.`]),
  ];
}

export function findingOfEdits(
  oldText: string,
  newText: string,
  path: string,
  outputs: readonly string[],
  isCut = false,
): Finding {
  const title = `Replacement of "${oldText}"`;
  if (outputs.length === 0) {
    const none = `Nothing was replaced: no line ${at(path)} contains ${inlineCode(oldText)}.`;
    return { title, answer: none, section: none };
  }
  const by = newText === "" ? "nothing" : inlineCode(newText);
  const text = [
    `Replaced ${inlineCode(oldText)} by ${by}:`,
    "",
    ...outputs.map((output) => `- ${output}`),
    ...(isCut ? ["", "The search was cut: there is more to replace. Ask me again."] : []),
  ].join("\n");
  return { title, answer: text, section: text };
}

export function findingOfCommand(command: string, output: string): Finding {
  const lines = output.split("\n");
  const shown =
    lines.length > 40 ? [...lines.slice(0, 20), `… ${lines.length - 40} lines …`, ...lines.slice(-20)] : lines;
  const said = `Ran ${inlineCode(command)}:`;
  return {
    title: `Output of ${command}`,
    answer: [said, "", ...fenced(shown.join("\n"))].join("\n"),
    section: [said, "", ...fenced(output)].join("\n"),
  };
}

/** @param content What was written; null where there was nothing to write. */
export function findingOfReport(path: string, content: string | null): Finding {
  const answer =
    content === null
      ? `I did not write \`${path}\`: nothing was found before that could stand in it. Ask me to find, list, count, read or summarise something first.`
      : `Wrote the report to \`${path}\` (${count(content.split("\n").length - 1, "line")}).`;
  return { title: path, answer, section: "" };
}

/** The same findings give the same text, at any time. */
export function writeReport(findings: readonly Finding[], request: string): string {
  const [first] = findings;
  const asked = request
    .trim()
    .split("\n")
    .map((line) => `> ${line}`);
  const body =
    findings.length === 1 && first !== undefined
      ? [first.section]
      : findings.flatMap(({ title, section }, index) => [...(index === 0 ? [] : [""]), `## ${title}`, "", section]);
  const title = findings.length === 1 && first !== undefined ? first.title : "Report";
  const footer =
    "*Written by Pawl's demo model, which is not an LLM: it follows rules and reports what the tools returned.*";
  return `${[`# ${title}`, "", ...asked, "", ...body, "", "---", footer].join("\n")}\n`;
}

function firstOf(lines: readonly string[], limit = inAnswer): readonly string[] {
  return lines.length <= limit ? lines : [...lines.slice(0, limit), `- … and ${lines.length - limit} more`];
}

function groupByPath<Item extends Hit>(hits: readonly Item[]): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>();
  for (const hit of hits.toSorted((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1)))
    groups.set(hit.path, [...(groups.get(hit.path) ?? []), hit]);
  return groups;
}

function fenced(text: string, path = ""): readonly string[] {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map((run) => run[0].length));
  const fence = "`".repeat(longest + 1);
  const language = /\.(\w+)$/.exec(path)?.[1] ?? "";
  return [`${fence}${language}`, ...text.split("\n"), fence];
}

/** A place in Markdown. */
function at(path: string): string {
  return inPlace(path, inlineCode);
}

function inlineCode(text: string): string {
  const fence = text.includes("`") ? "``" : "`";
  const padding = text.startsWith("`") || text.endsWith("`") ? " " : "";
  return `${fence}${padding}${text}${padding}${fence}`;
}

function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}
