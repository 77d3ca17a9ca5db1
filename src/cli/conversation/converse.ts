/**
 * The conversation: opens the store, chooses the model, and lets a person talk with one session after another.
 */
import { randomUUID } from "node:crypto";
import { stdin, stdout } from "node:process";
import { type Agent, PawlError, type SessionSummary, type Store } from "../../index.js";
import { type ChosenModel, chooseForCommand } from "../choose-model.js";
import { agentSettings } from "../configuration/agent-settings.js";
import { commandsInForce } from "../configuration/commands-in-force.js";
import { configurationInForce, type InForce, type SettingInForce, settingValue } from "../configuration/in-force.js";
import { realFolder } from "../drive-session.js";
import { exitCodes } from "../exit.js";
import { agentName, createFolderAgent, type FolderOptions, folderChoices } from "../folder-agent.js";
import { getSession, homeOf, openStoreOrMemory, shortId } from "../home.js";
import { serverNotes } from "../mcp/start-servers.js";
import { hasLiveScreen } from "../opens-conversation.js";
import type { Permissions } from "../permissions/permissions.js";
import { type Line, lineOf } from "../screen/line.js";
import { openPrompt } from "../screen/prompt.js";
import type { Terminal } from "../terminal.js";
import { visible } from "../text.js";
import { createStyleText, type Theme } from "../text-style.js";
import { type BroughtFile, untrustedFiles } from "../trust/trust.js";
import { userName } from "../user-name.js";
import { tellOfProcesses } from "./background-command.js";
import { type Background, openBackground } from "./background-processes.js";
import { fileNames } from "./file-names.js";
import type { Front, Leaving, Talk } from "./front.js";
import { createLiveFront } from "./live-front.js";
import { createOwnCommands } from "./own-command.js";
import { createPlainFront } from "./plain-front.js";
import { createPresentServers, type PresentServers } from "./present-servers.js";
import { runCommand } from "./run-command.js";
import type { CommandContext, Next } from "./session-commands.js";
import { createSessionControl, type SessionControl } from "./session-control.js";
import { createTalkRules } from "./talk-rules.js";
import { asksForTrust } from "./trust-question.js";
import { wrappedNote } from "./view-lines.js";
import { welcome } from "./welcome.js";

export type ConversationOptions = FolderOptions & {
  readonly model?: string;
  /** How long to wait for the beginning of an answer; milliseconds. */
  readonly timeout?: number;
  readonly root?: string;
  readonly session?: string;
  readonly continue?: true;
  readonly screenReader?: boolean;
};

/** Milliseconds that tools have to finish when a run is left, and that a stopped run has to end. */
const graceMs = 5_000;

