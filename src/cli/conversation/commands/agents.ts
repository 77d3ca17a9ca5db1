/**
 * `/agents`: the folder's other sessions that work or wait, and the agents in files that the model can call, with the content of
 * each file and why some are off. `/agents stop ID` ends a run.
 */
import { createPassiveAgent } from "../../agent/passive-agent.js";
import { listRunningSessions } from "../../agent/running-sessions.js";
import { isUnfinished } from "../../agent/session-progress.js";
import { isModelElsewhere } from "../../child-agents/choose-agent-models.js";
import { listConfiguredAgents, type ResolvedAgent, resolveAgents } from "../../child-agents/resolve-agents.js";
import { resolveUserName } from "../../decisions/user-name.js";
import { getSession, shortId } from "../../files/session-store.js";
import { renderRunningSessions } from "../../render/running-sessions.js";
import { type Line, lineOf, spanOf } from "../../screen/line.js";
import { sanitize, toOneLine } from "../../terminal/text.js";
import { wrapNote } from "../lines/view-lines.js";
import type { CommandContext } from "./command-context.js";

export async function runAgentsCommand(context: CommandContext, words: string): Promise<void> {
  const { columns, say } = context;
  const [, id] = /^stop\s+(\S+)$/.exec(words) ?? [];
  if (id !== undefined) return stopRun(context, id);
  if (words !== "") return say([lineOf("/agents takes nothing, or stop ID, which ends a run.", "yellow")]);
  const lines = [...(await renderRunning(context)), ...renderAgentFiles(context)];
  say(lines.length === 0 ? wrapNote(emptyNote, columns(), "dim") : lines);
}

async function stopRun({ store, say }: CommandContext, id: string): Promise<void> {
  const summary = await getSession(store, id);
  const { sessionId, info } = summary;
  const short = sanitize(shortId(sessionId));
  if (!isUnfinished(summary)) return say([lineOf(`Session ${short} has no run under way.`, "dim")]);
  await createPassiveAgent(store, info?.agent).session(sessionId).abort({ by: resolveUserName() });
  say([lineOf(`Stopping the run of ${short}. /agents shows whether it has ended.`, "dim")]);
}

/** The folder's sessions that work or wait, other than the current one. */
async function renderRunning({ store, root, sessionId, redaction, columns }: CommandContext): Promise<readonly Line[]> {
  const { shown } = await listRunningSessions(store, root);
  const others = shown.filter((session) => session.sessionId !== sessionId).map((session) => redaction.value(session));
  if (others.length === 0) return [];
  const table = renderRunningSessions(others, { columns: columns() - 1, now: Date.now(), hasFolders: false });
  return [...table.map((line) => lineOf(line)), ...wrapNote(runningNote, columns(), "dim"), []];
}

const runningNote = "/resume ID opens a session and follows it; /agents stop ID ends its run.";

function renderAgentFiles({ configured, redaction, columns }: CommandContext): readonly Line[] {
  const { ignored } = resolveAgents(configured.trust);
  const clean = (text: string) => toOneLine(redaction.text(text));
  const renderAgent = (agent: ResolvedAgent): readonly Line[] => {
    const { off } = agent;
    const below = (text: string, style: "dim" | "yellow") =>
      wrapNote(clean(text), columns() - indent.length, style).map((line): Line => [spanOf(indent), ...line]);
    const where = agent.scope === "user" ? "yours" : "of this folder";
    const model =
      agent.model === null || isModelElsewhere(agent.model, configured) ? "" : ` · model ${clean(agent.model)}`;
    return [
      [spanOf(clean(agent.name), off === null ? "bold" : "dim"), spanOf(` · ${where}${model}`, "dim")],
      ...below(agent.description, "dim"),
      // A path is not wrapped, so that it can be copied.
      [spanOf(indent), spanOf(clean(agent.path), "dim")],
      ...(off === null ? [] : below(`off: ${off}`, "yellow")),
      ...agent.notes.flatMap((note) => below(note, "yellow")),
    ];
  };
  return [
    ...listConfiguredAgents(configured).flatMap(renderAgent),
    ...ignored.flatMap((problem) => wrapNote(clean(problem), columns(), "yellow")),
  ];
}

const indent = "  ";
const emptyNote =
  "There are no agents. An agent is a file NAME.md in .pawl/agents or .claude/agents of this folder, or in agents next to your pawl.config.json.";
