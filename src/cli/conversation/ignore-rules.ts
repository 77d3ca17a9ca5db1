/**
 * The rules of `.gitignore` files, as git reads them. Git itself is not started.
 *
 * A pattern is compared in a time that is bounded by the product of both lengths: a folder's patterns are a stranger's.
 */

export type IgnoreRule = {
  readonly isExcept: boolean;
  readonly onlyFolders: boolean;
  /** The parts of the pattern between slashes. */
  readonly parts: readonly string[];
  /** The folder of the rule: `` or `src/`. */
  readonly base: string;
};

const mostRules = 500;
const longestPattern = 200;

/** @param base the folder of the file, relative to the root and with a slash at its end; empty for the root */
export function ignoreRulesOf(text: string, base: string): readonly IgnoreRule[] {
  return text
    .split(/\r?\n/, mostRules)
    .map((line) => line.replace(/(?<!\\) +$/, ""))
    .filter((line) => line !== "" && !line.startsWith("#") && line.length <= longestPattern)
    .map((line) => ruleOf(line, base));
}

function ruleOf(line: string, base: string): IgnoreRule {
  const isExcept = line.startsWith("!");
  const pattern = (isExcept ? line.slice(1) : line).replace(/^\\(?=[!#])/, "");
  const onlyFolders = pattern.endsWith("/");
  const path = pattern.replace(/\/+$/, "");
  const isAnchored = path.includes("/");
  const parts = path.replace(/^\//, "").split("/");
  return { isExcept, onlyFolders, parts: isAnchored ? parts : ["**", ...parts], base };
}

/** Whether a path is ignored. The last rule that fits counts. @param path relative to the root */
export function isIgnored(rules: readonly IgnoreRule[], path: string, isFolder: boolean): boolean {
  const last = rules.findLast(
    ({ base, onlyFolders, parts }) =>
      path.startsWith(base) && (isFolder || !onlyFolders) && fitsParts(parts, path.slice(base.length).split("/")),
  );
  return last !== undefined && !last.isExcept;
}

function fitsParts(parts: readonly string[], names: readonly string[]): boolean {
  return fits(parts.length, names.length, {
    isAny: (at) => parts[at] === "**",
    isSame: (at, name) => fitsName(parts[at] ?? "", names[name] ?? ""),
  });
}

function fitsName(pattern: string, name: string): boolean {
  const marks = marksOf(pattern);
  const letters = [...name];
  return fits(marks.length, letters.length, {
    isAny: (at) => marks[at] === "*",
    isSame: (at, letter) => isSameLetter(marks[at] ?? "", letters[letter] ?? ""),
  });
}

/** The letters of a pattern. `[a-c]` and `\*` are one each. */
function marksOf(pattern: string): readonly string[] {
  return pattern.match(/\\.|\[[!^]?\]?[^\]]*\]|[\s\S]/gu) ?? [];
}

function isSameLetter(mark: string, letter: string): boolean {
  if (mark === "?") return true;
  if (mark.startsWith("\\") && mark.length > 1) return mark.slice(1) === letter;
  if (!mark.startsWith("[") || mark.length === 1) return mark === letter;
  const isExcept = /^\[[!^]/.test(mark);
  const letters = mark.slice(isExcept ? 2 : 1, -1);
  const isIn = [...letters.matchAll(/(.)-(.)|(.)/gsu)].some(([, from, to, one]) =>
    one === undefined ? letter >= (from ?? "") && letter <= (to ?? "") : letter === one,
  );
  return isIn !== isExcept;
}

type Comparison = {
  /** Whether the mark stands for any number of letters. */
  readonly isAny: (mark: number) => boolean;
  readonly isSame: (mark: number, letter: number) => boolean;
};

/** Compares from the left, and goes back to the last mark that takes any number of letters. */
function fits(marks: number, letters: number, { isAny, isSame }: Comparison): boolean {
  let [mark, letter, any, from] = [0, 0, -1, 0];
  while (letter < letters) {
    if (mark < marks && isAny(mark)) [any, from, mark] = [mark, letter, mark + 1];
    else if (mark < marks && isSame(mark, letter)) [mark, letter] = [mark + 1, letter + 1];
    else if (any !== -1) [mark, from, letter] = [any + 1, from + 1, from + 1];
    else return false;
  }
  while (mark < marks && isAny(mark)) mark += 1;
  return mark === marks;
}
