/**
 * The commands `/status`, `/new`, `/resume` and `/tools` of a conversation.
 */
import { basename } from "node:path";
import { PawlError, type Store } from "../../../index.js";
import { agentName } from "../../agent/agent-name.js";
import { openCommandSandbox, whyNotSandboxed } from "../../agent/command-sandbox.js";
import { progressOf } from "../../commands/sessions.js";
import { toAgentSettings } from "../../configuration/agent-settings.js";
import { getSession, shortId } from "../../files/session-store.js";
import { formatModel } from "../../render/format-model.js";
import { lineOf } from "../../screen/line.js";
import type { Choice } from "../../screen/picker.js";
import type { Redaction } from "../../terminal/redaction.js";
import { formatAge, toOneLine } from "../../terminal/text.js";
import { renderList } from "../lines/list-lines.js";
import type { CommandContext } from "./command-context.js";

const maxSessions = 200;

export async function status(context: CommandContext): Promise<void> {
  const { sessionId, root, model, version, hasShell, servers, columns, say } = context;
  const facts: readonly (readonly [string, string])[] = [
    ["version", version],
    ["session", sessionId],
    ["folder", root],
    ["model", formatModel(model)],
    ["shell", hasShell ? formatShell(context) : "none"],
    ["trust", formatTrust(context)],
    ["servers", servers.all.length === 0 ? "none" : servers.all.map(({ name }) => toOneLine(name)).join(", ")],
    ["files", formatFiles(context)],
    ["Node", process.version],
  ];
  say(
    renderList(
      facts.map(([head, about]) => ({ head, about, style: "dim" }) as const),
      columns(),
    ),
  );
}

/** Which commands ask, and the sandbox that they run in. */
function formatShell({ configured, root, home, permissions }: CommandContext): string {
  const { sandbox: settings } = toAgentSettings(configured);
  const sandbox = openCommandSandbox({ root, home }, settings, permissions);
  const why = whyNotSandboxed(sandbox);
  const asksFirst = "asks before commands that do more than read";
  if (why !== null) return `${asksFirst}. ${why}`;
  const asks = settings.ask === "outside" ? "asks for what the sandbox does not give" : asksFirst;
  return `${asks}; sandboxed with ${sandbox.describe()[0]}. pawl sandbox shows what they see`;
}

function formatTrust({ configured: { trust } }: CommandContext): string {
  if (trust.files.length === 0) return "nothing in the folder needs it";
  return trust.files.map(({ name, isTrusted }) => `${name} ${isTrusted ? "is trusted" : "is not trusted"}`).join(", ");
}

/** The configuration files that apply. */
function formatFiles({ configured: { user, folder } }: CommandContext): string {
  const paths = [user?.path, folder?.path].filter((path) => path !== undefined);
  return paths.length === 0 ? "none" : paths.map(toOneLine).join(", ");
}

export async function startNew({ go }: CommandContext): Promise<void> {
  go({ type: "session", sessionId: null });
}

export async function resume(context: CommandContext, id: string): Promise<void> {
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
export async function listSessionChoices(
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

export async function tools({ agent, configured, hasShell, columns, say }: CommandContext): Promise<void> {
  const present = agent.specifications().map(({ name, description }) => {
    const [sentence = ""] = toOneLine(description ?? "").split(/(?<=\.)\s/);
    return { head: toOneLine(name), about: sentence };
  });
  const turnedOff = configured.settings.find(({ key }) => key === "tools.off");
  const off = ((turnedOff?.value ?? []) as readonly string[]).map((name) => ({
    head: toOneLine(name),
    about: toOneLine(`off: tools.off in ${turnedOff?.from}`),
  }));
  const noShell = hasShell ? [] : [{ head: "shell", about: "off: start pawl with --allow-shell" }];
  say(renderList([...present, ...[...noShell, ...off].map((one) => ({ ...one, style: "dim" }) as const)], columns()));
}
