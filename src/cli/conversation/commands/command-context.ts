/**
 * The context that all commands of a conversation share.
 */
import { isResting } from "../../../core/index.js";
import type { Agent, Store, UserPart } from "../../../index.js";
import type { BackgroundProcesses } from "../../../tools/index.js";
import type { ResolvedCommands } from "../../configuration/resolve-commands.js";
import type { ResolvedConfiguration } from "../../configuration/resolve-configuration.js";
import type { StartedServers } from "../../mcp/start-servers.js";
import type { Permissions } from "../../permissions/permissions.js";
import { type Line, lineOf } from "../../screen/line.js";
import type { Choice } from "../../screen/picker.js";
import type { Redaction } from "../../terminal/redaction.js";
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
