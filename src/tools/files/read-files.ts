/**
 * The tools `list_files` and `read_file`, which are read-only.
 */
import type { Tool, ToolContext, ToolOutput } from "../../ports/tool.js";
import { formatCount } from "../lib/format-count.js";
import { maxPathCharacters, maxPatternCharacters } from "../lib/input-bounds.js";
import { createPace } from "../lib/pace.js";
import { formatPath } from "./format-path.js";
import { type Root, resolveInRoot, withOpenFolder } from "./root.js";
import { countLines, findLineStart, type MediaFile, readTextFile, requireText } from "./text-file.js";
import {
  createOmissions,
  createPatternFilter,
  formatIgnoredNote,
  maxDepth,
  maxEntriesWalked,
  type WalkOmissions,
  walk,
} from "./walk.js";

const maxLineCharacters = 2000;

/** The maximum length of a result, whatever the limits on lines, in characters. */
const maxShownCharacters = 256 * 1024;

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
    lenientInput: true,
    description:
      "Lists files under a folder, sorted, one path per line; folders end with a slash and are listed only with `depth`. " +
      "Files that Git ignores, `.git` and `node_modules` are left out unless `all` is set, and links are not followed.",
    input: {
      type: "object",
      properties: {
        path: {
          type: "string",
          maxLength: maxPathCharacters,
          description: "The folder, relative to the root. Default: the root.",
        },
        pattern: {
          type: "string",
          maxLength: maxPatternCharacters,
          description: "Only matching paths: *.ts, src/**/*.{js,ts}",
        },
        depth: {
          type: "integer",
          minimum: 1,
          description: "How many levels of folders to list; 1 lists only the folder's own entries. Default: all.",
        },
        all: {
          type: "boolean",
          description: "Also lists files that Git ignores, and the contents of .git and node_modules.",
        },
        limit: { type: "integer", minimum: 1, maximum: 10_000, description: "Default 1000." },
      },
      additionalProperties: false,
    },
    readOnly: true,
    execute: (input, context) => listFiles(root, input, context),
  };
}

async function listFiles(root: Root, input: ListInput, { signal }: ToolContext): Promise<string> {
  const { path = ".", pattern, limit = 1000, depth, all } = input;
  const resolved = await resolveInRoot(root, path);
  const matches = createPatternFilter(resolved, pattern);
  const shown: string[] = [];
  const omissions = createOmissions();
  let [total, characters] = [0, 0];
  await withOpenFolder(root, resolved, async (folder) => {
    const options = { depth, all, pattern, root: root.path, pace: createPace(signal), mayReach: root.mayReach };
    for await (const entries of walk(folder, resolved, options, omissions))
      for (const entry of entries) {
        if (entry.kind === "folder" && (depth === undefined || pattern !== undefined)) continue;
        if (!matches(entry)) continue;
        total += 1;
        if (shown.length >= limit || characters > maxShownCharacters) continue;
        const displayPath = formatPath(entry.relative);
        shown.push(entry.kind === "folder" ? `${displayPath}/` : displayPath);
        characters += displayPath.length + 1;
      }
  });
  const notes = formatNotes(omissions, total === 0);
  if (total === 0)
    return `No files${pattern === undefined ? "" : ` that match ${pattern}`} in ${resolved.displayPath === "." ? "the root" : resolved.displayPath}${notes}.`;
  const noun = depth === undefined || pattern !== undefined ? "file" : "entry";
  const cut = total > shown.length ? `, the first ${shown.length} shown` : "";
  return `${shown.join("\n")}\n(${formatCount(total, noun)}${cut}${notes})`;
}

function formatNotes(omissions: WalkOmissions, foundNothing: boolean): string {
  const many = omissions.tooMany ? `, among the first ${maxEntriesWalked} entries` : "";
  const deep = omissions.tooDeep > 0 ? `; folders below ${maxDepth} levels left out` : "";
  return `${many}${deep}${formatIgnoredNote(omissions, foundNothing)}`;
}

type ReadInput = { readonly path: string; readonly startLine?: number; readonly endLine?: number };

