/**
 * Completing what is being typed: the name of a command, or the path of a file behind an `@`.
 */
import * as edit from "../screen/draft.js";
import { type Line, lineOf, spanOf, wrapLine } from "../screen/line.js";
import type { Choice } from "../screen/picker.js";
import { oneLine } from "../text.js";
import { completed, matchingCommands } from "./commands.js";
import { matchingNames, pathBeing, writtenPath } from "./file-names.js";
import type { Talk } from "./front.js";

/** What Tab does to a draft. */
export type Completed =
  | { readonly type: "draft"; readonly draft: edit.Draft }
  /** Several paths fit. `draft` is the one with the path that the person chooses. */
  | { readonly type: "choose"; readonly choices: readonly Choice[]; readonly draft: (path: string) => edit.Draft };

export type Completion = {
  /** What the draft may become, for the screen. */
  readonly hints: (draft: edit.Draft, columns: number) => readonly Line[];
  /** @returns null if there is nothing to complete */
  readonly complete: (draft: edit.Draft) => Completed | null;
};

/** Milliseconds after which the names of the files are read again. */
const freshFor = 5_000;
const mostHints = 5;
/** Rows of names of commands. */
const mostHintRows = 6;
const mostChoices = 200;

/** What can be completed. */
type CompletedFor = Pick<Talk, "fileNames" | "custom"> | null;
const noNames: Promise<readonly string[]> = Promise.resolve([]);

/** @param talkOf the present talk, if there is one. @param onNames called when the names of the files are there */
export function createCompletion(talkOf: () => CompletedFor, onNames: () => void): Completion {
  let names: readonly string[] | null = null;
  let readAt = Number.NEGATIVE_INFINITY;

  function fitting(words: string, most: number): readonly string[] {
    if (performance.now() - readAt > freshFor) {
      readAt = performance.now();
      void (talkOf()?.fileNames() ?? noNames).then((found) => {
        names = found;
        onNames();
      }, onNames);
    }
    return names === null ? [] : matchingNames(names, words, most);
  }

  return {
    hints(draft, columns) {
      const path = pathBeing(draft.text, draft.cursor);
      if (path === null) return commandHints(draft, columns, talkOf()?.custom ?? []);
      const found = fitting(path.words, mostHints + 1);
      if (found.length === 0) return names === null ? [lineOf("@ …", "dim")] : [];
      const shown = found.slice(0, mostHints).map(oneLine).join("  ");
      return [lineOf(found.length > mostHints ? `${shown}  … tab` : shown, "dim")];
    },
    complete(draft) {
      const path = pathBeing(draft.text, draft.cursor);
      if (path === null) {
        const command = completed(draft.text, talkOf()?.custom ?? []);
        return command === null ? null : { type: "draft", draft: edit.write(draft, command) };
      }
      const put = (text: string) => edit.replace(draft, path.start, draft.cursor, text);
      const found = fitting(path.words, mostChoices);
      const [only] = found;
      if (only === undefined) return null;
      if (found.length === 1) return { type: "draft", draft: put(writtenPath(only)) };
      const longer = commonBeginning(found);
      if (longer.length > path.words.length && longer.startsWith(path.words) && !/\s/.test(longer))
        return { type: "draft", draft: put(longer) };
      return {
        type: "choose",
        choices: found.map((name) => ({ id: name, text: oneLine(name) })),
        draft: (chosen) => put(writtenPath(chosen)),
      };
    },
  };
}

function commandHints({ text }: edit.Draft, columns: number, custom: Talk["custom"]): readonly Line[] {
  const beginning = /^\/([a-z0-9-]*)$/.exec(text)?.[1];
  if (beginning === undefined) return [];
  const found = matchingCommands(beginning, custom);
  if (found.length === 0) return [];
  const brought = new Set(custom.filter(({ scope }) => scope === "folder").map(({ name }) => name));
  const names = found.map(({ name }) => (brought.has(name) ? `/${name} (this folder)` : `/${name}`));
  const rows = wrapLine(lineOf(names.join("  "), "dim"), Math.max(8, columns - 3));
  const [last, ...others] = rows.slice(0, mostHintRows).toReversed();
  return rows.length <= mostHintRows ? rows : [...others.toReversed(), [...(last ?? []), spanOf(" …", "dim")]];
}

function commonBeginning(names: readonly string[]): string {
  let common = names[0] ?? "";
  while (!names.every((name) => name.startsWith(common))) common = common.slice(0, -1);
  return common;
}
