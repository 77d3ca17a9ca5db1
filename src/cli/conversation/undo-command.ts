/**
 * `/undo` and `/redo`: shows what would change in files, and asks.
 */

import { dataPart } from "../attachments.js";
import { isWriter } from "../file-records.js";
import { type Line, lineOf, spanOf } from "../screen/line.js";
import type { Choice } from "../screen/picker.js";
import { counted, oneLine } from "../text.js";
import { readers } from "./call-lines.js";
import { changesBetween, markOf } from "./change-lines.js";
import type { CommandContext } from "./session-commands.js";
import { carryOut, type Direction, type FilePlan, type Plan, planOf, textsOf } from "./undo.js";

/** What these do, no file can show. */
const harmless: ReadonlySet<string> = new Set([...readers, "todo", "fetch_url"]);
/** Lines of one file that are shown. */
const mostLines = 60;

/** @param words how many runs that have written files; 1 if empty */
export async function undo(context: CommandContext, words: string): Promise<void> {
  const count = /^\d{1,3}$/.test(words) ? Math.max(1, Number(words)) : 1;
  await takeBack(context, "undo", count);
}

export async function redo(context: CommandContext): Promise<void> {
  await takeBack(context, "redo", 1);
}

async function takeBack(context: CommandContext, direction: Direction, count: number): Promise<void> {
  const { agent, store, sessionId, root, home, say, choose, join } = context;
  const plan =
    (await store.describe(sessionId)) === null ? null : await planOf(agent, sessionId, root, direction, count);
  if (plan === null) return say([lineOf(`There is nothing to ${direction}: no file tool has written a file.`, "dim")]);
  say(await planLines(plan, context));
  if (direction === "undo") say(await otherCalls(plan, context));
  const chosen = await choose(direction, choicesOf(plan));
  if (chosen === null || chosen === "none") return say([lineOf("No file was changed.", "dim")]);
  const files = plan.files.filter(({ path, state }) =>
    chosen === "ready" ? state === "ready" : chosen === "all" ? state !== "done" : `file ${path}` === chosen,
  );
  const { restored, failed } = await carryOut(plan, files, { agent, sessionId, root, home, store });
  const verb = direction === "undo" ? "Took back" : "Brought forward";
  say([
    lineOf(
      `${verb} ${counted(restored.length, "file")}${restored.length === 0 ? "" : `: ${restored.join(", ")}`}`,
      "dim",
    ),
    ...failed.map((why) => lineOf(`✗ ${why}`, "red")),
  ]);
  if (restored.length > 0)
    join(
      dataPart(
        `The user has ${direction === "undo" ? "taken back" : "restored"} your changes of these files:`,
        restored.join("\n"),
      ),
    );
}

const states: { readonly [State in FilePlan["state"]]: string } = {
  ready: "",
  done: " · it is so already",
  conflict: " · changed since by somebody else: it stays unless you choose it",
};

async function planLines({ files }: Plan, { root, sessionId, store }: CommandContext): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for (const file of files) {
    const { now, later } = await textsOf(file, root, sessionId, store);
    const what = file.to === null ? "goes away" : now === null ? "comes back" : "changes";
    lines.push([spanOf(`  ${file.path}`, "bold"), spanOf(` ${what}${states[file.state]}`, "yellow")]);
    if (file.state === "done" || now === null || later === null) continue;
    // A file may be long: only the lines that change are shown, with their numbers.
    const changes = changesBetween(now, later, 1).lines.filter((line) => markOf(line) !== "");
    lines.push(...changes.slice(0, mostLines));
    if (changes.length > mostLines)
      lines.push(lineOf(`    … ${counted(changes.length - mostLines, "more line")}`, "dim"));
  }
  return lines;
}

/** Calls of the same runs that may have changed files in ways that nobody has recorded. */
async function otherCalls({ runIds, files }: Plan, { agent, sessionId }: CommandContext): Promise<readonly Line[]> {
  const counts = new Map<string, number>();
  for await (const event of agent.session(sessionId).events({ follow: false, live: false })) {
    if (event.type !== "call_complete" || event.status !== "ok" || !runIds.includes(event.runId)) continue;
    if (!harmless.has(event.name) && !isWriter(event.name)) counts.set(event.name, (counts.get(event.name) ?? 0) + 1);
  }
  if (counts.size === 0 || files.length === 0) return [];
  const names = [...counts].map(([name, count]) => `${count} × ${oneLine(name)}`).join(", ");
  return [lineOf(`  Also ran: ${names}. What these changed is not taken back.`, "yellow")];
}

/** Nothing is chosen beforehand: the first choice leaves everything as it is. */
function choicesOf({ files }: Plan): readonly Choice[] {
  const ready = files.filter(({ state }) => state === "ready");
  const conflicts = files.filter(({ state }) => state === "conflict");
  return [
    { id: "none", text: "leave everything as it is" },
    ...(ready.length === 0
      ? []
      : [
          {
            id: "ready",
            text: counted(ready.length, "file") + (conflicts.length === 0 ? "" : ", none with a conflict"),
          },
        ]),
    ...(conflicts.length === 0
      ? []
      : [{ id: "all", text: `${counted(ready.length + conflicts.length, "file")}, those with a conflict, too` }]),
    ...(files.length < 2
      ? []
      : [...ready, ...conflicts].map(({ path, state }) => ({
          id: `file ${path}`,
          text: `only ${oneLine(path)}${states[state]}`,
        }))),
    ...(ready.length + conflicts.length === 0
      ? [{ id: "ready", text: "count as done: all files are so already" }]
      : []),
  ];
}
