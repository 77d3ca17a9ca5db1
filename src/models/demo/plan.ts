/**
 * The plan of the demo model for an agent with file tools: look around, look closer, write a report if the request asks for
 * one.
 *
 * 1. The plan has at most four steps, whatever the tools return: it always comes to an end.
 * 2. It changes only what the request explicitly asks for, and writes no report if it could not read anything.
 * 3. In plan mode, it shows the user what it would change, and changes nothing unless they accept that.
 */
import { type CallResult, type PlannedCall, planTool } from "./conversation.js";
import { formatReport } from "./report.js";
import { type DemoRequest, readRequest, readSpelledOutCall } from "./request.js";

/** The text before the calls, and the calls. */
export type PlanStep = { readonly say: string; readonly calls: readonly PlannedCall[] };

export type PlanOutcome = {
  /** The results that go into a report. */
  readonly results: readonly CallResult[];
  /** The results of the calls that change something. */
  readonly changed: readonly CallResult[];
  /** Notes to append to the results. */
  readonly notes: readonly string[];
};

/** Yields each step, receives its results, and returns what to report to the user. */
export type Plan = Generator<PlanStep, PlanOutcome, readonly CallResult[]>;

/** The tools that this plan uses. */
export const folderTools: ReadonlySet<string> = new Set([
  "list_files",
  "search_files",
  "read_file",
  "write_file",
  "edit_file",
  "shell",
]);

type PlanOptions = {
  /** The request, with what was attached to it. */
  readonly request: string;
  /** The user's own words: a call that they spell out ends where they end. */
  readonly own: string;
  /** The results of the previous request, for "write them to FILES.md". */
  readonly earlier: readonly CallResult[];
  /** Whether the user first wants to see what would change. */
  readonly wantsPlan: boolean;
};

export function* createFolderPlan({ request: text, own, earlier, wantsPlan }: PlanOptions): Plan {
  const call = readSpelledOutCall(own);
  if (call !== null) {
    if (wantsPlan) {
      const { path } = call.input;
      const looked =
        typeof path === "string"
          ? yield { say: `I will look at ${path} before I plan.`, calls: [{ name: "read_file", input: { path } }] }
          : [];
      const refused = yield* showPlan([describeCall(call), "Show you the result."]);
      if (refused !== null) return { results: looked, changed: [], notes: [refused] };
    }
    const changed = yield { say: `I will call ${call.name}.`, calls: [call] };
    return { results: [], changed, notes: [] };
  }

  const listing = yield {
    say: "I will look at what is in this folder.",
    calls: [{ name: "list_files", input: { path: ".", depth: 1 } }],
  };
  const entries = listEntries(listing);
  // Attachments count only if the user's own words name nothing: "Read @src/cart.ts" is not about the names in that file.
  const ownRequest = readRequest(own, entries);
  const request = namesNothing(ownRequest) ? readRequest(text, entries) : ownRequest;
  const isVague = namesNothing(request);
  const isAboutEarlier = isVague && request.reportPath !== null && earlier.length > 0;
  const results = isAboutEarlier ? earlier : yield createSearchStep(request, entries);
  const notes = isVague && !isAboutEarlier ? [exampleRequests] : [];

  const { reportPath } = request;
  if (reportPath === null) return { results, changed: [], notes };
  if (results.every((result) => result.isError))
    return { results, changed: [], notes: [`I did not write ${reportPath}, because I have nothing to report.`] };
  const refused = wantsPlan ? yield* showPlan([`Write what I found to ${reportPath}.`, "Show it to you."]) : null;
  if (refused !== null) return { results, changed: [], notes: [refused] };
  const content = formatReport(text, results);
  const changed = yield {
    say: `I will write what I found to ${reportPath}.`,
    calls: [{ name: "write_file", input: { path: reportPath, content } }],
  };
  return { results, changed, notes };
}

function namesNothing({ texts, namedPaths, mentionsFiles }: DemoRequest): boolean {
  return texts.length === 0 && namedPaths.length === 0 && !mentionsFiles;
}

/** Shows the user what would change. @returns null if they accept it; else what to say */
function* showPlan(steps: readonly string[]): Generator<PlanStep, string | null, readonly CallResult[]> {
  const results = yield { say: "This is my plan.", calls: [{ name: planTool, input: { steps } }] };
  const isAccepted = results.some(
    ({ name, isError, text }) =>
      name === planTool && !isError && /^(?:The person accepts the plan|There is no plan mode now)/.test(text),
  );
  return isAccepted ? null : "I changed nothing, because my plan was not accepted. Say what you want instead.";
}

function describeCall({ name, input }: PlannedCall): string {
  const { command, path, oldText, newText } = input;
  return name === "shell"
    ? `Run ${JSON.stringify(command)}.`
    : `Replace ${JSON.stringify(oldText)} with ${JSON.stringify(newText)} in ${String(path)}.`;
}

/** Searches if there is something to search for; else reads and lists the named paths; else reads the README. */
function createSearchStep({ texts, namedPaths, mentionsFiles }: DemoRequest, entries: ReadonlySet<string>): PlanStep {
  const paths = namedPaths.length === 0 ? ["."] : namedPaths.map((namedPath) => namedPath.path);
  if (texts.length > 0) {
    const calls = paths.flatMap((path) =>
      texts.map((searchText) => ({ name: "search_files", input: { text: searchText, path } })),
    );
    const where = namedPaths.length === 0 ? "this folder" : joinWithAnd(paths);
    return {
      say: `I will search for ${joinWithAnd(texts.map((searchText) => `"${searchText}"`))} in ${where}.`,
      calls,
    };
  }
  if (namedPaths.length > 0) {
    const calls = namedPaths.map(({ path, isFolder }) => ({
      name: isFolder ? "list_files" : "read_file",
      input: { path },
    }));
    return { say: `I will look into ${joinWithAnd(paths)}.`, calls };
  }
  const allFiles = [{ name: "list_files", input: { path: "." } }];
  if (mentionsFiles) return { say: "I will list all files.", calls: allFiles };
  const readme = [...entries].find((entry) => /^readme(?:\.\w+)?$/i.test(entry));
  const because = "Your request names nothing that I can look for here";
  return readme === undefined
    ? { say: `${because}. I will list all files.`, calls: allFiles }
    : { say: `${because}. I will read ${readme}.`, calls: [{ name: "read_file", input: { path: readme } }] };
}

function listEntries(results: readonly CallResult[]): ReadonlySet<string> {
  return new Set(results.flatMap((result) => (result.isError ? [] : result.text.split("\n"))));
}

/** `a`, `a and b`, `a, b and c` */
export function joinWithAnd(items: readonly string[]): string {
  const last = items.at(-1) ?? "";
  return items.length < 2 ? last : `${items.slice(0, -1).join(", ")} and ${last}`;
}

const exampleRequests = `Requests that I can follow:

    List the files under src
    Read README.md
    Find "createAgent" in src
    List the files, then write a list of them to FILES.md
    Replace "colour" with "color" in notes.txt
    run: npm test`;
