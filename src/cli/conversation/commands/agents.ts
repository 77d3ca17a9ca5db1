/**
 * `/agents`: the agents in files that the model can call, what each file says, and why some are off.
 */
import { listConfiguredAgents, type ResolvedAgent, resolveAgents } from "../../child-agents/resolve-agents.js";
import { type Line, spanOf } from "../../screen/line.js";
import { toOneLine } from "../../terminal/text.js";
import { wrapNote } from "../lines/view-lines.js";
import type { CommandContext } from "./sessions.js";

export async function runAgentsCommand({ configured, redaction, columns, say }: CommandContext): Promise<void> {
  const { ignored } = resolveAgents(configured.trust);
  const clean = (text: string) => toOneLine(redaction.text(text));
  const renderAgent = (agent: ResolvedAgent): readonly Line[] => {
    const { off } = agent;
    const below = (text: string, style: "dim" | "yellow") =>
      wrapNote(clean(text), columns() - indent.length, style).map((line): Line => [spanOf(indent), ...line]);
    const where = agent.scope === "user" ? "yours" : "of this folder";
    const model = agent.model === null ? "" : ` · model ${agent.model}`;
    return [
      [spanOf(clean(agent.name), off === null ? "bold" : "dim"), spanOf(` · ${where}${clean(model)}`, "dim")],
      ...below(agent.description, "dim"),
      // A path is not wrapped, so that it can be copied.
      [spanOf(indent), spanOf(clean(agent.path), "dim")],
      ...(off === null ? [] : below(`off: ${off}`, "yellow")),
      ...agent.notes.flatMap((note) => below(note, "yellow")),
    ];
  };
  const lines = [
    ...listConfiguredAgents(configured).flatMap(renderAgent),
    ...ignored.flatMap((problem) => wrapNote(clean(problem), columns(), "yellow")),
  ];
  say(lines.length === 0 ? wrapNote(emptyNote, columns(), "dim") : lines);
}

const indent = "  ";
const emptyNote =
  "There are no agents. An agent is a file NAME.md in .pawl/agents or .claude/agents of this folder, or in agents next to your pawl.config.json.";