/** The maximum size that providers accept, in bytes. */
const maxMediaBytes = 5 * 1024 * 1024;

export function createReadFile(root: Root): Tool<ReadInput, string | ToolOutput> {
  return {
    name: "read_file",
    lenientInput: true,
    description:
      "Reads a text file. Each line is prefixed with its number and a tab, which are not part of the file. " +
      "Long files are cut, with a note on the line to continue from. Images (PNG, JPEG, GIF, WebP) and PDFs are returned unchanged.",
    input: {
      type: "object",
      properties: {
        path: { type: "string", maxLength: maxPathCharacters, description: "Relative to the root." },
        startLine: { type: "integer", minimum: 1, description: "The first line, from 1. Default: 1." },
        endLine: {
          type: "integer",
          minimum: 1,
          description: "The last line, inclusive. Default: 2000 lines from the start.",
        },
      },
      required: ["path"],
      additionalProperties: false,
    },
    readOnly: true,
    execute: (input, context) => readFile(root, input, context),
  };
}

async function readFile(
  root: Root,
  { path, startLine = 1, endLine }: ReadInput,
  { signal }: ToolContext,
): Promise<string | ToolOutput> {
  const pace = createPace(signal);
  const resolved = await resolveInRoot(root, path);
  const content = await readTextFile(root, resolved, pace);
  if ("media" in content && content.media !== undefined) return toMediaOutput(content.media, resolved.displayPath);
  const { text, isDamaged } = requireText(content, resolved.displayPath);
  const lines = await countLines(text, pace);
  if (lines === 0) return `(${resolved.displayPath} is empty)`;
  if (startLine > lines)
    throw new Error(`${resolved.displayPath} has only ${formatCount(lines, "line")}. Give a smaller startLine.`);
  if (endLine !== undefined && endLine < startLine)
    throw new Error("endLine is before startLine. Give a larger endLine.");
  const lastLine = Math.min(endLine ?? startLine + 1999, lines);
  const shown = numberLines(text, await findLineStart(text, startLine, pace), startLine, lastLine);
  const next = startLine + shown.length;
  const notes = [
    ...(next <= lines || startLine > 1 ? [`lines ${startLine} to ${next - 1} of ${lines}`] : []),
    ...(next <= lastLine || (endLine === undefined && next <= lines) ? [`continue with startLine ${next}`] : []),
    ...(isDamaged ? ["bytes that are not UTF-8 are shown as \ufffd"] : []),
  ];
  return notes.length === 0 ? shown.join("\n") : `${shown.join("\n")}\n(${notes.join("; ")})`;
}

/** Returns the file itself and its name. For a model that does not accept such files, Pawl describes the file instead. */
function toMediaOutput({ mediaType, bytes }: MediaFile, shown: string): ToolOutput {
  if (bytes.length > maxMediaBytes)
    throw new Error(`${shown} has ${bytes.length} bytes; images and PDFs over ${maxMediaBytes} bytes are not read.`);
  const size = `${shown} (${mediaType}, ${formatCount(bytes.length, "byte")})`;
  return {
    type: "content",
    parts: [
      { type: "file", mediaType, data: bytes.toString("base64"), filename: shown },
      { type: "text", text: size },
    ],
  };
}

/** The numbered lines from an offset on, as many as fit. */
function numberLines(text: string, start: number, firstLine: number, lastLine: number): readonly string[] {
  const shown: string[] = [];
  let characters = 0;
  for (let [number, from] = [firstLine, start]; number <= lastLine && characters < maxShownCharacters; number += 1) {
    const end = text.indexOf("\n", from);
    const to = end === -1 ? text.length : end;
    const line = `${number}\t${truncateLine(text, from, end !== -1 && text[end - 1] === "\r" && end > from ? to - 1 : to)}`;
    shown.push(line);
    characters += line.length;
    from = to + 1;
  }
  return shown;
}

function truncateLine(text: string, from: number, to: number): string {
  if (to - from <= maxLineCharacters) return text.slice(from, to);
  return `${text.slice(from, from + maxLineCharacters)}… (cut: the line has ${to - from} characters)`;
}
