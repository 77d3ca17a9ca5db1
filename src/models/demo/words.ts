/**
 * The words of a request to the demo model: quotations, clauses, places and kinds of files.
 */

/** A part of a request, taken apart. Quotations stand in it as marks that hold no space. */
export type Clause = {
  /** Without politeness, articles and other words that say nothing here. */
  readonly phrase: string;
  /** After `in`, `under` and the like: one or several, `.` for the root; nothing where none is named. */
  readonly places: readonly string[] | null;
};

/** A pattern of files, and how people call them. */
export type FileKind = { readonly pattern: string; readonly named: string };

export type Quotes = {
  /** The request with a mark in the place of each quotation. */
  readonly text: string;
  /** What stands between the quotation marks. */
  inside(part: string): string;
  asWritten(part: string): string;
};

/** Quotations are taken out, so that no rule looks into them. An apostrophe within a word opens none. */
export function hideQuotes(request: string): Quotes {
  const hidden: { readonly inside: string; readonly written: string }[] = [];
  const quotation = /`([^`\n]+)`|"([^"\n]*)"|“([^”\n]*)”|«([^»\n]*)»|(?<!\w)'([^'\n]+)'(?!\w)/g;
  const text = request.replaceAll("\u0001", "").replace(quotation, (written, ...groups: unknown[]) => {
    hidden.push({ inside: String(groups.slice(0, 5).find((group) => typeof group === "string")), written });
    return `\u0001${hidden.length - 1}\u0001`;
  });
  const shown = (part: string, how: "inside" | "written") =>
    part.replace(/\u0001(\d+)\u0001/g, (_mark, index: string) => hidden[Number(index)]?.[how] ?? "");
  return { text, inside: (part) => shown(part, "inside"), asWritten: (part) => shown(part, "written") };
}

export function isQuoted(word: string): boolean {
  return /^\u0001\d+\u0001$/.test(word);
}

const verbs =
  "list|show|count|find|search|look|grep|read|print|open|cat|display|summari[sz]e|outline|describe|write|save|put|store|create|make|replace|change|rename|run|tell|give|how many|how often|which|what|where";
const joint = new RegExp(
  ` ?[,;.]? ?\\b(?:and )?then\\b[,:]? ?|[,;.] (?:and )?(?=(?:${verbs})\\b)| and (?=(?:${verbs})\\b)|; `,
  "i",
);

/** The clauses of a request, at line ends, at `then`, and where another verb begins. */
export function splitClauses(text: string): readonly string[] {
  return text
    .split("\n")
    .flatMap((line) => splitLine(line.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, "")))
    .map((clause) => withoutPoliteness(clause.trim()))
    .filter((clause) => clause !== "");
}

/** What follows `run:` is a command: to the end of its line, or to the end of its quotation. */
function splitLine(line: string): readonly string[] {
  const command = /\brun:\s*(?:(\u0001\d+\u0001)(.*)|(.+))$/i.exec(line);
  if (command === null) return line.replace(/\s+/g, " ").split(joint);
  const [, quoted, after = "", plain] = command;
  return [...splitLine(line.slice(0, command.index)), `run: ${quoted ?? plain}`, ...splitLine(after)];
}

const politeness =
  /^(?:please|can you|could you|would you|will you|i want you to|i'd like you to|i would like you to|let's|let us|now|also|first|next|finally|kindly|ok|okay|then|and|so|just|go ahead and|try to|hey)(?=[, ])[, ]*/i;

function withoutPoliteness(clause: string): string {
  let text = clause.replace(/^[\s,;.]+/, "");
  for (let shorter = text.replace(politeness, ""); shorter !== text; shorter = text.replace(politeness, ""))
    text = shorter;
  return text.replace(/,? (?:please|for me|thanks|thank you)[.!]?$/i, "").replace(/[\s!?,;]+$|(?<=\S)\.+$/, "");
}

const fillers: ReadonlySet<string> = new Set(
  "the a an all any of me is are there does do did has have this our my your every each that up currently left".split(
    " ",
  ),
);
const prepositions: ReadonlySet<string> = new Set("in under within inside below across throughout from".split(" "));
const placeNouns: ReadonlySet<string> = new Set(
  "file files folder folders directory directories dir project repo repository codebase code workspace root here current whole entire everything everywhere".split(
    " ",
  ),
);

/** `find the foo in the src folder`: the phrase `find foo`, the place `src`. */
export function readClause(text: string): Clause {
  const words = text
    .replace(/,(?= )/g, " ,")
    .split(" ")
    .filter((word) => word !== "");
  const at = words.findLastIndex((word, index) => index > 0 && prepositions.has(word.toLowerCase()));
  if (at === -1) return { phrase: withoutFillers(words), places: null };
  const named = words
    .slice(at + 1)
    .filter((word) => !fillers.has(word.toLowerCase()) && !placeNouns.has(word.toLowerCase()));
  const end = named.findIndex((_word, index) => index > 0 && !isJoined(named, index));
  const places = named.slice(0, end === -1 ? undefined : end).filter((word) => !isConnector(word));
  const after = end === -1 ? [] : named.slice(end);
  return { phrase: withoutFillers([...words.slice(0, at), ...after]), places: places.length === 0 ? ["."] : places };
}

/** Paths that stand side by side: `a.md , b.md and c.md`. */
export function splitPaths(phrase: string): readonly string[] {
  const words = phrase.split(" ").filter((word) => word !== "" && !/^files?$/i.test(word));
  const isList = words.every((_word, index) => index === 0 || isJoined(words, index));
  return isList ? words.filter((word) => !isConnector(word)) : [];
}

function isJoined(words: readonly string[], index: number): boolean {
  return isConnector(words[index] ?? "") || isConnector(words[index - 1] ?? "");
}

function isConnector(word: string): boolean {
  return word === "," || word === "&" || /^and$/i.test(word);
}

function withoutFillers(words: readonly string[]): string {
  return words.filter((word) => !fillers.has(word.toLowerCase())).join(" ");
}

/** Files have a dot in their name, or a name that everybody knows. */
export function isFolder(path: string): boolean {
  const name = path.split("/").at(-1) ?? "";
  return !/^.+\.\w+$|^\.\w+$|^(?:README|LICEN[CS]E|CHANGELOG|Makefile|Dockerfile|NOTICE|AUTHORS)$/i.test(name);
}

/** `under src`, `in README.md`, `in this folder`. */
export function inPlace(path: string, show: (path: string) => string = (shown) => shown): string {
  if (path === ".") return "in this folder";
  return `${isFolder(path) ? "under" : "in"} ${show(path)}`;
}

/** What kind of files a word means: `TypeScript`, `.ts`, `ts`, `*.test.ts`; null where it is no kind. */
export function kindOf(word: string): FileKind | null {
  const known = kinds.get(word.toLowerCase());
  if (known !== undefined) return known;
  if (word.includes("*")) return { pattern: word, named: word };
  const extension = /^\.?([a-z0-9]{1,5})$/i.exec(word)?.[1]?.toLowerCase();
  return extension === undefined ? null : { pattern: `*.${extension}`, named: `.${extension}` };
}

const kinds: ReadonlyMap<string, FileKind> = new Map([
  ["typescript", { pattern: "*.{ts,tsx,mts,cts}", named: "TypeScript" }],
  ["javascript", { pattern: "*.{js,jsx,mjs,cjs}", named: "JavaScript" }],
  ["markdown", { pattern: "*.{md,mdx}", named: "Markdown" }],
  ["python", { pattern: "*.py", named: "Python" }],
  ["yaml", { pattern: "*.{yml,yaml}", named: "YAML" }],
  ["test", { pattern: "*.{test,spec}.*", named: "test" }],
]);
