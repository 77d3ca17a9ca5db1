/**
 * The conversation: opens the store, chooses the model, and lets a person talk with one session after another.
 */
import { randomUUID } from "node:crypto";
import { stdin, stdout } from "node:process";
import { PawlError, type SessionSummary } from "../../index.js";
import { chooseHooks, toAgentChoices } from "../agent/agent-choices.js";
import { agentName } from "../agent/agent-name.js";
import { type ChosenFallbacks, fallbacksFor } from "../agent/choose-fallbacks.js";
import { chooseConfiguredModel, hasPrice } from "../agent/choose-model.js";
import { chooseOtherModels } from "../agent/choose-other-models.js";
import { openCommandSandbox, whyNotSandboxed } from "../agent/command-sandbox.js";
import { createFolderAgent } from "../agent/folder-agent.js";
import { findLatestSession, getLatestSession } from "../agent/latest-session.js";
import type { ChosenAgents } from "../child-agents/choose-agent-models.js";
import { toAgentSettings } from "../configuration/agent-settings.js";
import {
  findSettingValue,
  type ResolvedConfiguration,
  type ResolvedSetting,
  resolveConfiguration,
} from "../configuration/resolve-configuration.js";
import { resolveUserName } from "../decisions/user-name.js";
import { exitCodes } from "../exit.js";
import { resolveFolder } from "../files/resolve-folder.js";
import { getSession, openStoreOrMemory, shortId } from "../files/session-store.js";
import { resolveHome } from "../files/store-location.js";
import { runSessionEndHooks, type SessionEndReason } from "../hooks/session-end.js";
import { formatServerNotes } from "../mcp/start-servers.js";
import { listOptionNotes } from "../permissions/rule-note.js";
import { openPrompt } from "../screen/early-prompt.js";
import { lineOf } from "../screen/line.js";
import { hasLiveScreen } from "../terminal/should-open-conversation.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize } from "../terminal/text.js";
import { createStyleText, type Theme } from "../terminal/text-style.js";
import { listUntrustedFiles } from "../trust/trust.js";
import { createBackgroundNotifier } from "./background-notifier.js";
import { restartCommand } from "./commands/mcp.js";
import type { ConversationDeps, ConversationOptions } from "./conversation-deps.js";
import type { Front, LeaveMode } from "./fronts/front.js";
import { createLiveFront } from "./fronts/live-front.js";
import { createPlainFront } from "./fronts/plain-front.js";
import { wrapNote } from "./lines/view-lines.js";
import { runTalk, type TalkSetup } from "./run-talk.js";
import { createServerManager } from "./server-manager.js";
import { createSessionControl, type SessionControl } from "./session-control.js";

/** How long tools have to finish when the person leaves a run, and how long a stopped run has to end; milliseconds. */
const graceMs = 5_000;

/** @param task the first message, if there is one. @returns the exit code */
export async function converse(
  task: string,
  options: ConversationOptions,
  version: string,
  terminal: Terminal,
): Promise<number> {
  const root = resolveFolder(options.root ?? ".");
  const home = resolveHome(process.env);
  const front = createFront(options, resolveConfiguration({ root, home }).settings, terminal);
  front.wait("starting…");
  process.prependOnceListener("uncaughtException", front.close);
  try {
    const { store, loss } = await openStoreOrMemory(home);
    try {
      const background = createBackgroundNotifier(terminal.redaction.text);
      const servers = createServerManager(home, (names, skip) => front.wait(`starting ${names}…`, skip));
      const conversation: ConversationDeps = {
        front,
        store,
        loss,
        home,
        root,
        version,
        terminal,
        options,
        background,
        servers,
      };
      try {
        return await runTalks(conversation, await findFirstSession(conversation), task);
      } finally {
        await servers.close();
      }
    } finally {
      await store.close();
    }
  } finally {
    process.off("uncaughtException", front.close);
    front.close();
  }
}

/** The early prompt uses only the person's own configuration file, which the folder's configuration may override. */
function createFront(
  { screenReader }: ConversationOptions,
  settings: readonly ResolvedSetting[],
  terminal: Terminal,
): Front {
  const streams = { input: stdin, output: stdout };
  const isPlain = screenReader ?? findSettingValue(settings, "ui.screenReader") === true;
  const prompt = terminal.takePrompt();
  if (isPlain || !hasLiveScreen(streams, process.env)) {
    const typed = prompt?.handOver(() => {});
    prompt?.close();
    return createPlainFront(streams, typed);
  }
  const theme = findSettingValue(settings, "ui.theme") as Theme;
  prompt?.screen.restyle(createStyleText(stdout, process.env, theme));
  return createLiveFront(prompt ?? openPrompt(streams, process.env, theme));
}

