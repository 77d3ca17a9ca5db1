/**
 * `/undo` and `/redo`: show how files would change, and ask.
 */

import { createClient, type StreamItem } from "../../../index.js";
import { createDataPart } from "../../agent/attachments.js";
import { isFileWriter } from "../../agent/file-records.js";
import { isAgentTool, personTool, planTool, reminderTool, todoTool } from "../../permissions/rule.js";
import { type Line, lineOf, spanOf } from "../../screen/line.js";
import type { Choice } from "../../screen/picker.js";
import { formatCount, toOneLine } from "../../terminal/text.js";
import { readingTools } from "../lines/call-lines.js";
import { diffTexts, readMark } from "../lines/change-lines.js";
import type { CommandContext } from "./command-context.js";
import { applyPlan, createPlan, type Direction, type FilePlan, loadTexts, type Plan } from "./file-history.js";
import { parseNumber } from "./parse-number.js";

/** Tools that change no files. */
const toolsWithoutFileChanges: ReadonlySet<string> = new Set([
  ...readingTools,
  "stop_agent",
  todoTool,
  "fetch_url",
  personTool,
  planTool,
  reminderTool,
]);
/** The maximum number of lines that are shown for one file. */
const maxLines = 60;

type UndoContext = Pick<CommandContext, "agent" | "store" | "sessionId" | "root" | "home" | "say" | "choose" | "join">;

/** @param words the number of runs that wrote files; empty: 1 */
export async function runUndoCommand(context: UndoContext, words: string): Promise<void> {
  await revertOrRedo(context, "undo", parseNumber(words, "/undo"));
}

export async function runRedoCommand(context: UndoContext): Promise<void> {
  await revertOrRedo(context, "redo", 1);
}

async function revertOrRedo(context: UndoContext, direction: Direction, count: number): Promise<void> {
  const { agent, store, sessionId, root, home, say, choose, join } = context;
  const plan =
    (await store.describe(sessionId)) === null
      ? null
      : await createPlan({ agent, store, sessionId, root }, direction, count);
  if (plan === null) return say([lineOf(`There is nothing to ${direction}: no file tool has written a file.`, "dim")]);
  say(await renderPlan(plan, context));
  if (direction === "undo") say(await renderOtherCalls(plan, context));
  const chosen = await choose(direction, toChoices(plan, direction));
  if (chosen === null || chosen === "none") return say([lineOf("No file was changed.", "dim")]);
  const files = plan.files.filter(({ path, state }) =>
    chosen === "ready" ? state === "ready" : chosen === "all" ? state !== "done" : `file ${path}` === chosen,
  );
  const { restored, failed } = await applyPlan(plan, files, { agent, sessionId, root, home, store });
  const verb = direction === "undo" ? "Undid changes to" : "Redid changes to";
  say([
    lineOf(
      `${verb} ${formatCount(restored.length, "file")}${restored.length === 0 ? "" : `: ${restored.join(", ")}`}`,
      "dim",
    ),
    ...failed.map((why) => lineOf(`✗ ${why}`, "red")),
  ]);
  if (restored.length > 0)
    join(
      createDataPart(
        `The user has ${direction === "undo" ? "taken back" : "restored"} your changes of these files:`,
        restored.join("\n"),
      ),
    );
}

const stateTexts: { readonly [State in FilePlan["state"]]: string } = {
  ready: "",
  done: " · already done",
  conflict: " · changed since then: it stays unless you choose it",
};

async function renderPlan({ files }: Plan, { root, store }: UndoContext): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for (const file of files) {
    const { now, later } = await loadTexts(file, root, store);
    const what = file.to === null ? "goes away" : now === null ? "comes back" : "changes";
    lines.push([spanOf(`  ${file.path}`, "bold"), spanOf(` ${what}${stateTexts[file.state]}`, "yellow")]);
    if (file.state === "done" || now === null || later === null) continue;
    // A file may be long, so only the changed lines are shown, with their numbers.
    const changes = diffTexts(now, later, 1).lines.filter((line) => readMark(line) !== "");
    lines.push(...changes.slice(0, maxLines));
    if (changes.length > maxLines)
      lines.push(lineOf(`    … ${formatCount(changes.length - maxLines, "more line")}`, "dim"));
  }
  return lines;
}

/** Lists calls of the same runs, and of the agents that these called, that may have changed files without a record. */
async function renderOtherCalls(
  { runIds, files }: Plan,
  { agent, store, sessionId }: UndoContext,
): Promise<readonly Line[]> {
  const counts = new Map<string, number>();
  const childIds: string[] = [];
  const count = (event: StreamItem) => {
    if (event.type !== "call_complete" || event.status !== "ok") return;
    if (!toolsWithoutFileChanges.has(event.name) && !isFileWriter(event.name) && !isAgentTool(event.name))
      counts.set(event.name, (counts.get(event.name) ?? 0) + 1);
  };
  for await (const event of agent.session(sessionId).events({ follow: false, live: false })) {
    if (!("runId" in event) || !runIds.includes(event.runId ?? "")) continue;
    if (event.type === "child_started") childIds.push(event.childId);
    if (event.type === "tool_result" && event.startedChild !== undefined) childIds.push(event.startedChild);
    count(event);
  }
  for (const childId of childIds) {
    // A child's session may have been deleted.
    if ((await store.describe(childId)) === null) continue;
    for await (const event of createClient({ store }).session(childId).events({ follow: false, live: false }))
      count(event);
  }
  if (counts.size === 0 || files.length === 0) return [];
  const names = [...counts].map(([name, count]) => `${count} × ${toOneLine(name)}`).join(", ");
  return [lineOf(`  Also ran: ${names}. Their changes are not undone.`, "yellow")];
}

/** The first choice changes nothing, so that an accidental Enter is harmless. */
function toChoices({ files }: Plan, direction: Direction): readonly Choice[] {
  const ready = files.filter(({ state }) => state === "ready");
  const conflicts = files.filter(({ state }) => state === "conflict");
  return [
    { id: "none", text: "leave everything as it is (n)", key: "n" },
    ...(ready.length === 0
      ? []
      : [
          {
            id: "ready",
            text: `${direction} ${formatCount(ready.length, "file")}${conflicts.length === 0 ? "" : ", none with a conflict"} (y)`,
            key: "y",
          },
        ]),
    ...(conflicts.length === 0
      ? []
      : [
          {
            id: "all",
            text: `${direction} ${formatCount(ready.length + conflicts.length, "file")}, including conflicts`,
          },
        ]),
    ...(files.length < 2
      ? []
      : [...ready, ...conflicts].map(({ path, state }) => ({
          id: `file ${path}`,
          text: `${direction} only ${toOneLine(path)}${stateTexts[state]}`,
        }))),
    ...(ready.length + conflicts.length === 0 ? [{ id: "ready", text: "mark as done: all files already match" }] : []),
  ];
}
