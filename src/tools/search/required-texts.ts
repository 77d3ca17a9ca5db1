/**
 * Required texts: a line can match a regular expression only if it contains at least one of them. They can be searched for quickly,
 * and most files contain none of them. So most files and lines are never matched with the expression.
 *
 * Only syntax that is understood with certainty is used: other expressions have no required texts. The expression must be valid.
 */

/** Null if the expression has no known required texts. */
export function findRequiredTexts(expression: string): readonly string[] | null {
  if (expression.includes("\\Q")) return null;
  const reader: ExpressionReader = { letters: [...expression], at: 0 };
  try {
    const texts = readAlternatives(reader);
    return reader.at === reader.letters.length ? texts : null;
  } catch (error) {
    if (error instanceof UnsupportedExpressionError) return null;
    throw error;
  }
}

class UnsupportedExpressionError extends Error {}

type ExpressionReader = { readonly letters: readonly string[]; at: number };
type RequiredTexts = readonly string[] | null;

/** A part of an expression: a letter, a group with its required texts, or something else. */
type Atom = { readonly letter: string } | { readonly texts: RequiredTexts };

const maxTexts = 8;

function readAlternatives(reader: ExpressionReader): RequiredTexts {
  const all: RequiredTexts[] = [readSequence(reader)];
  while (reader.letters[reader.at] === "|") {
    reader.at += 1;
    all.push(readSequence(reader));
  }
  const texts = all.flatMap((one) => one ?? []);
  return all.includes(null) || texts.length > maxTexts ? null : texts;
}

/** The best required texts of a sequence: the longest text, or the group whose shortest text is the longest. */
function readSequence(reader: ExpressionReader): RequiredTexts {
  let [best, run]: [RequiredTexts, string] = [null, ""];
  const offer = (texts: RequiredTexts) => {
    if (texts !== null && minTextLength(texts) > minTextLength(best ?? [""])) best = texts;
  };
  const endRun = () => {
    offer([run]);
    run = "";
  };
  for (let letter = reader.letters[reader.at]; letter !== undefined; letter = reader.letters[reader.at]) {
    if (letter === "|" || letter === ")") break;
    const atom = readAtom(reader);
    const quantifier = readQuantifier(reader);
    const isRequired = quantifier === "once" || quantifier === "more";
    if ("letter" in atom) {
      if (isRequired) run += atom.letter;
      if (quantifier !== "once") endRun();
    } else {
      endRun();
      if (isRequired) offer(atom.texts);
    }
  }
  endRun();
  return best;
}

function minTextLength(texts: readonly string[]): number {
  return Math.min(...texts.map((text) => text.length));
}

const unknownAtom: Atom = { texts: null };

function readAtom(reader: ExpressionReader): Atom {
  const letter = reader.letters[reader.at] ?? "";
  reader.at += 1;
  switch (letter) {
    case "(":
      return readGroup(reader);
    case "[":
      skipClass(reader);
      return unknownAtom;
    case "\\":
      return readEscape(reader);
    case ".":
    case "^":
    case "$":
      return unknownAtom;
    case "*":
    case "+":
    case "?":
      throw new UnsupportedExpressionError();
    default:
      return { letter };
  }
}

function readGroup(reader: ExpressionReader): Atom {
  const { letters } = reader;
  if (letters[reader.at] === "?") {
    const beginning = /^\?(?::|P?<[A-Za-z0-9_]+>)/.exec(letters.slice(reader.at, reader.at + 100).join(""));
    if (beginning === null) throw new UnsupportedExpressionError();
    reader.at += [...beginning[0]].length;
  }
  const texts = readAlternatives(reader);
  if (letters[reader.at] !== ")") throw new UnsupportedExpressionError();
  reader.at += 1;
  return { texts };
}

function readEscape(reader: ExpressionReader): Atom {
  const letter = reader.letters[reader.at] ?? "";
  reader.at += 1;
  if (/^[!-/:-@[-`{-~]$/.test(letter)) return { letter };
  if (letter === "t") return { letter: "\t" };
  if (/^[dDwWsSbBAz]$/.test(letter)) return unknownAtom;
  throw new UnsupportedExpressionError();
}

function skipClass(reader: ExpressionReader): void {
  const { letters } = reader;
  if (letters[reader.at] === "^") reader.at += 1;
  if (letters[reader.at] === "]") reader.at += 1;
  while (letters[reader.at] !== "]") {
    const letter = letters[reader.at];
    if (letter === undefined) throw new UnsupportedExpressionError();
    if (letter === "[" && letters[reader.at + 1] === ":") {
      reader.at += 2;
      while (letters[reader.at] !== ":" || letters[reader.at + 1] !== "]") {
        if (letters[reader.at] === undefined) throw new UnsupportedExpressionError();
        reader.at += 1;
      }
      reader.at += 2;
    } else reader.at += letter === "\\" ? 2 : 1;
  }
  reader.at += 1;
}

/** Reads the quantifier of the preceding atom. */
function readQuantifier(reader: ExpressionReader): "once" | "more" | "perhaps" {
  const { letters } = reader;
  const letter = letters[reader.at];
  let quantifier: "once" | "more" | "perhaps" = "once";
  if (letter === "*" || letter === "?") quantifier = "perhaps";
  else if (letter === "+") quantifier = "more";
  else if (letter === "{") {
    const braces = /^\{(\d+)(?:,\d*)?\}/.exec(letters.slice(reader.at, reader.at + 30).join(""));
    if (braces === null) return "once";
    quantifier = Number(braces[1]) > 0 ? "more" : "perhaps";
    reader.at += braces[0].length - 1;
  } else return "once";
  reader.at += 1;
  if (letters[reader.at] === "?") reader.at += 1;
  return quantifier;
}
