/**
 * `/skills`: the skills that the model can use, and the folders that they come from.
 */
import { skills } from "../../../tools/index.js";
import { findSkillFolders } from "../../agent/folder-agent.js";
import { toAgentSettings } from "../../configuration/agent-settings.js";
import { lineOf, spanOf } from "../../screen/line.js";
import { toOneLine } from "../../terminal/text.js";
import { wrapNote } from "../lines/view-lines.js";
import type { CommandContext } from "./command-context.js";

export async function runSkillsCommand(context: CommandContext): Promise<void> {
  const { root, sessionId, configured, hasContextFiles, redaction, columns, say } = context;
  if (!hasContextFiles) return say([lineOf("Skills are off: pawl was started with --no-context-files.", "dim")]);
  const folders = findSkillFolders(root);
  const run = { sessionId, runId: "", startedAt: Date.now(), root, data: {} };
  const { skillsOff: off } = toAgentSettings(configured);
  const texts = await skills({ folders, off }).load(run, { signal: new AbortController().signal });
  const lines = texts.flatMap(({ path, text }) => [
    [spanOf("in ", "dim"), spanOf(toOneLine(path), "bold")],
    ...text
      .split("\n")
      .filter((line) => line.startsWith("- "))
      .flatMap((line) => wrapNote(toOneLine(redaction.text(line)), columns())),
  ]);
  const emptyNote =
    "There are no skills. A skill is a folder with a SKILL.md, in .pawl/skills or .agents/skills of this folder, or in skills next to your pawl.config.json.";
  if (off.length > 0) say(wrapNote(`Off by skills.off: ${off.map(toOneLine).join(", ")}`, columns(), "dim"));
  say(lines.length === 0 ? wrapNote(emptyNote, columns(), "dim") : lines);
}
