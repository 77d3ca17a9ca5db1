/**
 * Patterns for paths: `*` and `?` within a name, `**` across folders, `{a,b}` for alternatives. `src/` means `src/**`.
 *
 * Patterns come from a model, so no regular expressions are used. The cost of a match is bounded by the length of the
 * pattern times the length of the path (SEC-15).
 */
const maxAlternatives = 100;

/**
 * Returns a test for paths with `/` between names. A pattern without `/`, such as `*.ts`, is tested against the last
 * name only.
 *
 * @throws Error if the braces expand to more than 100 alternatives
 */
export function compileGlob(pattern: string): (path: string) => boolean {
  const alternatives = expandBraces(pattern.replace(/^\.\//, "").replace(/\/$/, "/**")).map((alternative) =>
    alternative.split("/"),
  );
  return (path) => {
    const names = path.split("/");
    return alternatives.some((parts) => matchesPath(parts.length === 1 ? ["**", ...parts] : parts, names));
  };
}

function expandBraces(pattern: string): readonly string[] {
  let expanded = [pattern];
  for (;;) {
    const next = expanded.flatMap(expandFirstBrace);
    if (next.length > maxAlternatives)
      throw new Error(`The pattern expands to more than ${maxAlternatives} alternatives. Use fewer braces.`);
    if (next.every((text, index) => text === expanded[index])) return next;
    expanded = next;
  }
}

/** Expands the first innermost pair, so that repeated calls expand nested pairs too. */
function expandFirstBrace(pattern: string): readonly string[] {
  const close = pattern.indexOf("}");
  const open = close === -1 ? -1 : pattern.lastIndexOf("{", close);
  if (open === -1) return [pattern];
  const [before, inside, after] = [pattern.slice(0, open), pattern.slice(open + 1, close), pattern.slice(close + 1)];
  return inside.split(",").map((choice) => before + choice + after);
}

function matchesPath(parts: readonly string[], names: readonly string[]): boolean {
  return matchesSequence(
    parts,
    names,
    (part) => part === "**",
    (part, name) => matchesSequence([...part], [...name], (letter) => letter === "*", matchesLetter),
  );
}

function matchesLetter(expected: string, letter: string): boolean {
  return expected === "?" || expected === letter;
}

/** On a mismatch, it backtracks to the last wildcard only. So it takes at most pattern × items steps. */
function matchesSequence(
  pattern: readonly string[],
  items: readonly string[],
  isWildcard: (part: string) => boolean,
  matches: (part: string, item: string) => boolean,
): boolean {
  let [part, item] = [0, 0];
  let resume: { readonly part: number; item: number } | null = null;
  while (item < items.length) {
    const expected = pattern[part];
    if (expected !== undefined && isWildcard(expected)) {
      resume = { part: part + 1, item };
      part += 1;
    } else if (expected !== undefined && matches(expected, items[item] ?? "")) {
      part += 1;
      item += 1;
    } else if (resume !== null) {
      resume.item += 1;
      [part, item] = [resume.part, resume.item];
    } else return false;
  }
  return pattern.slice(part).every(isWildcard);
}
