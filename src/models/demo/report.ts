/**
 * Formats tool results for the demo model's answers and report files.
 */
import { isObject } from "../../core/data/is-object.js";
import type { Json } from "../../core/data/message.js";
import type { CallResult } from "./conversation.js";

type ReportLimits = { readonly lines: number; readonly columns: number };

const answerLimits: ReportLimits = { lines: 20, columns: 120 };
const reportLimits: ReportLimits = { lines: 200, columns: 400 };

const disclaimer = "I am Pawl's demo model, not an LLM: I follow rules and show what tools returned.";

/** How a person names a model: an option of the command line, or a variable that `chooseModel` reads. */
export type NameOption = "--model provider/name" | "PAWL_MODEL=provider/name";

function formatFooter(nameOption: NameOption): string {
  return `${disclaimer}
To use an LLM, set ANTHROPIC_API_KEY, OPENAI_API_KEY or
GOOGLE_GENERATIVE_AI_API_KEY, start a local model server such as Ollama, or name
a model: ${nameOption}`;
}

/**
 * @param notes Appended to the results.
 * @param nameOption How to name another model, which the first answer of a conversation explains; null for later answers.
 */
export function formatAnswer(
  results: readonly CallResult[],
  notes: readonly string[],
  nameOption: NameOption | null = "--model provider/name",
): string {
  const sections = [...results.map((result) => formatSection(result, answerLimits)), ...notes];
  const footer = nameOption === null ? (sections.length === 0 ? [disclaimer] : []) : [formatFooter(nameOption)];
  return [...sections, ...footer].join("\n\n");
}

/** Formats the report file. The same results always give the same text. */
export function formatReport(request: string, results: readonly CallResult[]): string {
  const quotedRequest = request.split("\n").map((line) => `> ${line}`.trimEnd());
  const sections = results.map((result) => formatSection(result, reportLimits));
  return `${["# Report", quotedRequest.join("\n"), ...sections, disclaimer].join("\n\n")}\n`;
}

/** A title and the first lines, indented so that Markdown shows them verbatim. */
function formatSection(result: CallResult, limits: ReportLimits): string {
  const { lines, remark } = readOutput(result);
  if (result.isError)
    return truncateLine(`${result.name} did not work: ${result.text.replace(/^Error: /, "")}`, reportLimits.columns);
  if (lines.length === 1 && remark === null) return truncateLine(result.text, limits.columns);
  const shownLines = lines.slice(0, limits.lines).map((line) => `    ${truncateLine(line, limits.columns)}`.trimEnd());
  const omittedNote = lines.length > limits.lines ? [`    … and ${lines.length - limits.lines} more`] : [];
  return [`${formatTitle(result)}${remark === null ? "" : ` (${remark})`}:`, "", ...shownLines, ...omittedNote].join(
    "\n",
  );
}

type ParsedOutput = {
  readonly lines: readonly string[];
  /** The tool's remark about its output, the last line if it is in parentheses: "12 files", "exit code 0". */
  readonly remark: string | null;
};

/** `read_file` numbers its lines, and has a remark only if it omits lines. */
function readOutput({ name, text }: CallResult): ParsedOutput {
  const allLines = text.split("\n");
  // The loop adds a line to an output that it has truncated.
  const at = allLines.at(-1)?.startsWith("[The whole is kept") ? allLines.length - 2 : allLines.length - 1;
  const last = at > 0 ? (allLines[at] ?? "") : "";
  const remark = last.startsWith("(") && last.endsWith(")") ? last.slice(1, -1) : null;
  const lines = remark === null ? allLines : allLines.slice(0, at);
  if (name !== "read_file") return { lines, remark };
  const count = Number.parseInt(lines.findLast((line) => /^\d+\t/.test(line)) ?? "0", 10);
  return {
    lines: lines.map((line) => line.replace(/^\d+\t/, "")),
    remark: remark ?? (count === 1 ? "1 line" : `${count} lines`),
  };
}

function formatTitle({ name, input }: CallResult): string {
  const path = readString(input, "path") ?? ".";
  switch (name) {
    case "list_files":
      return path === "." ? "All files" : `Files in ${path}`;
    case "search_files":
      return `"${truncateLine(readString(input, "text") ?? "", answerLimits.columns)}" in ${path === "." ? "this folder" : path}`;
    case "read_file":
      return path;
    case "shell":
      return truncateLine(readString(input, "command") ?? name, answerLimits.columns);
    default:
      return name;
  }
}

function readString(input: Json, key: string): string | undefined {
  if (!isObject(input)) return undefined;
  const value = input[key];
  return typeof value === "string" ? value : undefined;
}

/** The first line, with at most `columns` code units; never splits a surrogate pair. */
function truncateLine(text: string, columns: number): string {
  const [line = ""] = text.split("\n", 1);
  return line.length <= columns ? line : `${line.slice(0, columns).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
