/**
 * The commands `/status`, `/new`, `/resume` and `/tools` of a conversation, and the context that all its commands share.
 */
import { basename } from "node:path";
import { isResting } from "../../../core/index.js";
import { type Agent, PawlError, type Store, type UserPart } from "../../../index.js";
import type { BackgroundProcesses } from "../../../tools/index.js";
import { agentName } from "../../agent/agent-name.js";
import { openCommandSandbox, whyNotSandboxed } from "../../agent/command-sandbox.js";
import { progressOf } from "../../commands/sessions.js";
import { toAgentSettings } from "../../configuration/agent-settings.js";
import type { ResolvedCommands } from "../../configuration/resolve-commands.js";
import type { ResolvedConfiguration } from "../../configuration/resolve-configuration.js";
import { getSession, shortId } from "../../files/session-store.js";
import type { StartedServers } from "../../mcp/start-servers.js";
import type { Permissions } from "../../permissions/permissions.js";
import { formatModel } from "../../render/format-model.js";
import { type Line, lineOf } from "../../screen/line.js";
import type { Choice } from "../../screen/picker.js";
import type { Redaction } from "../../terminal/redaction.js";
import { formatAge, toOneLine } from "../../terminal/text.js";
import { renderList } from "../lines/list-lines.js";
import type { RunSettingsStore } from "../run-settings.js";
import type { SessionMode } from "../session-mode.js";
import type { ViewState } from "../view/view.js";

/** The next step of the conversation, if a command does not stay with the current session. */
export type NextTalk =
  | { readonly type: "quit" }
  /** Continues with this session, or with a new session if null. */
  | {
      readonly type: "session";
      readonly sessionId: string | null;
      readonly model?: string;
      /** The initial draft. */
      readonly draft?: string;
      /** The person trusted the folder's files before the first message was sent. */
      readonly isTrusted?: boolean;
    };

export type CommandContext = {
  readonly store: Store;
  readonly agent: Agent;
  readonly sessionId: string;
  readonly root: string;
  /** The folder of settings and sessions. */
  readonly home: string;
  readonly model: string;
  /** The configuration when the talk with this session began. */
  readonly configured: ResolvedConfiguration;
  readonly version: string;
  readonly hasShell: boolean;
  /** Whether the model gets AGENTS.md and skills. */
  readonly hasContextFiles: boolean;
  /** Whether hooks in files run. */
  readonly hasHooks: boolean;
  /** The settings of the session's next runs. */
  readonly choices: RunSettingsStore;
  readonly mode: SessionMode;
  readonly permissions: Permissions;
  readonly servers: StartedServers;
  /** Restarts an MCP server, unless `signal` aborts the attempt. The model gets its tools from the next talk on. */
  readonly restartServer: (name: string, signal: AbortSignal) => Promise<StartedServers>;
  /** Offers these new or changed tools of an MCP server from the next talk on. */
  readonly acceptTools: (server: string, names: readonly string[]) => void;
  readonly background: BackgroundProcesses;
  readonly redaction: Redaction;
  readonly state: () => ViewState;
  readonly say: (lines: readonly Line[]) => void;
  /** Lets the person choose; null if they cancel. */
  readonly choose: (title: string, choices: readonly Choice[]) => Promise<string | null>;
  /** Shows text in the person's pager. @returns false if there is no pager */
  readonly page: (text: string) => Promise<boolean>;
  /** Copies text to the clipboard. */
  readonly copy: (text: string) => void;
  readonly columns: () => number;
  /** Shows an activity, which Esc stops. Call the returned function when the activity has ended. */
  readonly atWork: (name: string, stop: () => void) => () => void;
  /** The commands in files. */
  readonly custom: ResolvedCommands;
  /** Sends a message, with the files that `named` mentions. */
  readonly send: (text: string, named: string) => void;
  /** Adds data to the next message. */
  readonly join: (part: UserPart) => void;
  readonly go: (next: NextTalk) => void;
  readonly quit: () => void;
};

/** While a session is opened, the screen lags behind the log: a run that it shows as in progress may have ended. */
export async function isAtWork({ agent, sessionId, state }: CommandContext): Promise<boolean> {
  const { runId, isWaiting } = state();
  return runId !== null && !isWaiting && !isResting(await agent.session(sessionId).state());
}

export function createMustWaitLine(command: string): Line {
  return lineOf(`${command} has to wait until the run is over. Esc stops it.`, "yellow");
}

/** Begins a new talk with the same session, so that changes made outside of the talk take effect. */
export async function restartTalk({ store, sessionId, go }: CommandContext): Promise<void> {
  const hasBegun = (await store.describe(sessionId)) !== null;
  go({ type: "session", sessionId: hasBegun ? sessionId : null });
}

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
  if (why !== null) return `asks before each command. ${why}`;
  const asks = settings.ask === "outside" ? "asks for what the sandbox does not give" : "asks before each command";
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
