/**
 * Parses a request for the demo model: file names, strings to search for, and a report to write.
 */
import type { PlannedCall } from "./conversation.js";

/** A longer request is not read at all: half a request may mean something else. */
export const maxCharacters = 2_000;
const maxTexts = 3;
const maxNamedPaths = 3;

export type NamedPath = { readonly path: string; readonly isFolder: boolean };

export type DemoRequest = {
  /** What to search for: quoted strings, names such as `createAgent` or `order_1041`, and TODO marks. */
  readonly texts: readonly string[];
  /** Files and folders that the request names. */
  readonly namedPaths: readonly NamedPath[];
  readonly mentionsFiles: boolean;
  /** The file for the report; null if the request does not ask for a report. */
  readonly reportPath: string | null;
};

/** The call that the request spells out: `run: npm test`, or `Replace "colour" with "color" in notes.txt`. */
export function readSpelledOutCall(request: string): PlannedCall | null {
  if (request.length > maxCharacters) return null;
  const command = /^\s*run:\s*(\S[\s\S]*)$/i.exec(request)?.[1];
  if (command !== undefined) return { name: "shell", input: { command: command.trimEnd() } };
  const edit = /^\s*replace\s+("[^"]*"|\S+)\s+with\s+("[^"]*"|\S+)\s+in\s+@?(\S+?)\.?\s*$/i.exec(request);
  if (edit === null) return null;
  const [, oldText = "", newText = "", path = ""] = edit.map((part) => part.replace(/^"|"$/g, ""));
  return { name: "edit_file", input: { path, oldText, newText, replaceAll: true } };
}

/**
 * @param entries The contents of the folder, as `list_files` shows them: folders end with a slash. A word of the request is
 *   a path if its first part is among them, so most words need not be understood.
 */
export function readRequest(text: string, entries: ReadonlySet<string>): DemoRequest {
  const { reportPath, rest } = extractReportPath(text.length > maxCharacters ? "" : text);
  const quoted = [...rest.matchAll(quotationPattern)].map(([, double, back]) => double ?? back ?? "");
  const words = rest.replaceAll(quotationPattern, " ").split(/[\s,;:!?()]+/);
  const paths = [...quoted, ...words].map((word) => word.replace(/^\.\//, "").replace(/[./]+$/, ""));
  const marks = words.some((word) => /^(?:TODO|FIXME)/i.test(word)) ? ["TODO", "FIXME"] : [];
  const texts = [...marks, ...quoted, ...words.filter((word) => codeNamePattern.test(word))];
  return {
    texts: unique(texts.filter((searchText) => findNamedPath(searchText, entries) === null)).slice(0, maxTexts),
    namedPaths: unique(paths)
      .flatMap((path) => findNamedPath(path, entries) ?? findNamedPath(path.replace(/^@/, ""), entries) ?? [])
      .slice(0, maxNamedPaths),
    mentionsFiles: /\bfiles\b/i.test(rest),
    reportPath,
  };
}

const quotationPattern = /"([^"\n]+)"|`([^`\n]+)`/g;
const codeNamePattern = /^[a-z]+(?:[A-Z]|_[a-z\d])\w*$/;

/** Words for a report. "Write a poem to poem.md" asks for something that the demo model cannot write. */
const reportPattern = "(?:it|them|what you found|(?:(?:a|the)\\s+)?(?:summary|report|list|results?))\\b";
/** Only a Markdown or text file: "write the results to src/cart.ts" must not replace code with a report. */
const filePattern = "[\\w@./-]+\\.(?:md|txt)\\b";
/** `…, then write a summary of them to REPORT.md`; not `do not write …`. */
const reportClause = new RegExp(
  `(?:^|\\bthen|\\band|[,;.])\\s*(?:write|save|put)\\s+${reportPattern}(?:\\s+\\S+){0,12}?\\s+(?:to|into|in|as)\\s+["\`]?(${filePattern})`,
  "i",
);

/** The path of the report, and the request without it: the report is not among the files to look at. */
function extractReportPath(request: string): { readonly reportPath: string | null; readonly rest: string } {
  const clause = reportClause.exec(request);
  if (clause === null) return { reportPath: null, rest: request };
  const [whole, path = ""] = clause;
  const end = clause.index + whole.length;
  return { reportPath: path, rest: request.slice(0, end - path.length) + request.slice(end) };
}

function findNamedPath(path: string, entries: ReadonlySet<string>): NamedPath | null {
  const [first = ""] = path.split("/", 1);
  if (entries.has(path) && path !== "") return { path, isFolder: false };
  if (!entries.has(`${first}/`)) return null;
  return { path, isFolder: path === first || !/\.\w+$/.test(path) };
}

function unique(values: readonly string[]): readonly string[] {
  return [...new Set(values)];
}
