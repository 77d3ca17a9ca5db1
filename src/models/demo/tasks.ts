/**
 * How the demo model carries out each kind of task: a generator that asks for calls, a step at a time, and is given their results.
 */
import type { CallResult, PlannedCall } from "./conversation.js";
import { type Hit, readFileLines, readFileList, readNote, readOutline, readSearchResult } from "./findings.js";
import {
  type Finding,
  findingOfCommand,
  findingOfCount,
  findingOfEdits,
  findingOfFile,
  findingOfFiles,
  findingOfHits,
  findingOfLineCounts,
  findingOfNotes,
  findingOfOutline,
  findingOfReport,
  writeReport,
} from "./report.js";
import type { Task } from "./request.js";
import { inPlace, isFolder } from "./words.js";

/** What is said before the calls of a step, and the calls. */
export type Step = { readonly say: string; readonly calls: readonly PlannedCall[] };

type Work<Result> = Generator<Step, Result, readonly CallResult[]>;

/** The tools without which a task cannot be done. */
export function toolsOf(task: Task): readonly string[] {
  switch (task.type) {
    case "list":
    case "count_files":
      return ["list_files"];
    case "count_lines":
    case "summarise":
      return isFolder(task.path) ? ["list_files", "read_file"] : ["read_file"];
    case "find":
      return ["search_files"];
    case "find_notes":
      return ["search_files", "read_file"];
    case "read":
      return ["read_file"];
    case "report":
      return ["write_file"];
    case "replace":
      return isFolder(task.path) ? ["search_files", "edit_file"] : ["edit_file"];
    case "run":
      return ["shell"];
  }
}

/** @param found What was found before, for a report of it. */
export function carryOut(task: Task, found: () => readonly Finding[], request: string): Work<Finding> {
  switch (task.type) {
    case "list":
    case "count_files":
      return listFiles(task);
    case "count_lines":
      return countLines(task);
    case "find":
      return findText(task);
    case "find_notes":
      return findNotes(task);
    case "read":
      return readFile(task);
    case "summarise":
      return summarise(task);
    case "report":
      return report(task, found, request);
    case "replace":
      return replace(task);
    case "run":
      return run(task);
  }
}

type TaskOf<Type extends Task["type"]> = Extract<Task, { readonly type: Type }>;

/** The text of the one result of a step with one call. */
function* one(say: string, call: PlannedCall): Work<string> {
  const [result] = yield { say, calls: [call] };
  return result?.text ?? "";
}

const shownAtMost = 1000;
/** Files that are looked into one by one. */
const filesAtMost = 100;
const contextsAtMost = 8;

function* listFiles(task: TaskOf<"list" | "count_files">): Work<Finding> {
  const { type, path, kind } = task;
  const what = `${kind === undefined ? "" : `${kind.named} `}files ${inPlace(path)}`;
  const input = { path, limit: shownAtMost, ...(kind !== undefined && { pattern: kind.pattern }) };
  const output = yield* one(`I will list the ${what}.`, { name: "list_files", input });
  return findingOfFiles(what, readFileList(output), type === "count_files");
}

function* countLines({ path }: TaskOf<"count_lines">): Work<Finding> {
  const paths = isFolder(path)
    ? readFileList(
        yield* one(`I will list the files ${inPlace(path)}.`, {
          name: "list_files",
          input: { path, limit: shownAtMost },
        }),
      )
    : { paths: [path], total: 1 };
  const wanted = paths.paths.slice(0, filesAtMost);
  // The first line comes with the number of all.
  const calls = wanted.map((file) => ({ name: "read_file", input: { path: file, startLine: 1, endLine: 1 } }));
  if (calls.length === 0) return findingOfLineCounts(path, [], paths.total);
  const results = yield {
    say: `I will ask for the number of lines of ${calls.length === 1 ? wanted[0] : `${calls.length} files`}.`,
    calls,
  };
  const counts = results.map((result, index) => ({
    path: wanted[index] ?? "",
    lines: readFileLines(result.text).total,
  }));
  return findingOfLineCounts(path, counts, paths.total);
}

function* findText({ text, path, countOnly }: TaskOf<"find">): Work<Finding> {
  const output = yield* one(`I will search for "${text}" ${inPlace(path)}.`, {
    name: "search_files",
    input: { text, path, limit: shownAtMost },
  });
  const result = readSearchResult(output);
  return countOnly === true ? findingOfCount(text, path, result) : findingOfHits(text, path, result);
}

