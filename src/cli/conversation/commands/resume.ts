/**
 * The commands `/new` and `/resume` of a conversation.
 */
import { basename } from "node:path";
import { PawlError, type Store } from "../../../index.js";
import { agentName } from "../../agent/agent-name.js";
import { progressOf } from "../../commands/sessions.js";
import { getSession, shortId } from "../../files/session-store.js";
import { lineOf } from "../../screen/line.js";
import type { Choice } from "../../screen/picker.js";
import type { Redaction } from "../../terminal/redaction.js";
import { formatAge, toOneLine } from "../../terminal/text.js";
import type { CommandContext } from "./command-context.js";

const maxSessions = 200;

export async function runNewCommand({ go }: CommandContext): Promise<void> {
  go({ type: "session", sessionId: null });
}

export async function runResumeCommand(context: CommandContext, id: string): Promise<void> {
  const { store, root, go, say, choose, redaction, sessionId: currentSessionId } = context;
  const sessionId =
    id === "" ? await choose("resume", await listSessionChoices(store, root, currentSessionId, redaction)) : id;
  if (sessionId === null) return say([lineOf("Stayed with this session.", "dim")]);
  const found = await getSession(store, sessionId);
  if (found.info?.agent !== agentName)
    throw new PawlError("agent_mismatch", `Session ${shortId(found.sessionId)} was not started by pawl.`);
  // Another folder has other files, settings and rules, so it needs its own process.
  if (found.info.root !== root)
    return say([
      lineOf(`That session works in ${found.info.root}. Continue there:`, "dim"),
      lineOf(`  cd '${found.info.root}' && pawl --session ${shortId(found.sessionId)}`),
    ]);
  go({ type: "session", sessionId: found.sessionId });
}

/** All sessions except `present`: the folder's sessions first, then the others, newest first. */
async function listSessionChoices(
  store: Store,
  root: string,
  present: string | null,
  redaction: Redaction,
): Promise<readonly Choice[]> {
  const list = (where: { readonly root?: string }) =>
    store.list({ agent: agentName, parent: null, limit: maxSessions, ...where });
  const inFolder = await list({ root });
  const elsewhere = (await list({})).filter(({ info }) => info?.root !== root);
  const all = [...inFolder, ...elsewhere];
  const ids = all.map(({ sessionId }) => sessionId);
  return all
    .filter(({ sessionId }) => sessionId !== present)
    .map((summary) => {
      const title = toOneLine(redaction.text(summary.info?.title ?? ""));
      const ageText = formatAge(Date.now() - summary.updatedAt);
      const folder = summary.info?.root ?? "";
      const where = folder === root ? "" : `in ${toOneLine(basename(folder))}: `;
      const text = `${shortId(summary.sessionId, ids)}  ${progressOf(summary).padEnd(11)}  ${ageText.padEnd(6)}  ${where}${title}`;
      return { id: summary.sessionId, text };
    });
}
