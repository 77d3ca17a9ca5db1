/**
 * Runs the talk with one session: what the person types goes to its commands or to the model, until the person leaves or
 * switches to another session.
 */
import type { Agent, SessionSummary } from "../../index.js";
import { type ChosenModel, chooseConfiguredModel } from "../agent/choose-model.js";
import { type ResolvedCommands, resolveCommands } from "../configuration/resolve-commands.js";
import { findSettingValue, type ResolvedConfiguration } from "../configuration/resolve-configuration.js";
import { resolveUserName } from "../decisions/user-name.js";
import { listArgumentValues, listResourceNames, listServerPrompts } from "../mcp/list-content.js";
import type { Permissions } from "../permissions/permissions.js";
import { sanitize } from "../terminal/text.js";
import type { SuppliedFile } from "../trust/trust.js";
import type { CommandContext, NextTalk } from "./commands/command-context.js";
import { reportEarlierProcesses } from "./commands/ps.js";
import { runCommand } from "./commands/run-command.js";
import { createOwnCommands } from "./commands/shell-commands.js";
import { askForTrust } from "./commands/trust-question.js";
import type { ConversationDeps } from "./conversation-deps.js";
import { listFileNames } from "./fronts/file-names.js";
import type { LeaveMode, Talk } from "./fronts/front.js";
import { wrapNote } from "./lines/view-lines.js";
import { createRuleActions } from "./rule-actions.js";
import type { SessionControl } from "./session-control.js";
import { renderWelcome } from "./welcome.js";

export type TalkSetup = {
  readonly agent: Agent;
  readonly permissions: Permissions;
  readonly control: SessionControl;
  readonly chosen: ChosenModel;
  readonly configured: ResolvedConfiguration;
  /** Null if the session is new. */
  readonly summary: SessionSummary | null;
  /** The folder in which the session works. */
  readonly root: string;
  readonly hasShell: boolean;
  readonly text: string;
  readonly draft: string | undefined;
  readonly isFirst: boolean;
  /** Untrusted files of the folder, which the person is asked about. */
  readonly open: readonly SuppliedFile[];
};

/** How a talk ends: with the next session, or with the person leaving. */
export type TalkEnd =
  | { readonly type: "next"; readonly next: Extract<NextTalk, { type: "session" }> }
  | { readonly type: "left"; readonly how: LeaveMode };

/** Signals that ask the process to exit. */
const signals = ["SIGTERM", "SIGHUP"] as const;

export async function runTalk(conversation: ConversationDeps, setup: TalkSetup): Promise<TalkEnd> {
  const { agent, permissions, control, configured, root, draft } = setup;
  const { front, servers, terminal } = conversation;
  const custom = resolveCommands(configured.trust);
  await showWelcome(conversation, setup, custom);
  const ownCommands = createOwnCommands(control, root, terminal.redaction, front.columns);
  const talkEnded = new AbortController();
  let end: (how: TalkEnd) => void = () => {};
  const ended = new Promise<TalkEnd>((settle) => {
    end = settle;
  });
  const quit = (how: LeaveMode) => end({ type: "left", how });
  const onSignal = () => quit("leave");
  for (const signal of signals) process.once(signal, onSignal);
  try {
    const commands = createCommands(conversation, setup, custom, end);
    front.talk({
      control,
      rules: createRuleActions({ agent, permissions, control, columns: front.columns, by: resolveUserName() }),
      ...(draft === undefined ? {} : { draft }),
      custom: custom.list,
      command: commands.run,
      runOwn: (commandLine) => void ownCommands.run(commandLine),
      // All three are called, so that everything that runs is stopped.
      stopOwn: () => [commands.stop(), ownCommands.stop(), control.stopReading()].includes(true),
      countProcesses: () => conversation.background.count(control.sessionId),
      fileNames: () => listFileNames(root, talkEnded.signal),
      resourceNames: () => listResourceNames(servers.current(), talkEnded.signal),
      prompts: () => listServerPrompts(servers.current(), talkEnded.signal),
      argumentValues: (typed) => listArgumentValues(servers.current(), typed, talkEnded.signal),
      rings: findSettingValue(configured.settings, "ui.bell") === "when-waiting",
      notifies: findSettingValue(configured.settings, "ui.notify") === "auto",
      quit,
    });
    conversation.background.notify(control, agent);
    beginTalk(conversation, setup, commands.context, end).catch(control.fail);
    return await ended;
  } finally {
    for (const signal of signals) process.off(signal, onSignal);
    ownCommands.stop();
    talkEnded.abort();
  }
}

