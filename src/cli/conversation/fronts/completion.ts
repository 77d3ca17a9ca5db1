/**
 * Completes what the person is typing: the name of a command or of a server's prompt, an argument of the prompt, or a path or a server's
 * resource after an `@`.
 */

import type { ServerPrompt } from "../../mcp/list-content.js";
import {
  findPromptArgument,
  formatWord,
  parseTemplate,
  type Template,
  type Typed,
  type TypedArgument,
} from "../../mcp/typed-argument.js";
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
  /** Whether the draft ends in an `@path` and the names of the files are not known yet, but will be. */
  readonly isReading: (draft: edit.Draft) => boolean;
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
type CompletionSource = Pick<Talk, "fileNames" | "resourceNames" | "prompts" | "argumentValues" | "custom"> | null;

type CachedList<Item> = {
  /** Returns the list, and reads it again in the background if it is too old. Null before the first read. */
  readonly get: () => readonly Item[] | null;
  /** Whether there is no list yet, but will be one. */
  readonly isAwaited: () => boolean;
};

/** @param onRead called after each read */
function createCachedList<Item>(
  getTalk: () => CompletionSource,
  read: (talk: NonNullable<CompletionSource>) => Promise<readonly Item[]>,
  refreshAfterMs: number,
  onRead: () => void,
): CachedList<Item> {
  let items: readonly Item[] | null = null;
  let readAt = Number.NEGATIVE_INFINITY;
  let readFrom: CompletionSource = null;
  let readCount = 0;

  function end(found: readonly Item[] | null): void {
    readCount -= 1;
    items = found ?? items;
    onRead();
  }

  function get(): readonly Item[] | null {
    const talk = getTalk();
    if (talk !== null && (talk !== readFrom || performance.now() - readAt > refreshAfterMs)) {
      [readFrom, readAt] = [talk, performance.now()];
      readCount += 1;
      void read(talk).then(end, () => end(null));
    }
    return items;
  }

  return { get, isAwaited: () => get() === null && (getTalk() === null || readCount > 0) };
}

/**
 * Returns the values that a server suggests for an argument, or none until it has responded. Values are requested for what is typed when the
 * last response has come, so a slow server gets no request for each key.
 */
function createValueList(
  getTalk: () => CompletionSource,
  onRead: () => void,
): (typed: TypedArgument) => readonly string[] {
  let read: { readonly key: string; readonly values: readonly string[] } | null = null;
  let isReading = false;
  return (typed) => {
    const key = JSON.stringify(typed);
    const talk = getTalk();
    if (read?.key === key) return read.values;
    if (talk === null || isReading) return [];
    isReading = true;
    const end = (values: readonly string[]) => {
      read = { key, values };
      isReading = false;
      onRead();
    };
    void talk.argumentValues(typed).then(end, () => end([]));
    return [];
  };
}

