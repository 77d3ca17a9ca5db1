/**
 * What the commands of a conversation do. Each has the library do it, as the other commands of `pawl` have.
 */
import { basename } from "node:path";
import { isResting } from "../../core/index.js";
import { type Agent, PawlError, type Store, type UserPart } from "../../index.js";
import type { BackgroundProcesses } from "../../tools/index.js";
import { progressOf } from "../commands/sessions.js";
import type { CommandsInForce } from "../configuration/commands-in-force.js";
import type { InForce } from "../configuration/in-force.js";
import { agentName } from "../folder-agent.js";
import { getSession, shortId } from "../home.js";
import type { StartedServers } from "../mcp/start-servers.js";
import { modelLabel } from "../model-label.js";
import type { Permissions } from "../permissions/permissions.js";
import type { Redaction } from "../redaction.js";
import { type Line, lineOf } from "../screen/line.js";
import type { Choice } from "../screen/picker.js";
import { age, oneLine } from "../text.js";
import { listedLines } from "./listed-lines.js";
import type { RunChoices } from "./run-choices.js";
import type { SessionMode } from "./session-mode.js";
import type { ViewState } from "./view.js";

/** What the conversation does next: it stays with its session unless a command says otherwise. */
export type Next =
  | { readonly type: "quit" }
  /** Goes on with this session, or with a new one if it is null. */
  | {
      readonly type: "session";
      readonly sessionId: string | null;
      readonly model?: string;
      /** The beginning of the first message. */
      readonly draft?: string;
      /** The person has trusted what the folder brings, before the first message was sent. */
      readonly isTrusted?: boolean;
    };

export type CommandContext = {
  readonly store: Store;
  readonly agent: Agent;
  readonly sessionId: string;
  readonly root: string;
  /** The folder of the sessions. */
  readonly home: string;
  readonly model: string;
  /** What the files said when the talk with this session began. */
  readonly configured: InForce;
  readonly version: string;
  readonly hasShell: boolean;
  /** Whether the model goes by AGENTS.md and skills. */
  readonly hasContextFiles: boolean;
  /** What holds for the next runs of the session. */
  readonly choices: RunChoices;
  readonly mode: SessionMode;
  readonly permissions: Permissions;
  readonly servers: StartedServers;
  /** Ends an MCP server and starts it again, unless `signal` ends the attempt. What it gives counts from the next talk on. */
  readonly restartServer: (name: string, signal: AbortSignal) => Promise<StartedServers>;
  readonly background: BackgroundProcesses;
  readonly redaction: Redaction;
  readonly state: () => ViewState;
  readonly say: (lines: readonly Line[]) => void;
  /** Lets the person choose; null if they do not. */
  readonly choose: (title: string, choices: readonly Choice[]) => Promise<string | null>;
  /** Shows a text in the person's pager. @returns false if there is none */
  readonly page: (text: string) => Promise<boolean>;
  /** Puts a text into the person's clipboard. */
  readonly copy: (text: string) => void;
  readonly columns: () => number;
  /** Shows that something is under way, which Esc stops. Call the returned function when it is over. */
  readonly atWork: (name: string, stop: () => void) => () => void;
  /** The commands in files. */
  readonly custom: CommandsInForce;
  /** Sends a message, with the files that `named` names. */
  readonly send: (text: string, named: string) => void;
  /** Adds data to the next message. */
  readonly join: (part: UserPart) => void;
  readonly go: (next: Next) => void;
  readonly quit: () => void;
};

/** While a session is opened, the screen is behind the log: a run that is shown as under way may be over. */
export async function isAtWork({ agent, sessionId, state }: CommandContext): Promise<boolean> {
  const { runId, isWaiting } = state();
  return runId !== null && !isWaiting && !isResting(await agent.session(sessionId).state());
}

export function hasToWait(command: string): Line {
  return lineOf(`${command} has to wait until the run is over. Esc stops it.`, "yellow");
}

/** The talk begins anew with the same session: what was changed outside of it counts then. */
export async function beginAnew({ store, sessionId, go }: CommandContext): Promise<void> {
  const hasBegun = (await store.describe(sessionId)) !== null;
  go({ type: "session", sessionId: hasBegun ? sessionId : null });
}

const mostSessions = 200;

