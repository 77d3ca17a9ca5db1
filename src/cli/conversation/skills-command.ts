/**
 * `/skills`: the skills that the model is told of, and the folders that they are from.
 */
import { skills } from "../../tools/index.js";
import { agentSettings } from "../configuration/agent-settings.js";
import { skillFolders } from "../folder-agent.js";
import { lineOf, spanOf } from "../screen/line.js";
import { oneLine } from "../text.js";
import type { CommandContext } from "./session-commands.js";
import { wrappedNote } from "./view-lines.js";

export async function listSkills(context: CommandContext): Promise<void> {
  const { root, sessionId, configured, hasContextFiles, redaction, columns, say } = context;
  if (!hasContextFiles) return say([lineOf("Skills are off: pawl was started with --no-context-files.", "dim")]);
  const folders = skillFolders(root);
  const run = { sessionId, runId: "", startedAt: Date.now(), root, data: {} };
  const { skillsOff: off } = agentSettings(configured);
  const texts = await skills({ folders, off }).load(run, { signal: new AbortController().signal });
  const lines = texts.flatMap(({ path, text }) => [
    [spanOf("in ", "dim"), spanOf(oneLine(path), "bold")],
    ...text
      .split("\n")
      .filter((line) => line.startsWith("- "))
      .flatMap((line) => wrappedNote(oneLine(redaction.text(line)), columns())),
  ]);
  const none =
    "There are no skills. A skill is a folder with a SKILL.md, in .pawl/skills or .agents/skills of this folder, or in skills beside your pawl.config.json.";
  if (off.length > 0) say(wrappedNote(`Off by skills.off: ${off.map(oneLine).join(", ")}`, columns(), "dim"));
  say(lines.length === 0 ? wrappedNote(none, columns(), "dim") : lines);
}
