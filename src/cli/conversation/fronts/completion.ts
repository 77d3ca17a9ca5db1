/**
 * Completes what the person is typing: the name of a command or of a server's prompt, or a path or a server's resource after an `@`.
 */

import type { ServerPrompt } from "../../mcp/list-content.js";
import * as edit from "../../screen/draft.js";
import { type Line, lineOf, spanOf, wrapLine } from "../../screen/line.js";
import type { Choice } from "../../screen/picker.js";
import { toOneLine } from "../../terminal/text.js";
import { completeCommand, matchingCommands, matchingPrompts } from "../commands/command-table.js";
import { findTypedPath, formatMention, matchNames } from "./file-names.js";
import type { Talk } from "./front.js";

/** The effect of Tab on a draft. */
export type CompletionResult =
  | { readonly type: "draft"; readonly draft: edit.Draft }
  /** Several paths match. `draft` returns the draft with the path that the person chooses. */
  | { readonly type: "choose"; readonly choices: readonly Choice[]; readonly draft: (path: string) => edit.Draft };

export type Completion = {
  /** Possible completions of the draft, for the screen. */
  readonly hints: (draft: edit.Draft, columns: number) => readonly Line[];
  /** @returns null if there is nothing to complete */
  readonly complete: (draft: edit.Draft) => CompletionResult | null;
};

/** How long the file names are cached; milliseconds. */
const refreshFilesAfterMs = 5_000;
/** How long the lists of servers are cached; milliseconds. */
const refreshServersAfterMs = 30_000;
const maxHints = 5;
/** The maximum number of rows with names of commands. */
const maxHintRows = 6;
const maxChoices = 200;

/** What can be completed; null if no talk has begun. */
type CompletionSource = Pick<Talk, "fileNames" | "resourceNames" | "prompts" | "custom"> | null;

/**
 * Returns the cached list, and reads it again in the background if it is too old. Null before the first read.
 * @param onRead called after each read
 */
function createCachedList<Item>(
  getTalk: () => CompletionSource,
  read: (talk: NonNullable<CompletionSource>) => Promise<readonly Item[]>,
  refreshAfterMs: number,
  onRead: () => void,
): () => readonly Item[] | null {
  let items: readonly Item[] | null = null;
  let readAt = Number.NEGATIVE_INFINITY;
  let readFrom: CompletionSource = null;
  return () => {
    const talk = getTalk();
    if (talk !== null && (talk !== readFrom || performance.now() - readAt > refreshAfterMs)) {
      [readFrom, readAt] = [talk, performance.now()];
      void read(talk).then((found) => {
        items = found;
        onRead();
      }, onRead);
    }
    return items;
  };
}

/** @param getTalk returns the current talk, if there is one. @param onNames called when names have been read */
export function createCompletion(getTalk: () => CompletionSource, onNames: () => void): Completion {
  const files = createCachedList(getTalk, (talk) => talk.fileNames(), refreshFilesAfterMs, onNames);
  const resources = createCachedList(getTalk, (talk) => talk.resourceNames(), refreshServersAfterMs, onNames);
  const prompts = createCachedList(getTalk, (talk) => talk.prompts(), refreshServersAfterMs, onNames);

  /** The names for `@`; null if the files are not known yet. Some room is reserved for resources, because a folder may have many files. */
  function findNames(words: string, max: number): readonly string[] | null {
    const [filePaths, resourcePaths] = [files(), matchNames(resources() ?? [], words, max)];
    if (filePaths === null && resourcePaths.length === 0) return null;
    const room = max - Math.min(resourcePaths.length, Math.floor(max / 3));
    return [...matchNames(filePaths ?? [], words, room), ...resourcePaths].slice(0, max);
  }

  return {
    hints(draft, columns) {
      const path = findTypedPath(draft.text, draft.cursor);
      if (path === null)
        return draft.text.startsWith("/")
          ? renderCommandHints(draft, columns, { custom: getTalk()?.custom ?? [], prompts: prompts() ?? [] })
          : [];
      const found = findNames(path.words, maxHints + 1);
      if (found === null) return [lineOf("@ …", "dim")];
      if (found.length === 0) return [];
      const hasMore = found.length > maxHints;
      const shown = (hasMore ? (findNames(path.words, maxHints) ?? []) : found).map(toOneLine).join("  ");
      return [lineOf(hasMore ? `${shown}  … tab` : shown, "dim")];
    },
    complete(draft) {
      const path = findTypedPath(draft.text, draft.cursor);
      if (path === null) {
        if (!draft.text.startsWith("/")) return null;
        const command = completeCommand(draft.text, getTalk()?.custom ?? [], prompts() ?? []);
        return command === null ? null : { type: "draft", draft: edit.write(draft, command) };
      }
      const replacePath = (text: string) => edit.replace(draft, path.start, draft.cursor, text);
      const found = findNames(path.words, maxChoices) ?? [];
      const [only] = found;
      if (only === undefined) return null;
      if (found.length === 1) return { type: "draft", draft: replacePath(formatMention(only)) };
      const longer = findCommonPrefix(found);
      if (longer.length > path.words.length && longer.startsWith(path.words) && !/\s/.test(longer))
        return { type: "draft", draft: replacePath(longer) };
      return {
        type: "choose",
        choices: found.map((name) => ({ id: name, text: toOneLine(name) })),
        draft: (chosen) => replacePath(formatMention(chosen)),
      };
    },
  };
}

type CommandSources = Pick<Talk, "custom"> & { readonly prompts: readonly ServerPrompt[] };

function renderCommandHints(
  { text }: edit.Draft,
  columns: number,
  { custom, prompts }: CommandSources,
): readonly Line[] {
  const [, beginning = "", blank = ""] = /^\/([^\s/]*)(\s?)/.exec(text) ?? [];
  if (blank !== "") return renderArgumentHints(beginning, columns, prompts);
  if (`/${beginning}` !== text) return [];
  const found = [...matchingCommands(beginning, custom), ...matchingPrompts(beginning, prompts)];
  if (found.length === 0) return [];
  const folderCommands = new Set(custom.filter(({ scope }) => scope === "folder").map(({ name }) => name));
  const names = found.map(({ name }) => toOneLine(folderCommands.has(name) ? `/${name} (this folder)` : `/${name}`));
  const rows = wrapLine(lineOf(names.join("  "), "dim"), Math.max(8, columns - 3));
  const [last, ...others] = rows.slice(0, maxHintRows).toReversed();
  return rows.length <= maxHintRows ? rows : [...others.toReversed(), [...(last ?? []), spanOf(" …", "dim")]];
}

/** The arguments of a prompt, once its name is complete. */
function renderArgumentHints(name: string, columns: number, prompts: readonly ServerPrompt[]): readonly Line[] {
  const prompt = prompts.find((candidate) => candidate.name === name);
  if (prompt === undefined) return [];
  const usage = `/${prompt.name} ${prompt.takes}`.trimEnd();
  return wrapLine(lineOf(toOneLine(`${usage} · ${prompt.about}`), "dim"), Math.max(8, columns - 3)).slice(0, 2);
}

function findCommonPrefix(names: readonly string[]): string {
  let common = names[0] ?? "";
  while (!names.every((name) => name.startsWith(common))) common = common.slice(0, -1);
  return common;
}
