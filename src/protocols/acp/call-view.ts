/**
 * The view of a call in an editor: its title, its icon, the files that it touches, and the change that it makes.
 */
import { join } from "node:path";
import type { ToolCallContent, ToolCallLocation, ToolKind } from "@agentclientprotocol/sdk";

export type CallView = {
  readonly title: string;
  readonly kind: ToolKind;
  readonly locations: ToolCallLocation[];
  /** The diff of a file. Empty for other calls. */
  readonly content: ToolCallContent[];
};

/** Pawl's own tools. Every other tool is `other`. */
const toolKinds: ReadonlyMap<string, ToolKind> = new Map([
  ["list_files", "search"],
  ["search_files", "search"],
  ["search_output", "search"],
  ["read_file", "read"],
  ["read_output", "read"],
  ["read_skill", "read"],
  ["write_file", "edit"],
  ["edit_file", "edit"],
  ["fetch_url", "fetch"],
  ["shell", "execute"],
  ["finish_plan", "switch_mode"],
]);

/** @param root the folder to which paths are relative */
export function createCallView(name: string, input: unknown, root: string): CallView {
  const kind = toolKinds.get(name) ?? "other";
  const fields = input !== null && typeof input === "object" ? (input as { readonly [key: string]: unknown }) : {};
  const text = (key: string) => (typeof fields[key] === "string" ? fields[key] : undefined);
  const subject = text("command") ?? text("path") ?? text("url") ?? text("text") ?? text("pattern") ?? text("name");
  const title = subject === undefined ? name : kind === "execute" ? subject : `${name} ${subject}`;
  const path = text("path");
  const isFile = toolKinds.has(name) && path !== undefined;
  return {
    title: toSingleLine(title),
    kind,
    locations: isFile ? [toLocation(join(root, path), fields.startLine)] : [],
    content: isFile ? toChanges(name, join(root, path), text) : [],
  };
}

function toLocation(path: string, line: unknown): ToolCallLocation {
  return typeof line === "number" ? { path, line } : { path };
}

function toChanges(name: string, path: string, text: (key: string) => string | undefined): ToolCallContent[] {
  const newText = name === "write_file" ? text("content") : name === "edit_file" ? text("newText") : undefined;
  if (newText === undefined) return [];
  const oldText = text("oldText");
  return [{ type: "diff", path, newText, ...(oldText === undefined ? {} : { oldText }) }];
}

const maxTitle = 200;
/** Control characters, and characters that hide text or change its direction, because they could make a title misleading. */
const hiddenCharacters = /[\p{Cc}\p{Cf}\u2028\u2029]+/gu;

function toSingleLine(text: string): string {
  const cut = text.length > maxTitle ? `${text.slice(0, maxTitle)}…` : text;
  return cut.replace(hiddenCharacters, "�");
}
