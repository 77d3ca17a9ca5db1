/**
 * What the demo model understands: a small set of tasks, in plain English, by rules.
 */
import {
  type Clause,
  type FileKind,
  hideQuotes,
  isFolder,
  isQuoted,
  kindOf,
  type Quotes,
  readClause,
  splitClauses,
  splitPaths,
} from "./words.js";

export type Task =
  | { readonly type: "list"; readonly path: string; readonly kind?: FileKind }
  | { readonly type: "count_files"; readonly path: string; readonly kind?: FileKind }
  | { readonly type: "count_lines"; readonly path: string }
  | { readonly type: "find"; readonly text: string; readonly path: string; readonly countOnly?: boolean }
  /** Comments that begin with one of these words. */
  | {
      readonly type: "find_notes";
      readonly words: readonly string[];
      readonly path: string;
      readonly countOnly?: boolean;
    }
  | { readonly type: "read"; readonly path: string; readonly startLine?: number; readonly endLine?: number }
  | { readonly type: "summarise"; readonly path: string }
  | { readonly type: "report"; readonly path: string }
  | { readonly type: "replace"; readonly oldText: string; readonly newText: string; readonly path: string }
  | { readonly type: "run"; readonly command: string };

export type Request =
  | { readonly type: "tasks"; readonly tasks: readonly Task[] }
  | { readonly type: "help" }
  /** `part` is what was not understood. */
  | { readonly type: "unclear"; readonly part: string };

const maxCharacters = 2000;

/** The tasks of a request, in order. One part that is not understood makes all of it unclear: half of a request is not done. */
export function parseRequest(request: string): Request {
  if (request.length > maxCharacters) return { type: "unclear", part: `${request.slice(0, 60)}…` };
  const quotes = hideQuotes(request);
  const tasks: Task[] = [];
  for (const clause of splitClauses(quotes.text)) {
    const parsed = parseClause(clause, { quotes, previous: tasks });
    if (parsed === null)
      return isGreeting(clause) ? { type: "help" } : { type: "unclear", part: quotes.asWritten(clause) };
    tasks.push(...parsed);
  }
  return tasks.length === 0 ? { type: "help" } : { type: "tasks", tasks };
}

function isGreeting(clause: string): boolean {
  return /^(?:help|hello|hi|what (?:can|do) you do|(?:who|what) are you)\b/i.test(clause);
}

type Surroundings = { readonly quotes: Quotes; readonly previous: readonly Task[] };
type Groups = { readonly [name: string]: string | undefined };

/** A rule gives null where the words fit it and the rest does not. */
type Rule = {
  readonly pattern: RegExp;
  readonly tasks: (groups: Groups, clause: Clause, around: Surroundings) => readonly Task[] | null;
};

function parseClause(text: string, around: Surroundings): readonly Task[] | null {
  const command = /^run: (.+)$/is.exec(text)?.[1];
  if (command !== undefined) return [{ type: "run", command: around.quotes.inside(command).trim() }];
  const report = parseReport(text, around);
  if (report !== null) return report;
  const clause = readClause(text);
  for (const { pattern, tasks } of rules) {
    const found = pattern.exec(clause.phrase);
    const parsed = found === null ? null : tasks(found.groups ?? {}, clause, around);
    if (parsed !== null && parsed.length > 0) return parsed;
  }
  return null;
}

