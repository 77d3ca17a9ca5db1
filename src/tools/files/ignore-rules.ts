/**
 * The rules of `.gitignore` files, implemented as in Git's `wildmatch`, byte by byte. Git itself is not started.
 *
 * The rules of a folder may be hostile, so they are not compiled to regular expressions. Matching a path takes at most the length
 * of the pattern times the length of the path (glob.ts), and the number of rules is bounded.
 */
import { matchesSteps, type PatternStep } from "./glob.js";

/** A rule that matches a name or a path. Both are byte strings: one character for each byte. */
type IgnoreRule = {
  readonly isNegated: boolean;
  readonly onlyFolders: boolean;
  /** Whether the rule is compared with the last name, or with the path relative to the rule's folder. */
  readonly compares: "name" | "path";
  readonly matches: (subject: string) => boolean;
  /** The maximum number of steps per byte: 0 without wildcards. */
  readonly steps: number;
};

/** The rules of one file. If none of them matches, the rules of `above` apply. */
export type IgnoreRules = {
  readonly rules: readonly IgnoreRule[];
  /** The file's folder as a byte string: empty, or with a trailing slash. */
  readonly base: string;
  readonly above: IgnoreRules | null;
  /** The steps of all rules, including those above. */
  readonly steps: number;
};

const maxRules = 5_000;
const maxPatternBytes = 1_000;

/**
 * Rules with wildcards beyond this number of steps, including the rules of the folders above, are ignored. The limit is several
 * times what large projects have, and bounds the time for matching one path.
 */
const maxSteps = 10_000;

/** The maximum size of an ignore file, in bytes. */
export const maxIgnoreBytes = 256 * 1024;

/** @param base the folder of the file: empty, or with a trailing slash */
export function addIgnoreRules(above: IgnoreRules | null, file: Uint8Array, base: string): IgnoreRules {
  const text = Buffer.from(file.buffer, file.byteOffset, file.byteLength)
    .toString("latin1")
    .replace(/^\xef\xbb\xbf/, "");
  const lines = text
    .split("\n", maxRules)
    .filter((line) => line.length <= maxPatternBytes && !line.startsWith("#"))
    .map((line) => trimTrailingSpaces(line.replace(/\r$/, "")))
    .filter((line) => line !== "");
  const rules: IgnoreRule[] = [];
  let steps = above?.steps ?? 0;
  for (const line of lines) {
    const rule = parseRule(line);
    if (rule.steps > 0 && steps + rule.steps > maxSteps) continue;
    rules.push(rule);
    steps += rule.steps;
  }
  return { rules, base: toByteString(base), above, steps };
}

/** Whether Git ignores a path, regardless of its parent folders. The last matching rule wins. */
export function isIgnored(rules: IgnoreRules | null, path: string, isFolder: boolean): boolean {
  if (rules === null) return false;
  const bytes = toByteString(path);
  const name = bytes.slice(bytes.lastIndexOf("/") + 1);
  for (let list: IgnoreRules | null = rules; list !== null; list = list.above) {
    if (!bytes.startsWith(list.base)) continue;
    const inner = bytes.slice(list.base.length);
    const last = list.rules.findLast(
      ({ onlyFolders, compares, matches }) => (isFolder || !onlyFolders) && matches(compares === "name" ? name : inner),
    );
    if (last !== undefined) return !last.isNegated;
  }
  return false;
}

/** Converts a string to a byte string: one character for each byte of UTF-8. */
function toByteString(text: string): string {
  return onlyAscii.test(text) ? text : Buffer.from(text).toString("latin1");
}

const onlyAscii = /^[\x00-\x7f]*$/;

/** Removes trailing spaces. A space after a backslash stays. */
function trimTrailingSpaces(line: string): string {
  let end = 0;
  for (let at = 0; at < line.length; at += 1) {
    const isEscape = line[at] === "\\";
    if (isEscape) at += 1;
    if (isEscape || line[at] !== " ") end = at + 1;
  }
  return line.slice(0, end);
}

