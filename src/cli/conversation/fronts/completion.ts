/**
 * Completes what the person is typing: the name of a command, or a path after an `@`.
 */
import * as edit from "../../screen/draft.js";
import { type Line, lineOf, spanOf, wrapLine } from "../../screen/line.js";
import type { Choice } from "../../screen/picker.js";
import { toOneLine } from "../../terminal/text.js";
import { completeCommand, matchingCommands } from "../commands/command-table.js";
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
const refreshAfterMs = 5_000;
const maxHints = 5;
/** The maximum number of rows with names of commands. */
const maxHintRows = 6;
const maxChoices = 200;

/** The names that can be completed; null if no talk has begun. */
type CompletionSource = Pick<Talk, "fileNames" | "custom"> | null;
const noNames: Promise<readonly string[]> = Promise.resolve([]);

/** @param getTalk returns the current talk, if there is one. @param onNames called when the file names have been read */
export function createCompletion(getTalk: () => CompletionSource, onNames: () => void): Completion {
  let names: readonly string[] | null = null;
  let readAt = Number.NEGATIVE_INFINITY;

  function findPaths(words: string, most: number): readonly string[] {
    if (performance.now() - readAt > refreshAfterMs) {
      readAt = performance.now();
      void (getTalk()?.fileNames() ?? noNames).then((found) => {
        names = found;
        onNames();
      }, onNames);
    }
    return names === null ? [] : matchNames(names, words, most);
  }

  return {
    hints(draft, columns) {
      const path = findTypedPath(draft.text, draft.cursor);
      if (path === null) return renderCommandHints(draft, columns, getTalk()?.custom ?? []);
      const found = findPaths(path.words, maxHints + 1);
      if (found.length === 0) return names === null ? [lineOf("@ …", "dim")] : [];
      const shown = found.slice(0, maxHints).map(toOneLine).join("  ");
      return [lineOf(found.length > maxHints ? `${shown}  … tab` : shown, "dim")];
    },
    complete(draft) {
      const path = findTypedPath(draft.text, draft.cursor);
      if (path === null) {
        const command = completeCommand(draft.text, getTalk()?.custom ?? []);
        return command === null ? null : { type: "draft", draft: edit.write(draft, command) };
      }
      const replacePath = (text: string) => edit.replace(draft, path.start, draft.cursor, text);
      const found = findPaths(path.words, maxChoices);
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

function renderCommandHints({ text }: edit.Draft, columns: number, custom: Talk["custom"]): readonly Line[] {
  const beginning = /^\/([a-z0-9-]*)$/.exec(text)?.[1];
  if (beginning === undefined) return [];
  const found = matchingCommands(beginning, custom);
  if (found.length === 0) return [];
  const folderCommands = new Set(custom.filter(({ scope }) => scope === "folder").map(({ name }) => name));
  const names = found.map(({ name }) => (folderCommands.has(name) ? `/${name} (this folder)` : `/${name}`));
  const rows = wrapLine(lineOf(names.join("  "), "dim"), Math.max(8, columns - 3));
  const [last, ...others] = rows.slice(0, maxHintRows).toReversed();
  return rows.length <= maxHintRows ? rows : [...others.toReversed(), [...(last ?? []), spanOf(" …", "dim")]];
}

function findCommonPrefix(names: readonly string[]): string {
  let common = names[0] ?? "";
  while (!names.every((name) => name.startsWith(common))) common = common.slice(0, -1);
  return common;
}