/** `write a summary of them to X`; or of something else, which is then looked up first. */
function parseReport(text: string, around: Surroundings): readonly Task[] | null {
  const found =
    /^(?:write|save|put|store|create|make|record|report)\b(?<what>.*?)(?: (?:to|into|as|called|named|in) (?:(?:the|a|new|file|called|named) )*(?<path>\S+))?$/i.exec(
      text,
    )?.groups;
  if (found === undefined) return null;
  const { phrase, places } = readClause(`x${found.what ?? ""}`);
  const what =
    /^x ?(?<form>summary|report|results?|findings?|list|overview|outline|count|output|answer)?(?: (?:about|on))? ?(?<subject>.*)$/i.exec(
      phrase,
    )?.groups;
  const subject = what?.subject ?? "";
  const report: Task = { type: "report", path: pathOf(found.path ?? "REPORT.md", around) };
  const isWhatWasFound = /^(?:|it|them|these|those|what(?: you)?(?: found)?|results?|findings?|everything)$/i.test(
    subject,
  );
  if (isWhatWasFound)
    return subject === "" && what?.form === undefined && !/\b(?:this|that)\b/i.test(found.what ?? "") ? null : [report];
  if (what?.form === undefined) return null;
  const place = places === null ? "" : ` in ${places.join(" and ")}`;
  const forms = [
    ...(/^list$/i.test(what.form) ? ["list"] : []),
    ...(/^count$/i.test(what.form) ? ["count"] : []),
    "find",
    "summarise",
  ];
  for (const form of forms) {
    const tasks = parseClause(`${form} ${subject}${place}`, around);
    // Words that stand for nothing else would be looked for as a text.
    if (tasks !== null && !(form === "find" && tasks.some((task) => task.type === "find"))) return [...tasks, report];
  }
  return null;
}

const note = "(?:TODO|FIXME|HACK|XXX)";
const notes = `(?<words>${note}s?(?:(?: ?,| and| or|/| &)? ?${note}s?)*)(?: (?:comments?|notes?|items?|markers?))?`;