/** @param task the first message, if there is one. @returns the exit code */
export async function converse(
  task: string,
  options: ConversationOptions,
  version: string,
  terminal: Terminal,
): Promise<number> {
  const root = realFolder(options.root ?? ".");
  const home = homeOf(process.env);
  const front = createFront(options, configurationInForce({ root, home }).settings, terminal);
  front.talk(null, "starting…");
  process.prependOnceListener("uncaughtException", front.close);
  try {
    const { store, loss } = await openStoreOrMemory(home);
    try {
      const background = openBackground(terminal.redaction.text);
      const servers = createPresentServers(home, (names) => front.talk(null, `starting ${names}…`));
      const place: Place = { front, store, loss, home, root, version, terminal, options, background, servers };
      try {
        return await talkOn(place, await firstSession(place), task);
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

type Place = {
  readonly front: Front;
  readonly store: Store;
  readonly loss: string | null;
  readonly home: string;
  readonly root: string;
  readonly version: string;
  readonly terminal: Terminal;
  readonly options: ConversationOptions;
  readonly background: Background;
  readonly servers: PresentServers;
};

/** The prompt on the screen goes by the person's own file alone. What is in force in the folder may have it otherwise. */
function createFront(
  { screenReader }: ConversationOptions,
  settings: readonly SettingInForce[],
  terminal: Terminal,
): Front {
  const streams = { input: stdin, output: stdout };
  const isPlain = screenReader ?? settingValue(settings, "ui.screenReader") === true;
  const prompt = terminal.takePrompt();
  if (isPlain || !hasLiveScreen(streams, process.env)) {
    const typed = prompt?.handOver(() => {});
    prompt?.close();
    return createPlainFront(streams, typed);
  }
  const theme = settingValue(settings, "ui.theme") as Theme;
  prompt?.screen.restyle(createStyleText(stdout, process.env, theme));
  return createLiveFront(prompt ?? openPrompt(streams, process.env, theme));
}

/** The session that the options name; null: a new one. @throws PawlError `no_session`, `agent_mismatch` */
async function firstSession({ store, root, options }: Place): Promise<SessionSummary | null> {
  if (options.session !== undefined) {
    const found = await getSession(store, options.session);
    if (found.info?.agent === agentName) return found;
    throw new PawlError("agent_mismatch", `Session ${shortId(found.sessionId)} is not one of pawl.`);
  }
  if (options.continue !== true) return null;
  const [latest] = await store.list({ agent: agentName, root, parent: null, limit: 1 });
  if (latest !== undefined) return latest;
  throw new PawlError("no_session", `No session has worked in ${root} yet. Leave out --continue to start one.`);
}

/** What ends a talk: the next session, or leaving with an exit code. */
type End =
  | { readonly type: "next"; readonly next: Extract<Next, { type: "session" }> }
  | { readonly type: "left"; readonly how: Leaving };

async function talkOn(place: Place, first: SessionSummary | null, task: string): Promise<number> {
  const { front, store, options } = place;
  let summary = first;
  let named = options.model;
  let text = task;
  let draft: string | undefined;
  let mayAsk = true;
  for (let isFirst = true; ; isFirst = false) {
    const root = realFolder(summary?.info?.root ?? place.root);
    const configured = configurationInForce({ root, home: place.home });
    await place.servers.start(root, configured.trust);
    const chosen = await chooseForCommand(named ?? summary?.info?.model ?? configured.model, options, configured);
    const sessionId = summary?.sessionId ?? randomUUID();
    const made = agentFor(place, chosen, configured, summary, (lines) => control.say(lines));
    const control: SessionControl = createSessionControl({
      agent: made.agent,
      store,
      sessionId,
      root,
      redaction: place.terminal.redaction,
      by: userName(),
      columns: front.columns,
      onChange: front.changed,
    });
    const open = mayAsk ? untrustedFiles(configured.trust) : [];
    mayAsk = false;
    if (configured.notice !== null && open.length === 0)
      control.say(wrappedNote(visible(configured.notice), front.columns(), "yellow"));
    for (const note of serverNotes(place.servers.present()))
      control.say(wrappedNote(visible(place.terminal.redaction.text(note)), front.columns(), "yellow"));
    const end = await talkWith(place, { ...made, control, chosen, configured, summary, text, draft, isFirst, open });
    if (end.type === "left") return leave(place, control, end.how);
    front.talk(null, "opening…");
    await control.close(0);
    summary = end.next.sessionId === null ? null : await store.describe(end.next.sessionId);
    named = end.next.model ?? named;
    // What was trusted counts from the beginning, so the talk begins anew, with the same first message.
    [text, draft] = [end.next.isTrusted === true ? text : "", end.next.draft];
  }
}

function agentFor(
  { store, home, root, options, background, servers }: Place,
  { model, timeouts }: ChosenModel,
  configured: InForce,
  summary: SessionSummary | null,
  say: (lines: readonly Line[]) => void,
): Pick<Talking, "agent" | "permissions"> {
  const folder = realFolder(summary?.info?.root ?? root);
  const choices = folderChoices(options, { root: folder, home }, configured);
  const agent = createFolderAgent({
    store,
    home,
    model,
    timeouts,
    root: folder,
    ...choices,
    allowShell: hasShell(options, configured),
    background: background.processes,
    serverTools: servers.present().tools,
    onContextFiles: (paths) => say([lineOf(`Goes by ${paths.join(", ")}`, "dim")]),
  });
  return { agent, permissions: choices.permissions };
}

/** A person is there and asked about each command. With `--yes` nobody is asked, so the shell has to be allowed. */
function hasShell({ yes, allowShell }: ConversationOptions, configured: InForce): boolean {
  return allowShell ?? agentSettings(configured).shellIsOn ?? yes !== true;
}

type Talking = {
  readonly agent: Agent;
  readonly permissions: Permissions;
  readonly control: SessionControl;
  readonly chosen: ChosenModel;
  readonly configured: InForce;
  readonly summary: SessionSummary | null;
  readonly text: string;
  readonly draft: string | undefined;
  readonly isFirst: boolean;
  /** What the folder brings, is not trusted, and is to be asked about. */
  readonly open: readonly BroughtFile[];
};

async function talkWith(place: Place, talking: Talking): Promise<End> {
  const { agent, permissions, control, chosen, summary, text, draft, isFirst, open } = talking;
  const { front, store, terminal, version, options } = place;
  const root = summary?.info?.root ?? place.root;
  const custom = commandsInForce(talking.configured.trust);
  const own = createOwnCommands(control, root, terminal.redaction);
  const left = new AbortController();
  let stopWork: (() => void) | null = null;
  let leading: ReturnType<Talk["command"]> = null;
  control.say(await welcome(place, chosen, summary, isFirst));
  if (isFirst)
    for (const problem of custom.problems)
      control.say(wrappedNote(visible(terminal.redaction.text(problem)), front.columns(), "yellow"));
  let onSignal = () => {};
  const ended = new Promise<End>((settle) => {
    const leaveBy = (how: Leaving) => settle({ type: "left", how });
    onSignal = () => leaveBy("leave");
    const context: CommandContext = {
      store,
      agent,
      sessionId: control.sessionId,
      root,
      home: place.home,
      model: chosen.model.id,
      configured: talking.configured,
      version,
      hasShell: hasShell(options, talking.configured),
      hasContextFiles: options.contextFiles !== false,
      choices: control.choices,
      mode: control.mode,
      permissions,
      background: place.background.processes,
      servers: place.servers.present(),
      redaction: terminal.redaction,
      state: control.view.state,
      say: control.say,
      choose: front.choose,
      page: front.page,
      copy: front.copy,
      columns: front.columns,
      atWork(name, stop) {
        stopWork = stop;
        control.setOwn({ name, since: Date.now() });
        return () => {
          stopWork = null;
          control.setOwn(null);
        };
      },
      custom,
      send: control.send,
      join: control.join,
      go(next) {
        if (next.type === "quit") leaveBy("rest");
        else leading = goOn(next);
      },
      quit: () => leaveBy(control.view.state().runId === null ? "rest" : "leave"),
    };
    /** A model that cannot be used is told here, and the session stays as it is. */
    async function goOn(next: Extract<Next, { type: "session" }>): Promise<"stays" | "leads_on"> {
      try {
        if (next.model !== undefined) await chooseForCommand(next.model, options, talking.configured);
        settle({ type: "next", next });
        return "leads_on";
      } catch (error) {
        control.fail(error);
        return "stays";
      }
    }
    for (const signal of signals) process.once(signal, onSignal);
    front.talk({
      control,
      rules: createTalkRules({ agent, permissions, control, columns: front.columns, by: userName() }),
      ...(draft === undefined ? {} : { draft }),
      custom: custom.list,
      command(line) {
        leading = null;
        return runCommand(line, context, control)?.then(() => leading ?? "stays") ?? null;
      },
      runOwn: (commandLine) => void own.run(commandLine),
      stopOwn() {
        stopWork?.();
        return own.stop() || stopWork !== null;
      },
      fileNames: () => fileNames(root, left.signal),
      rings: settingValue(talking.configured.settings, "ui.bell") === "when-waiting",
      quit: leaveBy,
    });
    place.background.tellTo(control, agent);
    const begin = async () => {
      await control.open();
      await tellOfProcesses(control, context, terminal.redaction.text);
      const isTrusted =
        open.length > 0 && (await asksForTrust({ open, root, home: place.home, control, front, terminal }));
      if (isTrusted)
        settle({ type: "next", next: { type: "session", sessionId: summary?.sessionId ?? null, isTrusted } });
      else if (text !== "") control.send(text);
    };
    begin().catch(control.fail);
  });
  try {
    return await ended;
  } finally {
    for (const signal of signals) process.off(signal, onSignal);
    own.stop();
    left.abort();
  }
}

/** They ask the process to exit. */
const signals = ["SIGTERM", "SIGHUP"] as const;

/** Ends the run or lets it go, and says how to go on. */
async function leave(
  { front, store, loss, background }: Place,
  control: SessionControl,
  how: Leaving,
): Promise<number> {
  const { runId, isWaiting } = control.view.state();
  const isAtWork = runId !== null;
  if (how === "stop") await control.stopAndWait(graceMs);
  await background.close();
  await control.close(how === "rest" ? 0 : graceMs);
  if (loss === null && (await store.describe(control.sessionId)) !== null) {
    const id = shortId(control.sessionId);
    control.say(wrappedNote(`To go on: pawl --continue, or pawl --session ${id}`, front.columns(), "dim"));
  }
  front.changed();
  if (!isAtWork || how === "stop") return exitCodes.done;
  return isWaiting ? exitCodes.waiting : exitCodes.interrupted;
}