async function showWelcome(
  conversation: ConversationDeps,
  setup: TalkSetup,
  { problems }: ResolvedCommands,
): Promise<void> {
  const { control, chosen, summary, isFirst } = setup;
  const { front, terminal } = conversation;
  control.say(await renderWelcome(conversation, chosen, summary, isFirst));
  if (isFirst)
    for (const problem of problems)
      control.say(wrapNote(sanitize(terminal.redaction.text(problem)), front.columns(), "yellow"));
}

/** Opens the session, asks about untrusted files, and sends the first message, if there is one. */
async function beginTalk(
  conversation: ConversationDeps,
  setup: TalkSetup,
  context: CommandContext,
  end: (how: TalkEnd) => void,
): Promise<void> {
  const { front, home, terminal } = conversation;
  const { control, summary, text, open, root } = setup;
  await control.open();
  await reportEarlierProcesses(control, context, terminal.redaction.text);
  if (open.length > 0 && (await askForTrust({ open, root, home, control, front, terminal })))
    end({ type: "next", next: { type: "session", sessionId: summary?.sessionId ?? null, isTrusted: true } });
  else if (text !== "") control.send(text);
}

type TalkCommands = {
  readonly context: CommandContext;
  readonly run: Talk["command"];
  /** Stops the command in progress. @returns whether there was one */
  readonly stop: () => boolean;
};

/** Creates the handler of commands: lines that begin with a slash. */
function createCommands(
  conversation: ConversationDeps,
  setup: TalkSetup,
  custom: ResolvedCommands,
  end: (how: TalkEnd) => void,
): TalkCommands {
  const { control, configured } = setup;
  let stopActivity: (() => void) | null = null;
  let pendingSwitch: ReturnType<Talk["command"]> = null;

  function atWork(name: string, stop: () => void): () => void {
    stopActivity = stop;
    control.setOwn({ name, since: Date.now() });
    return () => {
      stopActivity = null;
      control.setOwn(null);
    };
  }

  function go(next: NextTalk): void {
    if (next.type === "quit") end({ type: "left", how: "rest" });
    else pendingSwitch = switchSession(next);
  }

  /** If the model cannot be used, the error is shown here, and the current session stays open. */
  async function switchSession(next: Extract<NextTalk, { type: "session" }>): Promise<"stays" | "leads_on"> {
    try {
      if (next.model !== undefined) await chooseConfiguredModel(next.model, conversation.options, configured);
      end({ type: "next", next });
      return "leads_on";
    } catch (error) {
      control.fail(error);
      return "stays";
    }
  }

  const quit = () => end({ type: "left", how: control.view.state().runId === null ? "rest" : "leave" });
  const context: CommandContext = { ...createContext(conversation, setup), custom, atWork, go, quit };
  return {
    context,
    run(line) {
      pendingSwitch = null;
      return runCommand(line, context, control)?.then(() => pendingSwitch ?? "stays") ?? null;
    },
    stop() {
      stopActivity?.();
      return stopActivity !== null;
    },
  };
}

/** The part of the command context that comes from the conversation and the session. */
function createContext(
  { front, store, home, version, options, background, servers, terminal }: ConversationDeps,
  { agent, permissions, control, chosen, configured, root, hasShell }: TalkSetup,
): Omit<CommandContext, "custom" | "atWork" | "go" | "quit"> {
  return {
    store,
    agent,
    sessionId: control.sessionId,
    root,
    home,
    model: chosen.model.id,
    configured,
    version,
    hasShell,
    hasContextFiles: options.contextFiles !== false,
    hasHooks: options.hooks !== false,
    choices: control.choices,
    mode: control.mode,
    permissions,
    background: background.processes,
    servers: servers.current(),
    async restartServer(name, signal) {
      await servers.restart(name, root, signal);
      return servers.current();
    },
    acceptTools: servers.accept,
    redaction: terminal.redaction,
    state: control.view.state,
    say: control.say,
    choose: front.choose,
    page: front.page,
    copy: front.copy,
    columns: front.columns,
    send: control.send,
    join: control.join,
  };
}