function parseRule(line: string): IgnoreRule {
  const isNegated = line.startsWith("!");
  const pattern = isNegated ? line.slice(1) : line;
  const onlyFolders = pattern.endsWith("/");
  const path = onlyFolders ? pattern.slice(0, -1) : pattern;
  const kind = { isNegated, onlyFolders };
  if (!path.includes("/")) return { ...kind, compares: "name", ...createMatcher(path) };
  return { ...kind, compares: "path", ...createMatcher(path.replace(/^\//, "")) };
}

function createMatcher(pattern: string): Pick<IgnoreRule, "matches" | "steps"> {
  const literalLength = pattern.search(/[*?[\\]/);
  if (literalLength === -1) return { matches: (subject) => subject === pattern, steps: 0 };
  if (/^\*[^*?[\\/]*$/.test(pattern)) {
    const end = pattern.slice(1);
    return { matches: (subject) => subject.endsWith(end) && !subject.includes("/"), steps: 0 };
  }
  const steps = compilePattern(pattern, literalLength);
  if (steps === null) return { matches: () => false, steps: 0 };
  const beginning = pattern.slice(0, literalLength);
  return { matches: (subject) => subject.startsWith(beginning) && matchesSteps(steps, subject), steps: steps.length };
}

/**
 * Compiles a pattern; null if it cannot match anything.
 *
 * @param literalLength the length of the prefix without wildcards. Git compares the prefix separately, so a `**` directly after it
 * counts as if it were at the start
 */
function compilePattern(pattern: string, literalLength: number): readonly PatternStep[] | null {
  const steps: PatternStep[] = [];
  for (let at = 0; at < pattern.length; ) {
    const letter = pattern[at] ?? "";
    if (letter === "*") at = addStars(steps, pattern, at, at === literalLength || pattern[at - 1] === "/");
    else if (letter === "?") {
      steps.push({ accepts: "within" });
      at += 1;
    } else if (letter === "[") {
      const characterClass = parseCharacterClass(pattern, at + 1);
      if (characterClass === null) return null;
      steps.push(characterClass.step);
      at = characterClass.next;
    } else {
      const literal = letter === "\\" ? pattern[at + 1] : letter;
      if (literal === undefined) return null;
      steps.push({ accepts: "letter", letter: literal.charCodeAt(0) });
      at += letter === "\\" ? 2 : 1;
    }
  }
  steps.push({ accepts: "end" });
  return steps;
}

/** Returns the position after a run of stars. */
function addStars(steps: PatternStep[], pattern: string, at: number, startsName: boolean): number {
  let end = at;
  while (pattern[end] === "*") end += 1;
  const rest = pattern.slice(end, end + 2);
  const crosses = end - at > 1 && startsName && (rest === "" || rest.startsWith("/") || rest === "\\/");
  const isOptional = crosses && rest.startsWith("/");
  const start = steps.length;
  if (isOptional) steps.push({ accepts: "nothing", to: [start + 1, start + 5] });
  const run = steps.length;
  steps.push({ accepts: "nothing", to: [run + 1, run + 3] }, { accepts: crosses ? "any" : "within" });
  steps.push({ accepts: "nothing", to: [run] });
  if (!isOptional) return end;
  steps.push({ accepts: "letter", letter: slash });
  return end + 1;
}

const slash = 47;

type CharacterClass = { readonly step: PatternStep; readonly next: number };

/** Parses a class such as `[a-z]` from the position after its bracket. Null if the class is unterminated or invalid. */
function parseCharacterClass(pattern: string, from: number): CharacterClass | null {
  const isNegatedClass = pattern[from] === "!" || pattern[from] === "^";
  const first = isNegatedClass ? from + 1 : from;
  const members = new Uint8Array(256);
  const add = (start: number, end: number) => void (start <= end && members.fill(1, start, end + 1));
  let [at, previous] = [first, 0];
  while (at === first || pattern[at] !== "]") {
    const named = /^\[:([^\]]*):\]/.exec(pattern.slice(at, at + 30));
    if (named !== null) {
      const ranges = namedClasses.get(named[1] ?? "");
      if (ranges === undefined) return null;
      for (const [start = 0, end = start] of ranges) add(start, end);
      [at, previous] = [at + named[0].length, 0];
      continue;
    }
    const isRange = pattern[at] === "-" && previous !== 0 && at + 1 < pattern.length && pattern[at + 1] !== "]";
    if (isRange) at += 1;
    if (pattern[at] === "\\") at += 1;
    const unit = pattern.charCodeAt(at);
    if (Number.isNaN(unit)) return null;
    add(isRange ? previous : unit, unit);
    [at, previous] = [at + 1, isRange ? 0 : unit];
  }
  for (let unit = 0; isNegatedClass && unit < members.length; unit += 1) members[unit] = members[unit] === 1 ? 0 : 1;
  members[slash] = 0;
  return { step: { accepts: "member", members }, next: at + 1 };
}

const [upper, lower, digit] = [
  [65, 90],
  [97, 122],
  [48, 57],
] as const;

/** The byte ranges of the named classes, as in `[[:digit:]]`. */
const namedClasses: ReadonlyMap<string, readonly (readonly number[])[]> = new Map([
  ["alnum", [upper, lower, digit]],
  ["alpha", [upper, lower]],
  ["blank", [[9], [32]]],
  ["cntrl", [[0, 31], [127]]],
  ["digit", [digit]],
  ["graph", [[33, 126]]],
  ["lower", [lower]],
  ["print", [[32, 126]]],
  [
    "punct",
    [
      [33, 47],
      [58, 64],
      [91, 96],
      [123, 126],
    ],
  ],
  ["space", [[9, 13], [32]]],
  ["upper", [upper]],
  ["xdigit", [digit, [65, 70], [97, 102]]],
]);
