/**
 * Attachments of a message: files that it mentions as `@path`, MCP resources that it mentions as `@server:uri`, and the output of
 * commands that the person ran.
 *
 * 1. The text of a message comes first. Each further part begins with a line that describes it, so that the screen shows only
 *    that line and not the whole part.
 * 2. No file outside the folder is attached, and the total size is bounded.
 */
import { resolve } from "node:path";
import { type Model, textOf, type UserMessage, type UserPart } from "../../index.js";
import { decodeText, readFolderFile } from "../files/folder-file.js";
import type { Permissions } from "../permissions/permissions.js";
import { formatCount } from "../terminal/text.js";

/** The maximum number of files in one message. */
const maxFiles = 20;
/** The maximum number of characters of all attached text. */
const maxCharacters = 600_000;

/** Media types that are sent to the model as files, by file extension. */
const mediaTypes: { readonly [extension: string]: string | undefined } = {
  gif: "image/gif",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  pdf: "application/pdf",
  png: "image/png",
  webp: "image/webp",
};

/** The media types of files that a message can have. */
export const fileMediaTypes: ReadonlySet<string> = new Set(Object.values(mediaTypes).flatMap((type) => type ?? []));

export type ComposedMessage = {
  readonly input: readonly UserPart[];
  /** Why files were not attached, one string for each. */
  readonly problems: readonly string[];
};

export type ComposeOptions = {
  /** The real path of the folder. */
  readonly root: string;
  /** Whether the permission rules let the model read a file, given its absolute path. Default: all files are readable. */
  readonly mayReach?: Permissions["mayReach"];
  /** Returns why the model's provider would refuse a file. Default: unknown. */
  readonly whyRefused?: Model["whyRefused"];
  /** Further parts, which come before the files. */
  readonly before?: readonly UserPart[];
  /** The string whose `@path` mentions are read. Default: the text. */
  readonly named?: string;
  /** The parts of mentions that name no file of the folder, by the mention without its `@`. */
  readonly resources?: ReadonlyMap<string, readonly UserPart[]>;
};

/** Creates a message from its text and the files that the text mentions. */
export function composeMessage(
  text: string,
  {
    root,
    mayReach = () => true,
    whyRefused = () => null,
    before = [],
    named = text,
    resources = new Map(),
  }: ComposeOptions,
): ComposedMessage {
  const parts: UserPart[] = [{ type: "text", text }, ...before];
  const problems: string[] = [];
  let remainingCharacters = maxCharacters;
  let remainingFiles = maxFiles;

  /** @returns why the part is not attached; null if it is */
  function add(part: UserPart): string | null {
    const size = part.type === "text" ? part.text.length : 0;
    if (remainingFiles === 0) return `more than ${maxFiles} files`;
    if (size > remainingCharacters) return "the message would be too long";
    const refused = part.type === "file" ? whyRefused(part) : null;
    if (refused !== null) return refused;
    remainingCharacters -= size;
    remainingFiles -= 1;
    parts.push(part);
    return null;
  }

  /** @returns why the file is not attached; null if it is */
  function addFile(path: string): string | null {
    const file = readFolderFile(root, path);
    // A word that begins with @ is not always a path.
    if (file.type === "missing") return /[./\\]/.test(path) ? "there is no such file in the folder" : null;
    if (file.type === "refused") return file.why;
    if (![path, file.path].every((name) => mayReach(resolve(root, name), "read")))
      return "a permission rule forbids it. pawl permissions lists the rules";
    const part = toUserPart(file.path, file.bytes);
    return part === null ? "it is not text" : add(part);
  }

  for (const mention of listMentions(named))
    for (const why of resources.get(mention)?.map(add) ?? [addFile(mention)])
      if (why !== null) problems.push(`@${mention} was not attached: ${why}.`);
  return { input: parts, problems };
}

/** The distinct names after an `@` at the start of a word: `@src/a.ts`, `@"a name.txt"`. */
export function listMentions(text: string): readonly string[] {
  const mentions = [...text.matchAll(/(?:^|\s)@(?:"([^"\n]{1,1000})"|(\S{1,1000}))/g)];
  return [...new Set(mentions.map(([, quoted, plain = ""]) => quoted ?? plain.replace(/[,;:.!?)]+$/, "")))].filter(
    (path) => path !== "",
  );
}

function toUserPart(path: string, bytes: Buffer): UserPart | null {
  const mediaType = mediaTypes[/\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ""];
  if (mediaType !== undefined) return { type: "file", mediaType, data: bytes.toString("base64"), filename: path };
  const text = decodeText(bytes);
  return text === null ? null : createDataPart(`The file ${path}, as it is now:`, text);
}

/** Creates a message part: a title line, then the text in a code fence. */
export function createDataPart(title: string, text: string): UserPart {
  const longestFence = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([run]) => run.length));
  const fence = "`".repeat(longestFence + 1);
  return { type: "text", text: `${title.replace(/\s+/g, " ")}\n${fence}\n${text}\n${fence}` };
}

/** Summarizes a message for the screen: its text, and a line for each attachment. */
export function summarizeMessage({ parts }: UserMessage): {
  readonly text: string;
  readonly joined: readonly string[];
} {
  const [first, ...others] = parts;
  return {
    text: first === undefined ? "" : textOf({ role: "user", parts: [first] }),
    joined: others.map((part) =>
      part.type === "file" ? (part.filename ?? part.mediaType) : formatPartTitle(part.text),
    ),
  };
}

function formatPartTitle(text: string): string {
  const [title = "", ...lines] = text.split("\n");
  return lines.length < 2 ? title : `${title.replace(/[:.]$/, "")} · ${formatCount(lines.length - 2, "line")}`;
}