/** The session that the options name; null: a new one. @throws PawlError `no_session`, `agent_mismatch` */
async function findFirstSession({ store, root, options }: ConversationDeps): Promise<SessionSummary | null> {
  if (options.session !== undefined) {
    const found = await getSession(store, options.session);
    if (found.info?.agent === agentName) return found;
    throw new PawlError("agent_mismatch", `Session ${shortId(found.sessionId)} was not started by pawl.`);
  }
  if (options.continue !== true) return null;
  return getLatestSession(store, root, "Leave out --continue to start one.");
}

async function runTalks(conversation: ConversationDeps, first: SessionSummary | null, task: string): Promise<number> {
  const { front, store, options } = conversation;
  let summary = first;
  let modelName = options.model;
  let text = task;
  let draft: string | undefined;
  let canAsk = true;
  const shownProblems = new Set<string>();
  for (let isFirst = true; ; isFirst = false) {
    const root = resolveFolder(summary?.info?.root ?? conversation.root);
    const configured = resolveConfiguration({ root, home: conversation.home });
    await conversation.servers.start(root, configured.trust);
    const chosen = await chooseConfiguredModel(
      modelName ?? summary?.info?.model ?? configured.model,
      options,
      configured,
    );
    const sessionId = summary?.sessionId ?? randomUUID();
    const folder = { root, configured, hasShell: hasShell(options, configured) };
    const { agents, fallbacks, problems } = await chooseOtherModels(configured, options, chosen.model);
    const talk = createTalk(conversation, { ...folder, sessionId, chosen, agents, fallbacks });
    const { control } = talk;
    const untrusted = canAsk ? listUntrustedFiles(configured.trust) : [];
    canAsk = false;
    const unsandboxed =
      isFirst && folder.hasShell
        ? explainNoSandbox({ root, home: conversation.home }, configured, talk.permissions)
        : null;
    const notes = [
      untrusted.length === 0 ? configured.warning : null,
      // A talk after `/trust` may have more agents. Problems that were already shown are not repeated.
      ...problems.filter((problem) => !shownProblems.has(problem)),
      unsandboxed,
      ...(isFirst ? listOptionNotes(talk.permissions.rules()) : []),
      ...formatServerNotes(conversation.servers.current(), restartCommand),
    ];
    for (const problem of problems) shownProblems.add(problem);
    for (const note of notes.filter((one) => one !== null))
      control.say(wrapNote(sanitize(conversation.terminal.redaction.text(note)), front.columns(), "yellow"));
    const end = await runTalk(conversation, {
      ...talk,
      ...folder,
      chosen,
      summary,
      text,
      draft,
      isFirst,
      open: untrusted,
    });
    const endSession = (reason: SessionEndReason) =>
      runSessionEndHooks(chooseHooks(options, configured), { store, root, sessionId, reason });
    if (end.type === "left") return leaveConversation(conversation, control, end.how, endSession);
    front.wait("opening…");
    await control.close(0);
    for (const failure of await endSession("clear"))
      control.say(wrapNote(sanitize(conversation.terminal.redaction.text(failure)), front.columns(), "yellow"));
    summary = end.next.sessionId === null ? null : await store.describe(end.next.sessionId);
    modelName = end.next.model ?? modelName;
    // Trust is read when a talk begins, so a new talk begins with the same first message.
    [text, draft] = [end.next.isTrusted === true ? text : "", end.next.draft];
  }
}

type NewTalk = Pick<TalkSetup, "root" | "configured" | "hasShell" | "chosen"> &
  Pick<ChosenAgents, "agents"> &
  Pick<ChosenFallbacks, "fallbacks"> & { readonly sessionId: string };