function* findNotes({ words, path, countOnly }: TaskOf<"find_notes">): Work<Finding> {
  const calls = words.map((text) => ({
    name: "search_files",
    input: { text, path, wholeWord: true, limit: shownAtMost },
  }));
  const results = yield { say: `I will search for ${words.join(" and ")} ${inPlace(path)}.`, calls };
  const found = results.map((result) => readSearchResult(result.text));
  const hits = found
    .flatMap((result) => result.hits)
    .toSorted(byPlace)
    .filter(isFirstOfItsLine);
  const notes = hits.flatMap((hit) => {
    const note = readNote(hit, words);
    return note === null ? [] : [{ ...hit, ...note }];
  });
  const mentions = hits.filter((hit) => readNote(hit, words) === null);
  const contexts = countOnly === true ? [] : yield* readContexts(notes.slice(0, contextsAtMost));
  const searched = Math.max(0, ...found.map((result) => result.searched));
  return findingOfNotes({
    words,
    path,
    notes,
    mentions,
    contexts,
    searched,
    isCut: found.some((result) => result.total > result.hits.length),
    countOnly: countOnly === true,
  });
}

function byPlace(a: Hit, b: Hit): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.line - b.line;
}

/** A line with two of the words is found twice. */
function isFirstOfItsLine(hit: Hit, index: number, sorted: readonly Hit[]): boolean {
  const before = sorted[index - 1];
  return before?.path !== hit.path || before.line !== hit.line;
}

/** The line of each and the two after it. */
function* readContexts(hits: readonly { readonly path: string; readonly line: number }[]): Work<readonly string[]> {
  if (hits.length === 0) return [];
  const calls = hits.map(({ path, line }) => ({
    name: "read_file",
    input: { path, startLine: line, endLine: line + 2 },
  }));
  const results = yield { say: `I will read the lines around ${hits.length === 1 ? "it" : "them"}.`, calls };
  return results.map((result) => [...readFileLines(result.text).lines.values()].join("\n"));
}

function* readFile({ path, startLine, endLine }: TaskOf<"read">): Work<Finding> {
  const input = { path, ...(startLine !== undefined && { startLine }), ...(endLine !== undefined && { endLine }) };
  const output = yield* one(`I will read ${path}.`, { name: "read_file", input });
  return findingOfFile(path, readFileLines(output));
}

function* summarise({ path }: TaskOf<"summarise">): Work<Finding> {
  if (!isFolder(path)) {
    const lines = readFileLines(yield* one(`I will read ${path}.`, { name: "read_file", input: { path } }));
    return findingOfOutline(path, [{ path, lines: lines.total, ...readOutline(path, lines) }], 1);
  }
  const listed = readFileList(
    yield* one(`I will list the files ${inPlace(path)}.`, { name: "list_files", input: { path, limit: shownAtMost } }),
  );
  const wanted = listed.paths.filter((file) => /\.(?:md|mdx|[cm]?[jt]sx?|py|go|rs)$/i.test(file)).slice(0, 20);
  if (wanted.length === 0) return findingOfOutline(path, [], listed.total);
  const calls = wanted.map((file) => ({ name: "read_file", input: { path: file } }));
  const results = yield { say: `I will read ${calls.length} of them for their headings and exports.`, calls };
  const outlines = results.map((result, index) => {
    const [file = "", lines] = [wanted[index], readFileLines(result.text)];
    return { path: file, lines: lines.total, ...readOutline(file, lines) };
  });
  return findingOfOutline(path, outlines, listed.total);
}

function* report({ path }: TaskOf<"report">, found: () => readonly Finding[], request: string): Work<Finding> {
  const written = found().filter((finding) => finding.section !== "");
  if (written.length === 0) return findingOfReport(path, null);
  const content = writeReport(written, request);
  yield* one(`I will write what I found to ${path}.`, { name: "write_file", input: { path, content } });
  return findingOfReport(path, content);
}

function* replace({ oldText, newText, path }: TaskOf<"replace">): Work<Finding> {
  const wanted = { oldText, newText, replaceAll: true };
  if (!isFolder(path)) {
    const output = yield* one(`I will replace "${oldText}" in ${path}.`, {
      name: "edit_file",
      input: { path, ...wanted },
    });
    return findingOfEdits(oldText, newText, path, [output]);
  }
  const search = { name: "search_files", input: { text: oldText, path, limit: 5000 } };
  const { hits, total } = readSearchResult(yield* one(`I will search for "${oldText}" ${inPlace(path)}.`, search));
  const files = [...new Set(hits.map((hit) => hit.path))];
  if (files.length === 0) return findingOfEdits(oldText, newText, path, []);
  const calls = files.map((file) => ({ name: "edit_file", input: { path: file, ...wanted } }));
  const results = yield {
    say: `I will replace it in ${files.length === 1 ? files[0] : `${files.length} files`}.`,
    calls,
  };
  return findingOfEdits(
    oldText,
    newText,
    path,
    results.map((result) => result.text),
    total > hits.length,
  );
}

function* run({ command }: TaskOf<"run">): Work<Finding> {
  const output = yield* one(`I will run \`${command}\`.`, { name: "shell", input: { command } });
  return findingOfCommand(command, output);
}
