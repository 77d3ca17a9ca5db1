/**
 * What joins a message as data: files that it names as `@path`, and the output of commands that the person ran.
 *
 * 1. A message has its text first. Each further part begins with a line that says what it is, so that the screen shows that
 *    line and not the whole part.
 * 2. Nothing outside the folder joins, and what joins is bounded.
 */
import { resolve } from "node:path";
import { type Model, textOf, type UserMessage, type UserPart } from "../../index.js";
import { decodeText, readFolderFile } from "../files/folder-file.js";
import type { Permissions } from "../permissions/permissions.js";
import { formatCount } from "../terminal/text.js";

/** Of one message. */
const maxFiles = 20;
/** Characters of the texts that join a message, in all. */
const maxCharacters = 600_000;

/** What models see as it is, by the end of the name. */
const mediaTypes: { readonly [extension: string]: string | undefined } = {
  gif: "image/gif",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  pdf: "application/pdf",
  png: "image/png",
  webp: "image/webp",
};

export type ComposedMessage = {
  readonly input: readonly UserPart[];
  /** What did not join, and why. */
  readonly problems: readonly string[];
};

export type ComposeOptions = {
  /** The real path of the folder. */
  readonly root: string;
  /** Whether a rule leaves a file open to the model, by its absolute path. Default: all are open. */
  readonly mayReach?: Permissions["mayReach"];
  /** Why the model's provider would refuse a file. Default: not known. */
  readonly whyRefused?: Model["whyRefused"];
  /** Parts that also join the message, before the files. */
  readonly before?: readonly UserPart[];
  /** The words whose files join. Default: the text. */
  readonly named?: string;
};

/** The message with the files that it names. */
export function composeMessage(
  text: string,
  { root, mayReach = () => true, whyRefused = () => null, before = [], named = text }: ComposeOptions,
): ComposedMessage {
  const parts: UserPart[] = [{ type: "text", text }, ...before];
  const problems: string[] = [];
  let remainingCharacters = maxCharacters;
  for (const [at, path] of parseMentionedPaths(named).entries()) {
    const file = readFolderFile(root, path);
    if (file.type === "missing") {
      // A word with an @ may be no path at all.
      if (/[./\\]/.test(path))
        problems.push(`@${path} does not join the message: there is no such file in the folder.`);
      continue;
    }
    if (file.type === "refused") {
      problems.push(`@${path} does not join the message: ${file.why}.`);
      continue;
    }
    if (![path, file.path].every((one) => mayReach(resolve(root, one), "read"))) {
      problems.push(`@${path} does not join the message: a rule closes it. pawl permissions lists the rules.`);
      continue;
    }
    const part = at < maxFiles ? toUserPart(file.path, file.bytes) : null;
    const size = part?.type === "text" ? part.text.length : 0;
    if (part === null || size > remainingCharacters) {
      const why =
        at >= maxFiles
          ? `more than ${maxFiles} files`
          : size > remainingCharacters
            ? "the message would be too long"
            : "it is no text";
      problems.push(`@${path} does not join the message: ${why}.`);
      continue;
    }
    const refused = part.type === "file" ? whyRefused(part) : null;
    if (refused !== null) {
      problems.push(`@${path} does not join the message: ${refused}.`);
      continue;
    }
    remainingCharacters -= size;
    parts.push(part);
  }
  return { input: parts, problems };
}

/** The paths behind an `@` that begins a word, each once: `@src/a.ts`, `@"a name.txt"`. */
function parseMentionedPaths(text: string): readonly string[] {
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

/** A text that joins a message under a line that says what it is. */
export function createDataPart(title: string, text: string): UserPart {
  const longestFence = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([run]) => run.length));
  const fence = "`".repeat(longestFence + 1);
  return { type: "text", text: `${title.replace(/\s+/g, " ")}\n${fence}\n${text}\n${fence}` };
}

/** What the screen shows of a message: its text, and a line for each part that joined it. */
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