export async function status(context: CommandContext): Promise<void> {
  const { sessionId, root, model, version, hasShell, permissions, servers, columns, say } = context;
  const sandbox = permissions.isSandboxed() ? "sandboxed with bubblewrap" : "not sandboxed";
  const facts: readonly (readonly [string, string])[] = [
    ["version", version],
    ["session", sessionId],
    ["folder", root],
    ["model", modelLabel(model)],
    ["shell", hasShell ? `asks before each command, ${sandbox}` : "none"],
    ["trust", trustOf(context)],
    ["servers", servers.all.length === 0 ? "none" : servers.all.map(({ name }) => oneLine(name)).join(", ")],
    ["files", filesOf(context)],
    ["Node", process.version],
  ];
  say(
    listedLines(
      facts.map(([head, about]) => ({ head, about, style: "dim" }) as const),
      columns(),
    ),
  );
}

function trustOf({ configured: { trust } }: CommandContext): string {
  if (trust.files.length === 0) return "the folder brings nothing that needs it";
  return trust.files.map(({ name, isTrusted }) => `${name} ${isTrusted ? "counts" : "does not count"}`).join(", ");
}

/** The files of settings in force. */
function filesOf({ configured: { user, folder } }: CommandContext): string {
  const paths = [user?.path, folder?.path].filter((path) => path !== undefined);
  return paths.length === 0 ? "none" : paths.map(oneLine).join(", ");
}

export async function startNew({ go }: CommandContext): Promise<void> {
  go({ type: "session", sessionId: null });
}

export async function resume(context: CommandContext, id: string): Promise<void> {
  const { store, root, go, say, choose, redaction, sessionId: present } = context;
  const sessionId = id === "" ? await choose("resume", await sessionChoices(store, root, present, redaction)) : id;
  if (sessionId === null) return say([lineOf("Stayed with this session.", "dim")]);
  const found = await getSession(store, sessionId);
  if (found.info?.agent !== agentName)
    throw new PawlError("agent_mismatch", `Session ${shortId(found.sessionId)} is not one of pawl.`);
  // Another folder has other files, settings and rules: it gets a process of its own.
  if (found.info.root !== root)
    return say([
      lineOf(`That session works in ${found.info.root}. Go on there:`, "dim"),
      lineOf(`  cd '${found.info.root}' && pawl --session ${shortId(found.sessionId)}`),
    ]);
  go({ type: "session", sessionId: found.sessionId });
}

/** All sessions but the present one: those of the folder first, and the newest of each first. */
export async function sessionChoices(
  store: Store,
  root: string,
  present: string | null,
  redaction: Redaction,
): Promise<readonly Choice[]> {
  const list = (where: { readonly root?: string }) =>
    store.list({ agent: agentName, parent: null, limit: mostSessions, ...where });
  const here = await list({ root });
  const elsewhere = (await list({})).filter(({ info }) => info?.root !== root);
  const all = [...here, ...elsewhere];
  const ids = all.map(({ sessionId }) => sessionId);
  return all
    .filter(({ sessionId }) => sessionId !== present)
    .map((summary) => {
      const title = oneLine(redaction.text(summary.info?.title ?? ""));
      const when = age(Date.now() - summary.updatedAt);
      const folder = summary.info?.root ?? "";
      const where = folder === root ? "" : `in ${oneLine(basename(folder))}: `;
      const text = `${shortId(summary.sessionId, ids)}  ${progressOf(summary).padEnd(11)}  ${when.padEnd(6)}  ${where}${title}`;
      return { id: summary.sessionId, text };
    });
}

export async function tools({ agent, configured, hasShell, columns, say }: CommandContext): Promise<void> {
  const present = agent.specifications().map(({ name, description }) => {
    const [sentence = ""] = oneLine(description ?? "").split(/(?<=\.)\s/);
    return { head: oneLine(name), about: sentence };
  });
  const turnedOff = configured.settings.find(({ key }) => key === "tools.off");
  const off = ((turnedOff?.value ?? []) as readonly string[]).map((name) => ({
    head: oneLine(name),
    about: oneLine(`off: tools.off in ${turnedOff?.from}`),
  }));
  const noShell = hasShell ? [] : [{ head: "shell", about: "off: start pawl with --allow-shell" }];
  say(listedLines([...present, ...[...noShell, ...off].map((one) => ({ ...one, style: "dim" }) as const)], columns()));
}
