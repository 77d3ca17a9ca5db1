/**
 * Patterns for paths: `*` and `?` within a name, `**` across folders, `{a,b}` for alternatives; `src/` is `src/**`.
 *
 * Matched without regular expressions: a pattern comes from a model, and its cost is bounded by its length times the path's (SEC-15).
 */
const maxAlternatives = 100;

/**
 * A test for paths with `/` between names. A pattern without `/` is tested against the last name alone: `*.ts`.
 *
 * @throws Error where the braces stand for more than 100 alternatives.
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
    if (next.length > maxAlternatives) throw new Error(`The pattern has more than ${maxAlternatives} alternatives.`);
    if (next.every((text, index) => text === expanded[index])) return next;
    expanded = next;
  }
}

/** The innermost pair that comes first, so that nested ones are expanded one after another. */
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

function matchesLetter(wanted: string, letter: string): boolean {
  return wanted === "?" || wanted === letter;
}

/** Goes on from the last wildcard where what follows it does not fit: at most pattern × items steps. */
function matchesSequence(
  pattern: readonly string[],
  items: readonly string[],
  isWildcard: (part: string) => boolean,
  matches: (part: string, item: string) => boolean,
): boolean {
  let [part, item] = [0, 0];
  let resume: { readonly part: number; item: number } | null = null;
  while (item < items.length) {
    const wanted = pattern[part];
    if (wanted !== undefined && isWildcard(wanted)) {
      resume = { part: part + 1, item };
      part += 1;
    } else if (wanted !== undefined && matches(wanted, items[item] ?? "")) {
      part += 1;
      item += 1;
    } else if (resume !== null) {
      resume.item += 1;
      [part, item] = [resume.part, resume.item];
    } else return false;
  }
  return pattern.slice(part).every(isWildcard);
}
