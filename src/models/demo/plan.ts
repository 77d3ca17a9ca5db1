/**
 * The one plan of the demo model: look around, look closer, write a report if the request asks for one.
 *
 * 1. The plan has at most three steps, whatever the tools return: it always comes to an end.
 * 2. It changes only what the request asks for in so many words, and writes no report if it could not look at anything.
 */
import type { CallResult, PlannedCall } from "./conversation.js";
import { reportOf } from "./report.js";
import { type Request, readRequest, readSpelledOutCall } from "./request.js";

/** What the model says before the calls, and the calls. */
export type Step = { readonly say: string; readonly calls: readonly PlannedCall[] };

export type Outcome = {
  /** The results that a report is made of. */
  readonly found: readonly CallResult[];
  /** The results of the calls that change something. */
  readonly changed: readonly CallResult[];
  /** More to say after the results. */
  readonly notes: readonly string[];
};

/** Yields each step, is given its results, and returns what to tell the user. */
export type Plan = Generator<Step, Outcome, readonly CallResult[]>;

/** @param earlier What the request before this one found, for "write them to FILES.md". */
export function* planFor(text: string, earlier: readonly CallResult[]): Plan {
  const call = readSpelledOutCall(text);
  if (call !== null) {
    const changed = yield { say: `I will call ${call.name}.`, calls: [call] };
    return { found: [], changed, notes: [] };
  }

  const around = yield {
    say: "I will look at what is in this folder.",
    calls: [{ name: "list_files", input: { path: ".", depth: 1 } }],
  };
  const entries = entriesIn(around);
  const request = readRequest(text, entries);
  const namesNothing = request.texts.length === 0 && request.places.length === 0 && !request.mentionsFiles;
  const isAboutEarlier = namesNothing && request.reportPath !== null && earlier.length > 0;
  const found = isAboutEarlier ? earlier : yield lookCloser(request, entries);
  const notes = namesNothing && !isAboutEarlier ? [examples] : [];

  const { reportPath } = request;
  if (reportPath === null) return { found, changed: [], notes };
  if (found.every((result) => result.isError))
    return { found, changed: [], notes: [`I did not write ${reportPath}, because I have nothing to report.`] };
  const content = reportOf(text, found);
  const changed = yield {
    say: `I will write what I found to ${reportPath}.`,
    calls: [{ name: "write_file", input: { path: reportPath, content } }],
  };
  return { found, changed, notes };
}

/** Searches if there is a text to search for; else reads and lists what is named; else reads the README. */
function lookCloser({ texts, places, mentionsFiles }: Request, entries: ReadonlySet<string>): Step {
  const paths = places.length === 0 ? ["."] : places.map((place) => place.path);
  if (texts.length > 0) {
    const calls = paths.flatMap((path) =>
      texts.map((sought) => ({ name: "search_files", input: { text: sought, path } })),
    );
    const where = places.length === 0 ? "this folder" : listed(paths);
    return { say: `I will search for ${listed(texts.map((sought) => `"${sought}"`))} in ${where}.`, calls };
  }
  if (places.length > 0) {
    const calls = places.map(({ path, isFolder }) => ({
      name: isFolder ? "list_files" : "read_file",
      input: { path },
    }));
    return { say: `I will look into ${listed(paths)}.`, calls };
  }
  const allFiles = [{ name: "list_files", input: { path: "." } }];
  if (mentionsFiles) return { say: "I will list all files.", calls: allFiles };
  const readme = [...entries].find((entry) => /^readme(?:\.\w+)?$/i.test(entry));
  const because = "Your request names nothing that I can look for here";
  return readme === undefined
    ? { say: `${because}. I will list all files.`, calls: allFiles }
    : { say: `${because}. I will read ${readme}.`, calls: [{ name: "read_file", input: { path: readme } }] };
}

function entriesIn(results: readonly CallResult[]): ReadonlySet<string> {
  return new Set(results.flatMap((result) => (result.isError ? [] : result.text.split("\n"))));
}

/** `a`, `a and b`, `a, b and c` */
function listed(items: readonly string[]): string {
  const last = items.at(-1) ?? "";
  return items.length < 2 ? last : `${items.slice(0, -1).join(", ")} and ${last}`;
}

const examples = `Requests that I can follow:

    List the files under src
    Read README.md
    Find "createAgent" in src
    List the files, then write a list of them to FILES.md
    Replace "colour" with "color" in notes.txt
    run: npm test`;