/** @param getTalk returns the current talk, if there is one. @param onNames called when names have been read */
export function createCompletion(getTalk: () => CompletionSource, onNames: () => void): Completion {
  const files = createCachedList(getTalk, (talk) => talk.fileNames(), refreshFilesAfterMs, onNames);
  const resources = createCachedList(getTalk, (talk) => talk.resourceNames(), refreshServersAfterMs, onNames);
  const prompts = createCachedList(getTalk, (talk) => talk.prompts(), refreshServersAfterMs, onNames);
  const listValues = createValueList(getTalk, onNames);

  /** Returns the template with this name; null if it is not that of a template. */
  function findTemplate(name: string): Template | null {
    return (resources.get() ?? []).includes(name) ? parseTemplate(name) : null;
  }

  /** Resources, and what the server suggests for the first template that fits what is typed. */
  function findResourceNames(words: string, max: number): readonly string[] {
    const parsed = (resources.get() ?? []).map((name) => ({ name, template: parseTemplate(name) }));
    const isTyped = (template: Template | null) => template !== null && words.startsWith(template.prefix);
    const typed = parsed.find(({ template }) => isTyped(template))?.template ?? null;
    const suggested = typed === null ? [] : listValues(typed.toArgument(words)).map(typed.expand);
    const listed = parsed.flatMap(({ name, template }) => {
      const isListed = template === null ? !name.includes("{") && !suggested.includes(name) : !isTyped(template);
      return isListed ? [name] : [];
    });
    return [...suggested, ...matchNames(listed, words, max)].slice(0, max);
  }

  /** The names for `@`; null if the files are not known yet. Some room is reserved for resources, because a folder may have many files. */
  function findNames(words: string, max: number): readonly string[] | null {
    const [filePaths, resourcePaths] = [files.get(), findResourceNames(words, max)];
    if (filePaths === null && resourcePaths.length === 0) return null;
    const room = max - Math.min(resourcePaths.length, Math.floor(max / 3));
    return [...matchNames(filePaths ?? [], words, room), ...resourcePaths].slice(0, max);
  }

  /** The argument of a prompt that is being typed, and its values. */
  function findArgument({ text, cursor }: edit.Draft): (Typed & { readonly values: readonly string[] }) | null {
    const typed = cursor === text.length ? findPromptArgument(text, prompts.get() ?? []) : null;
    return typed === null ? null : { ...typed, values: listValues(typed.argument) };
  }

  return {
    hints(draft, columns) {
      const path = findTypedPath(draft.text, draft.cursor);
      if (path === null) {
        if (!draft.text.startsWith("/")) return [];
        const sources = { custom: getTalk()?.custom ?? [], prompts: prompts.get() ?? [] };
        return [...renderCommandHints(draft, columns, sources), ...renderNames(findArgument(draft)?.values ?? [])];
      }
      const found = findNames(path.words, maxHints + 1);
      if (found === null) return [lineOf("@ …", "dim")];
      // With more names, the room for resources is divided differently.
      return found.length > maxHints ? renderNames(findNames(path.words, maxHints) ?? [], true) : renderNames(found);
    },
    complete(draft) {
      const path = findTypedPath(draft.text, draft.cursor);
      if (path !== null) {
        const names = findNames(path.words, maxChoices) ?? [];
        const format = (name: string) => findTemplate(name)?.prefix ?? formatMention(name);
        return offerNames(draft, { start: path.start, value: path.words }, names, format);
      }
      if (!draft.text.startsWith("/")) return null;
      const typed = findArgument(draft);
      if (typed !== null)
        return offerNames(draft, { start: typed.start, value: typed.argument.value }, typed.values, formatWord);
      const command = completeCommand(draft.text, getTalk()?.custom ?? [], prompts.get() ?? []);
      return command === null ? null : { type: "draft", draft: edit.write(draft, command) };
    },
    isReading: ({ text, cursor }) => findTypedPath(text, cursor) !== null && files.isAwaited(),
  };
}

/** A line with the first names. @param hasMore whether there are more than these */
function renderNames(names: readonly string[], hasMore = names.length > maxHints): readonly Line[] {
  if (names.length === 0) return [];
  const shown = names.slice(0, maxHints).map(toOneLine).join("  ");
  return [lineOf(hasMore ? `${shown}  … tab` : shown, "dim")];
}

/** Completes what is typed by these names: with the only one, with what all have in common, or with the one that the person chooses. */
function offerNames(
  draft: edit.Draft,
  typed: { readonly start: number; readonly value: string },
  names: readonly string[],
  format: (name: string) => string,
): CompletionResult | null {
  const replaceTyped = (text: string) => edit.replace(draft, typed.start, draft.cursor, text);
  const [only] = names;
  if (only === undefined) return null;
  if (names.length === 1) return { type: "draft", draft: replaceTyped(format(only)) };
  const longer = findCommonPrefix(names);
  if (longer.length > typed.value.length && longer.startsWith(typed.value) && !/[\s{]/.test(longer))
    return { type: "draft", draft: replaceTyped(longer) };
  return {
    type: "choose",
    choices: names.map((name) => ({ id: name, text: toOneLine(name) })),
    draft: (chosen) => replaceTyped(format(chosen)),
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
