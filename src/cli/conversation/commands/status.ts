/**
 * The commands `/status` and `/tools` of a conversation.
 */
import { openCommandSandbox, whyNotSandboxed } from "../../agent/command-sandbox.js";
import { toAgentSettings } from "../../configuration/agent-settings.js";
import { formatModel } from "../../render/format-model.js";
import { toOneLine } from "../../terminal/text.js";
import { renderList } from "../lines/list-lines.js";
import type { CommandContext } from "./command-context.js";

export async function runStatusCommand(context: CommandContext): Promise<void> {
  const { sessionId, root, model, version, hasShell, servers, columns, say } = context;
  const facts: readonly (readonly [string, string])[] = [
    ["version", version],
    ["session", sessionId],
    ["folder", root],
    ["model", formatModel(model)],
    ["shell", hasShell ? formatShell(context) : "none"],
    ["trust", formatTrust(context)],
    ["servers", servers.all.length === 0 ? "none" : servers.all.map(({ name }) => toOneLine(name)).join(", ")],
    ["settings", formatSettingsFiles(context)],
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
function formatSettingsFiles({ configured: { user, folder } }: CommandContext): string {
  const paths = [user?.path, folder?.path].filter((path) => path !== undefined);
  return paths.length === 0 ? "no files" : paths.map(toOneLine).join(", ");
}

export async function runToolsCommand({ agent, configured, hasShell, columns, say }: CommandContext): Promise<void> {
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
