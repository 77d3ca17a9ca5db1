/**
 * `/diff`: the changes of file tools in this session, from before the first change of a file to after the last one.
 */
import { type Line, lineOf, spanOf } from "../../screen/line.js";
import { formatCount, toOneLine } from "../../terminal/text.js";
import { type Changes, diffTexts, excerptChanges, readMark } from "../lines/change-lines.js";
import type { CommandContext } from "./command-context.js";
import { createPlan, type FilePlan, loadBlobText } from "./file-history.js";
import { parseNumber } from "./parse-number.js";

/** The maximum number of lines that are shown for one file. */
const maxLines = 400;

/** @param words the number of runs that wrote files; empty: the whole session */
export async function runDiffCommand(context: CommandContext, words: string): Promise<void> {
  const { agent, store, sessionId, root, say } = context;
  const count = words === "" ? Number.POSITIVE_INFINITY : parseNumber(words, "/diff");
  const plan =
    (await store.describe(sessionId)) === null
      ? null
      : await createPlan({ agent, store, sessionId, root }, "undo", count);
  if (plan === null) return say([lineOf("No file tool has written a file in this session.", "dim")]);
  // Calls run in parallel, so the order in the log is arbitrary.
  const files = plan.files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  for (const file of files) say(await renderFile(file, context));
  say([lineOf("  Changes by commands, MCP servers and editors are not shown.", "dim")]);
}

const stateTexts: { readonly [State in FilePlan["state"]]: string } = {
  ready: "",
  done: " · it is as before again",
  conflict: " · changed since then",
};

/** The plan is for an undo: `to` is the file before the changes, and `from` the file after them. */
async function renderFile(
  { path, from, to, state, sessions }: FilePlan,
  { store, redaction }: CommandContext,
): Promise<readonly Line[]> {
  const renderHead = (what: string): Line => [
    spanOf(`  ${toOneLine(path)}`, "bold"),
    spanOf(` ${what}${from === to ? "" : stateTexts[state]}`, "yellow"),
  ];
  if (from === to) return [renderHead("is as it was before")];
  const loadText = async (hash: string | null, session: string) =>
    hash === null ? "" : await loadBlobText(store, session, hash);
  const [before, after] = [await loadText(to, sessions.to), await loadText(from, sessions.from)];
  if (before === null || after === null)
    return [renderHead("has changed"), lineOf("    It is not text, or its content was not stored.", "dim")];
  const { lines, added, removed } = diffFileTexts(redaction.text(before), redaction.text(after));
  const what = to === null ? "is new" : from === null ? "is gone" : "has changed";
  return [
    renderHead(`${what} · +${added} −${removed}`),
    ...lines.slice(0, maxLines),
    ...(lines.length > maxLines ? [lineOf(`    … ${formatCount(lines.length - maxLines, "more line")}`, "dim")] : []),
  ];
}

/** Represents a file without lines. No stored text has this character, so no line equals it. */
const emptyFile = "\0";

/** The newline at the end of the file is not a separate line, unless only the newline has changed. */
function diffFileTexts(before: string, after: string): Changes {
  const hasEnd = [before, after].every((text) => text === "" || text.endsWith("\n"));
  const [old, now] = [before, after].map((text) => (text === "" ? emptyFile : hasEnd ? text.slice(0, -1) : text));
  const { lines, added, removed } = diffTexts(old ?? emptyFile, now ?? emptyFile, 1);
  const [isNew, isEmptied] = [old === emptyFile, now === emptyFile];
  const shown = lines.filter((line) => !((isNew && readMark(line) === "-") || (isEmptied && readMark(line) === "+")));
  return { lines: excerptChanges(shown), added: isEmptied ? 0 : added, removed: isNew ? 0 : removed };
}