const rules: readonly Rule[] = [
  {
    pattern: new RegExp(
      `^(?<verb>find|search for|search|look for|list|show|grep|collect|summari[sz]e|what|where|count|how many) ${notes}$`,
      "i",
    ),
    tasks: ({ verb, words = "" }, { places }, around) =>
      onPlaces(places, around, (path) => ({ type: "find_notes", words: wordsOf(words), path, ...countOnly(verb) })),
  },
  {
    pattern:
      /^(?:replace|change|rename)(?: (?:occurrences?|text|word))? (?<old>\S+) (?:with|by|to|into) (?<new>\S+)(?: everywhere)?$/i,
    tasks: ({ old = "", new: by = "" }, { places }, around) => {
      const [oldText, newText] = [around.quotes.inside(old), around.quotes.inside(by)];
      return oldText === "" ? null : onPlaces(places, around, (path) => ({ type: "replace", oldText, newText, path }));
    },
  },
  {
    pattern:
      /^(?:how often|how many times|count(?: number)?(?: (?:occurrences?|times|uses|mentions|matches|lines (?:with|containing)))|how many (?:occurrences|uses|mentions|matches))(?: (?:text|word|string))? (?<text>\S+)(?: (?:occurs?|appears?|used|mentioned|found))*$/i,
    tasks: ({ text = "" }, { places }, around) => findText(text, places, around, true),
  },
  {
    pattern: /^(?:count|how many|number)(?: number)? lines(?: code)?(?: (?<paths>\S.*))?$/i,
    tasks: ({ paths }, { places }, around) =>
      onPlaces(paths === undefined ? places : splitPaths(paths), around, (path) => ({ type: "count_lines", path })),
  },
  {
    pattern:
      /^(?<verb>count|how many|list|ls|show|find|give|what|which)(?: (?:number|names|list))?(?: (?<kind>\S+))? (?:files|contents|everything)(?: (?:named|called|like) (?<name>\S+))?$/i,
    tasks: ({ verb, kind, name }, { places }, around) => files(verb, kind ?? name, places, around),
  },
  {
    pattern:
      /^(?<verb>count|how many|list|ls|show|find)(?: files)?(?: (?:named|called|like))? (?<kind>\S*\*\S*|\u0001\d+\u0001(?<=\*\S*))$/i,
    tasks: ({ verb, kind }, { places }, around) => files(verb, kind, places, around),
  },
  {
    pattern: /^(?:list|ls)(?: (?<path>\S+))?$/i,
    tasks: ({ path }, { places }, around) =>
      onPlaces(path === undefined ? places : [path], around, (at) => ({ type: "list", path: at })),
  },
  {
    pattern:
      /^(?:(?:summari[sz]e|outline|describe)|(?:give|show|tell|what) (?:summary|outline|overview|headings|exports))(?: (?<paths>.+?))?(?: by (?:its|their) .+)?$/i,
    tasks: ({ paths }, { places }, around) =>
      onPlaces(paths === undefined ? places : splitPaths(paths), around, (path) => ({ type: "summarise", path })),
  },
  {
    pattern: /^what (?<path>\S+) exports?$/i,
    tasks: ({ path = "" }, _clause, around) => onPlaces([path], around, (at) => ({ type: "summarise", path: at })),
  },
  {
    pattern:
      /^(?:which|what|find) files (?:contain|contains|containing|mention|mentions|mentioning|use|uses|using|with)(?: (?:text|word|string))? (?<text>\S+)$/i,
    tasks: ({ text = "" }, { places }, around) => findText(text, places, around),
  },
  {
    pattern:
      /^(?:find|search for|search|look for|grep for|grep|where)(?: (?:uses|occurrences|mentions))?(?: (?:text|word|string|phrase|name))? (?<text>\S+)(?: (?:used|defined|mentioned))?(?: (?<path>\S*[./]\S*))?$/i,
    tasks: ({ text = "", path }, { places }, around) => findText(text, path === undefined ? places : [path], around),
  },
  {
    pattern:
      /^(?:read|print|open|cat|display|show|what|what's)(?: contents)?(?: lines? (?<start>\d+)(?: ?(?:-|–|to|through) ?(?<end>\d+))?)?(?: (?<paths>\S.*?))?(?: lines? (?<from>\d+)(?: ?(?:-|–|to|through) ?(?<to>\d+))?)?(?: (?:say|says|contain|contains))?$/i,
    tasks: ({ start, end, paths, from, to }, { places }, around) => {
      const first = start ?? from;
      const range = first === undefined ? {} : { startLine: Number(first), endLine: Number(end ?? to ?? first) };
      const named = paths === undefined ? places : splitPaths(paths);
      return named === null
        ? null
        : onPlaces(named, around, (path) =>
            isFolder(path) ? { type: "list", path } : { type: "read", path, ...range },
          );
    },
  },
];

function files(
  verb = "",
  word: string | undefined,
  places: Clause["places"],
  around: Surroundings,
): readonly Task[] | null {
  const type = countOnly(verb).countOnly === true ? "count_files" : "list";
  if (word === undefined) return onPlaces(places, around, (path) => ({ type, path }));
  const kind = kindOf(around.quotes.inside(word));
  return kind === null ? null : onPlaces(places, around, (path) => ({ type, path, kind }));
}

function findText(
  word: string,
  places: Clause["places"],
  around: Surroundings,
  counting = false,
): readonly Task[] | null {
  const text = around.quotes.inside(word);
  if (text === "" || (!isQuoted(word) && /^files?$/i.test(word))) return null;
  return onPlaces(places, around, (path) => ({ type: "find", text, path, ...(counting && { countOnly: true }) }));
}

function countOnly(verb = ""): { readonly countOnly?: true } {
  return /^(?:count|how many)/i.test(verb) ? { countOnly: true } : {};
}

/** What is still to be done is written in two ways. */
function wordsOf(words: string): readonly string[] {
  const named = ["TODO", "FIXME", "HACK", "XXX"].filter((word) => words.toUpperCase().includes(word));
  return named.length === 1 && named[0] === "TODO" ? ["TODO", "FIXME"] : named;
}

function onPlaces(
  places: readonly string[] | null,
  around: Surroundings,
  task: (path: string) => Task,
): readonly Task[] {
  return (places ?? ["."]).map((place) => task(pathOf(place, around)));
}

/** A pronoun stands for the last path that was named. */
function pathOf(word: string, { quotes, previous }: Surroundings): string {
  if (/^(?:it|them|that|this)$/i.test(word))
    return previous.flatMap((task) => (task.type === "run" ? [] : [task.path])).at(-1) ?? ".";
  if (/^(?:project|repo|repository|here|everything|codebase|files)$/i.test(word)) return ".";
  const path = quotes.inside(word);
  return path.length > 1 ? path.replace(/\/$/, "") : path;
}
