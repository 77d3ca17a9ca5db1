/**
 * The tools `list_files` and `read_file`, which change nothing.
 */
import type { Tool, ToolContext } from "../ports/tool.js";
import { counted } from "./counted.js";
import { type Root, resolveInRoot } from "./root.js";
import { linesOf, readTextOrThrow } from "./text-file.js";
import { filterByPattern, maxEntriesWalked, walk } from "./walk.js";

const maxLineCharacters = 2000;
const maxReadCharacters = 256 * 1024;

type ListInput = {
  readonly path?: string;
  readonly pattern?: string;
  readonly depth?: number;
  readonly all?: boolean;
  readonly limit?: number;
};

export function createListFiles(root: Root): Tool<ListInput, string> {
  return {
    name: "list_files",
    description:
      "Lists files under a folder, sorted, one path a line; folders end with a slash and are listed only with `depth`. " +
      "`.git` and `node_modules` are left out, and links are not followed.",
    input: {
      type: "object",
      properties: {
        path: { type: "string", description: "The folder, from the root. Default: the root." },
        pattern: { type: "string", description: "Only paths that fit: *.ts, src/**/*.{js,ts}" },
        depth: {
          type: "integer",
          minimum: 1,
          description: "Levels of folders to go into; 1 is the folder's own entries. Default: all.",
        },
        all: { type: "boolean", description: "Goes into .git and node_modules too." },
        limit: { type: "integer", minimum: 1, maximum: 10_000, description: "Default 1000." },
      },
      additionalProperties: false,
    },
    readOnly: true,
    execute: (input, context) => listFiles(root, input, context),
  };
}

async function listFiles(root: Root, input: ListInput, { signal }: ToolContext): Promise<string> {
  const { path = ".", pattern, limit = 1000, depth } = input;
  const place = await resolveInRoot(root, path);
  const fits = filterByPattern(place, pattern);
  const shown: string[] = [];
  let [walked, total] = [0, 0];
  for await (const found of walk(place, { ...input, signal })) {
    walked += 1;
    if (walked > maxEntriesWalked) break;
    if (found.kind === "folder" && (depth === undefined || pattern !== undefined)) continue;
    if (!fits(found)) continue;
    total += 1;
    if (total <= limit) shown.push(found.kind === "folder" ? `${found.shown}/` : found.shown);
  }
  const stopped = walked > maxEntriesWalked ? `, among the first ${maxEntriesWalked} entries` : "";
  if (total === 0) return `No files${pattern === undefined ? "" : ` that fit ${pattern}`} in ${place.shown}${stopped}.`;
  const noun = depth === undefined || pattern !== undefined ? "file" : "entry";
  const count = total > limit ? `${counted(total, noun)}, the first ${limit} shown` : counted(total, noun);
  return `${shown.join("\n")}\n(${count}${stopped})`;
}

type ReadInput = { readonly path: string; readonly startLine?: number; readonly endLine?: number };

export function createReadFile(root: Root): Tool<ReadInput, string> {
  return {
    name: "read_file",
    description:
      "Reads a text file. Each line comes with its number and a tab before it, which are no part of the file. " +
      "Long files are cut, and say from which line to go on.",
    input: {
      type: "object",
      properties: {
        path: { type: "string", description: "From the root." },
        startLine: { type: "integer", minimum: 1, description: "From 1. Default: the first." },
        endLine: { type: "integer", minimum: 1, description: "Included. Default: 2000 lines from the start." },
      },
      required: ["path"],
      additionalProperties: false,
    },
    readOnly: true,
    execute: (input) => readFile(root, input),
  };
}

async function readFile(root: Root, { path, startLine = 1, endLine }: ReadInput): Promise<string> {
  const place = await resolveInRoot(root, path);
  const { text, isDamaged } = await readTextOrThrow(root, place);
  const lines = linesOf(text);
  if (lines.length === 0) return `(${place.shown} is empty)`;
  if (startLine > lines.length)
    throw new Error(`${place.shown} has only ${counted(lines.length, "line")}. Give a smaller startLine.`);
  if (endLine !== undefined && endLine < startLine)
    throw new Error("endLine is before startLine. Give a larger endLine.");
  const lastLine = Math.min(endLine ?? startLine + 1999, lines.length);
  const shown: string[] = [];
  let [number, characters] = [startLine, 0];
  for (; number <= lastLine && characters < maxReadCharacters; number++) {
    const line = `${number}\t${cutLine(lines[number - 1] ?? "")}`;
    shown.push(line);
    characters += line.length;
  }
  const notes = [
    ...(number <= lines.length || startLine > 1 ? [`lines ${startLine} to ${number - 1} of ${lines.length}`] : []),
    ...(number <= lastLine || (endLine === undefined && number <= lines.length)
      ? [`go on with startLine ${number}`]
      : []),
    ...(isDamaged ? ["bytes that are not UTF-8 are shown as \ufffd"] : []),
  ];
  return notes.length === 0 ? shown.join("\n") : `${shown.join("\n")}\n(${notes.join("; ")})`;
}

function cutLine(line: string): string {
  if (line.length <= maxLineCharacters) return line;
  return `${line.slice(0, maxLineCharacters)}… (cut: the line has ${line.length} characters)`;
}
