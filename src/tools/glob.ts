/**
 * Patterns for paths: `*` and `?` within a name, `**` across folders, `{a,b}` for alternatives. `src/` means `src/**`.
 *
 * Patterns come from a model, so no regular expression is made of them: libraries that do so take minutes for
 * `*a*a*a*a*b` and a long name. All positions in the pattern at which a match may be are followed at once. So a match
 * costs at most the length of the pattern times the length of the path, and the pattern is bounded (SEC-15).
 */
import { assertLength, maxPatternCharacters } from "./input-bounds.js";

/**
 * A step of a compiled pattern. A letter is a code point. `within` takes any letter but a slash, `any` takes every
 * letter. The others take none: they go on at each of `to`.
 */
type Step =
  | { readonly takes: "letter"; readonly letter: number }
  | { readonly takes: "within" }
  | { readonly takes: "any" }
  | { readonly takes: "nothing"; to: readonly number[] }
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
  return (path) => matches(steps, path);
}

function compile(pattern: string): readonly Step[] {
  const letters = [...pattern];
  const closed = closedBraces(letters);
  const steps: Step[] = [];
  const add = (step: Step) => steps.push(step) - 1;
  const jump = (...to: number[]) => ({ takes: "nothing" as const, to });

  /** Takes any number of letters: step 0 goes to the letter or out, and the letter back to step 0. */
  function addRun(takes: "within" | "any"): void {
    const start = add(jump());
    add({ takes });
    add(jump(start));
    steps[start] = jump(start + 1, steps.length);
  }

  /** Adds what `build` adds, and a way around it. */
  function addOptional(build: () => void): void {
    const start = add(jump());
    build();
    steps[start] = jump(start + 1, steps.length);
  }

  function isBoundary(at: number, depth: number): boolean {
    const letter = letters[at];
    return letter === undefined || letter === "/" || (depth > 0 && (letter === "," || letter === "}"));
  }

  /** Returns the place after a run of stars. `atStart`: a name begins here. */
  function addStars(at: number, depth: number, atStart: boolean): number {
    let end = at;
    while (letters[end] === "*") end += 1;
    if (end - at < 2 || !atStart || !isBoundary(end, depth)) {
      addRun("within");
      return end;
    }
    if (letters[end] !== "/") {
      addRun("any");
      return end;
    }
    addOptional(() => {
      addRun("any");
      add({ takes: "letter", letter: slash });
    });
    return end + 1;
  }

  /** Returns the place after the closing brace. */
  function addAlternatives(at: number, depth: number, atStart: boolean): number {
    const start = add(jump());
    const [starts, ends]: [number[], number[]] = [[], []];
    let next = at;
    do {
      starts.push(steps.length);
      next = addSequence(next + 1, depth + 1, atStart);
      ends.push(add(jump()));
    } while (letters[next] === ",");
    steps[start] = jump(...starts);
    for (const end of ends) steps[end] = jump(steps.length);
    return next + 1;
  }

  /** Whether `/**` stands here, before a boundary: then the folder itself fits too. */
  function isRest(at: number, depth: number): boolean {
    return letters[at] === "/" && letters[at + 1] === "*" && letters[at + 2] === "*" && isBoundary(at + 3, depth);
  }

  /** Returns the place of the comma or brace that ends the sequence, or the end of the pattern. */
  function addSequence(from: number, depth: number, startsName: boolean): number {
    let [at, atStart] = [from, startsName];
    while (at < letters.length && !(depth > 0 && (letters[at] === "," || letters[at] === "}"))) {
      const letter = letters[at] ?? "";
      if (isRest(at, depth)) {
        addOptional(() => {
          add({ takes: "letter", letter: slash });
          addRun("any");
        });
        at += 3;
      } else if (letter === "*") at = addStars(at, depth, atStart);
      else if (letter === "{" && closed.has(at)) at = addAlternatives(at, depth, atStart);
      else {
        add(letter === "?" ? { takes: "within" } : { takes: "letter", letter: letter.codePointAt(0) ?? 0 });
        at += 1;
      }
      atStart = letters[at - 1] === "/";
    }
    return at;
  }

  addSequence(0, 0, true);
  add({ takes: "end" });
  return steps;
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

function matches(steps: readonly Step[], path: string): boolean {
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
