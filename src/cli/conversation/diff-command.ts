/**
 * `/diff`: what file tools have changed in this session, from before the first change of a file to after the last one.
 */
import { type Line, lineOf, spanOf } from "../screen/line.js";
import { counted, oneLine } from "../text.js";
import { type Changes, changesBetween, excerptOf, markOf } from "./change-lines.js";
import type { CommandContext } from "./session-commands.js";
import { type FilePlan, planOf, textOfBlob } from "./undo.js";

/** Lines of one file that are shown. */
const mostLines = 400;

/** @param words how many runs that have written files; all of the session if empty */
export async function diff(context: CommandContext, words: string): Promise<void> {
  const { agent, store, sessionId, root, say } = context;
  const count = /^\d{1,3}$/.test(words) ? Math.max(1, Number(words)) : Number.POSITIVE_INFINITY;
  const plan = (await store.describe(sessionId)) === null ? null : await planOf(agent, sessionId, root, "undo", count);
  if (plan === null) return say([lineOf("No file tool has written a file in this session.", "dim")]);
  // Calls run side by side, so that the order of the log is one of chance.
  const files = plan.files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  for (const file of files) say(await fileLines(file, context));
  say([lineOf("  What commands, MCP servers and editors have changed is not shown.", "dim")]);
}

const states: { readonly [State in FilePlan["state"]]: string } = {
  ready: "",
  done: " · it is as before again",
  conflict: " · changed since by somebody else",
};

/** The plan says how to go back: `to` is the file before the changes, `from` the one after them. */
async function fileLines(
  { path, from, to, state }: FilePlan,
  { store, sessionId, redaction }: CommandContext,
): Promise<readonly Line[]> {
  const head = (what: string): Line => [
    spanOf(`  ${oneLine(path)}`, "bold"),
    spanOf(` ${what}${from === to ? "" : states[state]}`, "yellow"),
  ];
  if (from === to) return [head("is as it was before")];
  const textOf = async (hash: string | null) => (hash === null ? "" : await textOfBlob(store, sessionId, hash));
  const [before, after] = [await textOf(to), await textOf(from)];
  if (before === null || after === null)
    return [head("has changed"), lineOf("    It is no text, or its content was not kept.", "dim")];
  const { lines, added, removed } = changesOf(redaction.text(before), redaction.text(after));
  const what = to === null ? "is new" : from === null ? "is gone" : "has changed";
  return [
    head(`${what} · +${added} −${removed}`),
    ...lines.slice(0, mostLines),
    ...(lines.length > mostLines ? [lineOf(`    … ${counted(lines.length - mostLines, "more line")}`, "dim")] : []),
  ];
}

/** Stands for a file without lines: no text that is kept has this character, so nothing in it is the same. */
const nothing = "\0";

/** The end of the last line is no line of its own, unless it is what has changed. */
function changesOf(before: string, after: string): Changes {
  const hasEnd = [before, after].every((text) => text === "" || text.endsWith("\n"));
  const [old, now] = [before, after].map((text) => (text === "" ? nothing : hasEnd ? text.slice(0, -1) : text));
  const { lines, added, removed } = changesBetween(old ?? nothing, now ?? nothing, 1);
  const [isNew, isEmptied] = [old === nothing, now === nothing];
  const shown = lines.filter((line) => !((isNew && markOf(line) === "-") || (isEmptied && markOf(line) === "+")));
  return { lines: excerptOf(shown), added: isEmptied ? 0 : added, removed: isNew ? 0 : removed };
}