/** Creates a talk's agent and the control of its session, which use each other. */
function createTalk(
  { store, home, options, background, servers, front, terminal }: ConversationDeps,
  { root, configured, hasShell, sessionId, chosen, agents, fallbacks }: NewTalk,
): Pick<TalkSetup, "agent" | "permissions" | "control"> {
  const { model, timeouts } = chosen;
  const choices = toAgentChoices(options, { root, home }, configured);
  const { permissions } = choices;
  /** The context files are read for each run, and named once. */
  const shownFiles = new Set<string>();
  const agent = createFolderAgent({
    store,
    home,
    model,
    timeouts,
    root,
    ...choices,
    allowShell: hasShell,
    background: background.processes,
    servers: servers.current(),
    agents,
    fallbacks,
    // A person reads between two turns, for longer than a cache of 5 minutes lasts.
    promptCache: "1h",
    onContextFiles: (paths) => {
      const line = `Using ${paths.join(", ")}`;
      if (!shownFiles.has(line)) control.say([lineOf(line, "dim")]);
      shownFiles.add(line);
    },
    onHookCommand: (name) => control.showHook(name),
    // A mode that was chosen before the first message applies to the first call.
    beforeFirstCall: () => control.mode.storePending(),
  });
  const models = [chosen, ...fallbacksFor(model, fallbacks, configured.limits)].map((one) => one.model);
  const agentModels = agents.flatMap((one) => (one.model === null ? [] : [one.model.model]));
  const control: SessionControl = createSessionControl({
    agent,
    models: models.map(({ id }) => id),
    unpriced: [...new Set([...models, ...agentModels].filter((one) => !hasPrice(one)).map(({ id }) => id))],
    store,
    sessionId,
    root,
    mayReach: permissions.mayReach,
    ...(model.whyRefused === undefined ? {} : { whyRefused: model.whyRefused }),
    servers: servers.current(),
    redaction: terminal.redaction,
    by: resolveUserName(),
    columns: front.columns,
    onEarlierMessage: front.remember,
    onChange: front.changed,
  });
  return { agent, permissions, control };
}

function explainNoSandbox(
  folders: Pick<ConversationDeps, "root" | "home">,
  configured: ResolvedConfiguration,
  permissions: TalkSetup["permissions"],
): string | null {
  return whyNotSandboxed(openCommandSandbox(folders, toAgentSettings(configured).sandbox, permissions));
}

/** A person is asked about each command. With `--yes` no one is asked, so the shell has to be allowed explicitly. */
function hasShell({ yes, allowShell }: ConversationOptions, configured: ResolvedConfiguration): boolean {
  return allowShell ?? toAgentSettings(configured).shellIsOn ?? yes !== true;
}

/** Ends or leaves the run, and shows how to continue. */
async function leaveConversation(
  { front, store, root, loss, background, terminal }: ConversationDeps,
  control: SessionControl,
  how: LeaveMode,
  endSession: (reason: SessionEndReason) => Promise<readonly string[]>,
): Promise<number> {
  const { runId, isWaiting } = control.view.state();
  const isAtWork = runId !== null;
  front.leave(formatLeaving(how, isAtWork && !isWaiting));
  const agentsAtWork = await control.countBackgroundAgents();
  if (how === "stop") await control.stopAndWait(graceMs);
  await background.close();
  await control.close(how === "rest" ? 0 : graceMs);
  control.view.endText(front.columns());
  for (const failure of await endSession("prompt_input_exit"))
    control.say(wrapNote(sanitize(terminal.redaction.text(failure)), front.columns(), "yellow"));
  if (loss === null && (await store.describe(control.sessionId)) !== null) {
    const id = shortId(control.sessionId);
    const latest = await findLatestSession(store, root);
    // After /resume or --session, another session of the folder may be the latest.
    const shortest = latest?.sessionId === control.sessionId ? "pawl --continue, or " : "";
    const open = control.view.questions.all().length;
    if (open > 0) control.say(wrapNote(formatOpenQuestions(open), front.columns(), "yellow"));
    control.say(wrapNote(`To continue: ${shortest}pawl --session ${id}`, front.columns(), "dim"));
  }
  if (agentsAtWork > 0) control.say(wrapNote(formatAgentsAtWork(agentsAtWork), front.columns(), "yellow"));
  front.changed();
  if (agentsAtWork > 0 && (!isAtWork || how === "stop")) return exitCodes.interrupted;
  if (!isAtWork || how === "stop") return exitCodes.done;
  return isWaiting ? exitCodes.waiting : exitCodes.interrupted;
}

function formatLeaving(how: LeaveMode, isBusy: boolean): string {
  if (how === "stop") return "stopping the run, then leaving…";
  return isBusy ? `leaving: tools at work have ${graceMs / 1_000} seconds to finish…` : "leaving…";
}

function formatOpenQuestions(count: number): string {
  return `${count === 1 ? "1 question waits" : `${count} questions wait`} for your answer.`;
}

function formatAgentsAtWork(count: number): string {
  const agents = count === 1 ? "1 agent in the background has" : `${count} agents in the background have`;
  return `${agents} not ended. Background agents continue with this session, or in a pawl worker. pawl agents lists them.`;
}
