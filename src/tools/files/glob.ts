/**
 * Patterns for paths: `*` and `?` within a name, `**` across folders, `{a,b}` for alternatives. `src/` means `src/**`.
 *
 * Patterns come from a model, so they are not compiled to regular expressions: libraries that do so take minutes for `*a*a*a*a*a*b`
 * and a long name. Instead, all possible positions in the pattern are tracked at the same time. So a match costs at most the length
 * of the pattern times the length of the path, and the length of the pattern is bounded (SEC-15).
 */
import { assertMaxLength, maxPatternCharacters } from "../lib/input-bounds.js";

/**
 * A step of a compiled pattern. A letter is a code point. `within` accepts any letter except a slash, `any` accepts every letter,
 * `member` accepts a set of bytes. The other steps accept no letter: `nothing` continues at each of `to`.
 */
export type PatternStep =
  | { readonly accepts: "letter"; readonly letter: number }
  | { readonly accepts: "within" }
  | { readonly accepts: "any" }
  | { readonly accepts: "member"; readonly members: Uint8Array }
  | { readonly accepts: "nothing"; readonly to: readonly number[] }
  | { readonly accepts: "end" };

/**
 * Returns a test for paths with `/` between names. A pattern without `/`, such as `*.ts`, is tested against the last name only.
 *
 * @throws Error if the pattern is too long
 */
export function compileGlob(pattern: string): (path: string) => boolean {
  assertMaxLength("The pattern", pattern, maxPatternCharacters);
  const whole = pattern.replace(/^\.\//, "").replace(/\/$/, "/**");
  const steps = compileSteps(whole.includes("/") ? whole : `**/${whole}`);
  return (path) => matchesSteps(steps, path);
}

/** A pattern that is being compiled. */
type PatternDraft = {
  readonly letters: readonly string[];
  readonly closed: ReadonlySet<number>;
  readonly steps: PatternStep[];
};

/** A position in a pattern: the depth of braces, and whether a name begins at this position. */
type PatternPosition = { readonly at: number; readonly depth: number; readonly startsName: boolean };

function compileSteps(pattern: string): readonly PatternStep[] {
  const letters = [...pattern];
  const draft: PatternDraft = { letters, closed: findClosedBraces(letters), steps: [] };
  addSequence(draft, { at: 0, depth: 0, startsName: true });
  draft.steps.push({ accepts: "end" });
  return draft.steps;
}

function createJump(...to: readonly number[]): PatternStep {
  return { accepts: "nothing", to };
}

/** Adds steps that accept any number of letters. */
function addRepeat({ steps }: PatternDraft, accepts: "within" | "any"): void {
  const start = steps.length;
  steps.push(createJump(start + 1, start + 3), { accepts }, createJump(start));
}

/** Adds the steps of `build`, and a jump past them. */
function addOptional({ steps }: PatternDraft, build: () => void): void {
  const start = steps.length;
  steps.push(createJump());
  build();
  steps[start] = createJump(start + 1, steps.length);
}

/** Adds everything up to the comma or brace that ends the sequence, or the end of the pattern. Returns that position. */
function addSequence(draft: PatternDraft, { at: from, depth, startsName }: PatternPosition): number {
  const { letters, steps } = draft;
  let position: PatternPosition = { at: from, depth, startsName };
  while (!endsSequence(letters[position.at], depth)) {
    const { at } = position;
    const letter = letters[at] ?? "";
    let next = at + 1;
    if (isTrailingGlobstar(letters, position)) {
      // The folder itself also matches.
      addOptional(draft, () => {
        steps.push({ accepts: "letter", letter: slash });
        addRepeat(draft, "any");
      });
      next = at + 3;
    } else if (letter === "*") next = addStars(draft, position);
    else if (letter === "{" && draft.closed.has(at)) next = addAlternatives(draft, position);
    else steps.push(letter === "?" ? { accepts: "within" } : { accepts: "letter", letter: letter.codePointAt(0) ?? 0 });
    position = { at: next, depth, startsName: letters[next - 1] === "/" };
  }
  return position.at;
}

function endsSequence(letter: string | undefined, depth: number): boolean {
  return letter === undefined || (depth > 0 && (letter === "," || letter === "}"));
}

/** Whether a complete `/**` is at this position: before a slash or the end of a sequence. */
function isTrailingGlobstar(letters: readonly string[], { at, depth }: PatternPosition): boolean {
  const next = letters[at + 3];
  const isWhole = next === "/" || endsSequence(next, depth);
  return letters[at] === "/" && letters[at + 1] === "*" && letters[at + 2] === "*" && isWhole;
}

/** Returns the position after a run of stars. */
function addStars(draft: PatternDraft, { at, depth, startsName }: PatternPosition): number {
  const { letters, steps } = draft;
  let end = at;
  while (letters[end] === "*") end += 1;
  const next = letters[end];
  if (end - at < 2 || !startsName || !(next === "/" || endsSequence(next, depth))) {
    addRepeat(draft, "within");
    return end;
  }
  if (next !== "/") {
    addRepeat(draft, "any");
    return end;
  }
  addOptional(draft, () => {
    addRepeat(draft, "any");
    steps.push({ accepts: "letter", letter: slash });
  });
  return end + 1;
}

/** Returns the position after the closing brace. */
function addAlternatives(draft: PatternDraft, { at, depth, startsName }: PatternPosition): number {
  const { letters, steps } = draft;
  const start = steps.push(createJump()) - 1;
  const [starts, ends]: [number[], number[]] = [[], []];
  let next = at;
  do {
    starts.push(steps.length);
    next = addSequence(draft, { at: next + 1, depth: depth + 1, startsName });
    ends.push(steps.push(createJump()) - 1);
  } while (letters[next] === ",");
  steps[start] = createJump(...starts);
  for (const end of ends) steps[end] = createJump(steps.length);
  return next + 1;
}

const slash = 47;

/** The positions of braces that have a closing brace. Other braces are literal. */
function findClosedBraces(letters: readonly string[]): ReadonlySet<number> {
  const [pending, closed]: [number[], Set<number>] = [[], new Set()];
  letters.forEach((letter, at) => {
    if (letter === "{") pending.push(at);
    else if (letter === "}") {
      const start = pending.pop();
      if (start !== undefined) closed.add(start);
    }
  });
  return closed;
}

/** Whether the steps accept the whole path. */
export function matchesSteps(steps: readonly PatternStep[], path: string): boolean {
  let active = followJumps(steps, [0]);
  for (const character of path) {
    const letter = character.codePointAt(0) ?? 0;
    const advanced: number[] = [];
    for (const at of active) if (accepts(steps[at], letter)) advanced.push(at + 1);
    if (advanced.length === 0) return false;
    active = followJumps(steps, advanced);
  }
  return active.some((at) => steps[at]?.accepts === "end");
}

function accepts(step: PatternStep | undefined, letter: number): boolean {
  switch (step?.accepts) {
    case "letter":
      return step.letter === letter;
    case "within":
      return letter !== slash;
    case "any":
      return true;
    case "member":
      return step.members[letter] === 1;
    default:
      return false;
  }
}

/** The steps that are reachable without a letter and either accept a letter or end the match, each listed once. */
function followJumps(steps: readonly PatternStep[], from: readonly number[]): readonly number[] {
  const seen = new Uint8Array(steps.length);
  const reached: number[] = [];
  const pending = [...from];
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    if (seen[at] === 1) continue;
    seen[at] = 1;
    const step = steps[at];
    if (step?.accepts === "nothing") pending.push(...step.to);
    else reached.push(at);
  }
  return reached;
}
