/**
 * Patterns for paths: `*` and `?` within a name, `**` across folders, `{a,b}` for alternatives. `src/` means `src/**`.
 *
 * Patterns come from a model, so no regular expression is made of them: libraries that do so take minutes for
 * `*a*a*a*a*a*b` and a long name. All positions in the pattern at which a match may be are followed at once. So a match
 * costs at most the length of the pattern times the length of the path, and the pattern is bounded (SEC-15).
 */
import { assertLength, maxPatternCharacters } from "./input-bounds.js";

/**
 * A step of a compiled pattern. A letter is a code point. `within` takes any letter but a slash, `any` takes every
 * letter, `member` one of a set of bytes. The others take none: they go on at each of `to`.
 */
export type Step =
  | { readonly takes: "letter"; readonly letter: number }
  | { readonly takes: "within" }
  | { readonly takes: "any" }
  | { readonly takes: "member"; readonly members: Uint8Array }
  | { readonly takes: "nothing"; readonly to: readonly number[] }
  | { readonly takes: "end" };

/**
 * Returns a test for paths with `/` between names. A pattern without `/`, such as `*.ts`, is tested against the last
 * name only.
 *
 * @throws Error if the pattern is too long
 */
export function compileGlob(pattern: string): (path: string) => boolean {
  assertLength("The pattern", pattern, maxPatternCharacters);
  const whole = pattern.replace(/^\.\//, "").replace(/\/$/, "/**");
  const steps = compile(whole.includes("/") ? whole : `**/${whole}`);
  return (path) => matchesSteps(steps, path);
}

/** A pattern on its way to steps. */
type Draft = { readonly letters: readonly string[]; readonly closed: ReadonlySet<number>; readonly steps: Step[] };

/** A place in a pattern: within how many braces it is, and whether a name begins there. */
type Place = { readonly at: number; readonly depth: number; readonly startsName: boolean };

function compile(pattern: string): readonly Step[] {
  const letters = [...pattern];
  const draft: Draft = { letters, closed: closedBraces(letters), steps: [] };
  addSequence(draft, { at: 0, depth: 0, startsName: true });
  draft.steps.push({ takes: "end" });
  return draft.steps;
}

function jump(...to: readonly number[]): Step {
  return { takes: "nothing", to };
}

/** Takes any number of letters. */
function addRun({ steps }: Draft, takes: "within" | "any"): void {
  const start = steps.length;
  steps.push(jump(start + 1, start + 3), { takes }, jump(start));
}

/** Adds what `build` adds, and a way around it. */
function addOptional({ steps }: Draft, build: () => void): void {
  const start = steps.length;
  steps.push(jump());
  build();
  steps[start] = jump(start + 1, steps.length);
}

/** Adds all up to the comma or the brace that ends the sequence, or the end of the pattern. Returns that place. */
function addSequence(draft: Draft, { at: from, depth, startsName }: Place): number {
  const { letters, steps } = draft;
  let place: Place = { at: from, depth, startsName };
  while (!endsSequence(letters[place.at], depth)) {
    const { at } = place;
    const letter = letters[at] ?? "";
    let next = at + 1;
    if (isRest(letters, place)) {
      // The folder itself fits too.
      addOptional(draft, () => {
        steps.push({ takes: "letter", letter: slash });
        addRun(draft, "any");
      });
      next = at + 3;
    } else if (letter === "*") next = addStars(draft, place);
    else if (letter === "{" && draft.closed.has(at)) next = addAlternatives(draft, place);
    else steps.push(letter === "?" ? { takes: "within" } : { takes: "letter", letter: letter.codePointAt(0) ?? 0 });
    place = { at: next, depth, startsName: letters[next - 1] === "/" };
  }
  return place.at;
}

function endsSequence(letter: string | undefined, depth: number): boolean {
  return letter === undefined || (depth > 0 && (letter === "," || letter === "}"));
}

/** Whether `/**` stands here as a whole: before a slash or the end of a sequence. */
function isRest(letters: readonly string[], { at, depth }: Place): boolean {
  const next = letters[at + 3];
  const isWhole = next === "/" || endsSequence(next, depth);
  return letters[at] === "/" && letters[at + 1] === "*" && letters[at + 2] === "*" && isWhole;
}

/** Returns the place after a run of stars. */
function addStars(draft: Draft, { at, depth, startsName }: Place): number {
  const { letters, steps } = draft;
  let end = at;
  while (letters[end] === "*") end += 1;
  const next = letters[end];
  if (end - at < 2 || !startsName || !(next === "/" || endsSequence(next, depth))) {
    addRun(draft, "within");
    return end;
  }
  if (next !== "/") {
    addRun(draft, "any");
    return end;
  }
  addOptional(draft, () => {
    addRun(draft, "any");
    steps.push({ takes: "letter", letter: slash });
  });
  return end + 1;
}

/** Returns the place after the closing brace. */
function addAlternatives(draft: Draft, { at, depth, startsName }: Place): number {
  const { letters, steps } = draft;
  const start = steps.push(jump()) - 1;
  const [starts, ends]: [number[], number[]] = [[], []];
  let next = at;
  do {
    starts.push(steps.length);
    next = addSequence(draft, { at: next + 1, depth: depth + 1, startsName });
    ends.push(steps.push(jump()) - 1);
  } while (letters[next] === ",");
  steps[start] = jump(...starts);
  for (const end of ends) steps[end] = jump(steps.length);
  return next + 1;
}

const slash = 47;

/** The places of the braces that are closed again. Other braces stand for themselves. */
function closedBraces(letters: readonly string[]): ReadonlySet<number> {
  const [open, closed]: [number[], Set<number>] = [[], new Set()];
  letters.forEach((letter, at) => {
    if (letter === "{") open.push(at);
    else if (letter === "}") {
      const start = open.pop();
      if (start !== undefined) closed.add(start);
    }
  });
  return closed;
}

/** Whether the steps take the whole path. */
export function matchesSteps(steps: readonly Step[], path: string): boolean {
  let now = reach(steps, [0]);
  for (const character of path) {
    const letter = character.codePointAt(0) ?? 0;
    const taken: number[] = [];
    for (const at of now) if (takes(steps[at], letter)) taken.push(at + 1);
    if (taken.length === 0) return false;
    now = reach(steps, taken);
  }
  return now.some((at) => steps[at]?.takes === "end");
}

function takes(step: Step | undefined, letter: number): boolean {
  switch (step?.takes) {
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

/** The steps that take letters, or end the match, and can be reached without a letter; each once. */
function reach(steps: readonly Step[], from: readonly number[]): readonly number[] {
  const seen = new Uint8Array(steps.length);
  const reached: number[] = [];
  const open = [...from];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (seen[at] === 1) continue;
    seen[at] = 1;
    const step = steps[at];
    if (step?.takes === "nothing") open.push(...step.to);
    else reached.push(at);
  }
  return reached;
}
