/**
 * The talk with one session: what the person types goes to its commands or to the model, until they leave or go on to another session.
 */
import type { Agent, SessionSummary } from "../../index.js";
import { type ChosenModel, chooseForCommand } from "../choose-model.js";
import { type CommandsInForce, commandsInForce } from "../configuration/commands-in-force.js";
import { type InForce, settingValue } from "../configuration/in-force.js";
import type { Permissions } from "../permissions/permissions.js";
import { visible } from "../text.js";
import type { BroughtFile } from "../trust/trust.js";
import { userName } from "../user-name.js";
import { tellOfProcesses } from "./background-command.js";
import { fileNames } from "./file-names.js";
import type { Leaving, Talk } from "./front.js";
import { createOwnCommands } from "./own-command.js";
import type { Place } from "./place.js";
import { runCommand } from "./run-command.js";
import type { CommandContext, Next } from "./session-commands.js";
import type { SessionControl } from "./session-control.js";
import { createTalkRules } from "./talk-rules.js";
import { asksForTrust } from "./trust-question.js";
import { wrappedNote } from "./view-lines.js";
import { welcome } from "./welcome.js";

export type Talking = {
  readonly agent: Agent;
  readonly permissions: Permissions;
  readonly control: SessionControl;
  readonly chosen: ChosenModel;
  readonly configured: InForce;
  /** Null: the session is new. */
  readonly summary: SessionSummary | null;
  /** The folder in which the session works. */
  readonly root: string;
  readonly hasShell: boolean;
  readonly text: string;
  readonly draft: string | undefined;
  readonly isFirst: boolean;
  /** What the folder brings, is not trusted, and is to be asked about. */
  readonly open: readonly BroughtFile[];
};

/** What ends a talk: the next session, or leaving with an exit code. */
export type End =
  | { readonly type: "next"; readonly next: Extract<Next, { type: "session" }> }
  | { readonly type: "left"; readonly how: Leaving };

/** They ask the process to exit. */
const signals = ["SIGTERM", "SIGHUP"] as const;

export async function talkWith(place: Place, talking: Talking): Promise<End> {
  const { agent, permissions, control, configured, root, draft } = talking;
  const { front, terminal } = place;
  const custom = commandsInForce(configured.trust);
  await sayWelcome(place, talking, custom);
  const own = createOwnCommands(control, root, terminal.redaction);
  const left = new AbortController();
  let end: (how: End) => void = () => {};
  const ended = new Promise<End>((settle) => {
    end = settle;
  });
  const quit = (how: Leaving) => end({ type: "left", how });
  const onSignal = () => quit("leave");
  for (const signal of signals) process.once(signal, onSignal);
  try {
    const commands = createCommands(place, talking, custom, end);
    front.talk({
      control,
      rules: createTalkRules({ agent, permissions, control, columns: front.columns, by: userName() }),
      ...(draft === undefined ? {} : { draft }),
      custom: custom.list,
      command: commands.run,
      runOwn: (commandLine) => void own.run(commandLine),
      // Both are stopped, if there are two.
      stopOwn: () => [commands.stop(), own.stop()].includes(true),
      fileNames: () => fileNames(root, left.signal),
      rings: settingValue(configured.settings, "ui.bell") === "when-waiting",
      quit,
    });
    place.background.tellTo(control, agent);
    begin(place, talking, commands.context, end).catch(control.fail);
    return await ended;
  } finally {
    for (const signal of signals) process.off(signal, onSignal);
    own.stop();
    left.abort();
  }
}

async function sayWelcome(place: Place, talking: Talking, { problems }: CommandsInForce): Promise<void> {
  const { control, chosen, summary, isFirst } = talking;
  const { front, terminal } = place;
  control.say(await welcome(place, chosen, summary, isFirst));
  if (isFirst)
    for (const problem of problems)
      control.say(wrappedNote(visible(terminal.redaction.text(problem)), front.columns(), "yellow"));
}

/** Opens the session, asks about the folder, and sends the first message, if there is one. */
async function begin(place: Place, talking: Talking, context: CommandContext, end: (how: End) => void): Promise<void> {
  const { front, home, terminal } = place;
  const { control, summary, text, open, root } = talking;
  await control.open();
  await tellOfProcesses(control, context, terminal.redaction.text);
  if (open.length > 0 && (await asksForTrust({ open, root, home, control, front, terminal })))
    end({ type: "next", next: { type: "session", sessionId: summary?.sessionId ?? null, isTrusted: true } });
  else if (text !== "") control.send(text);
}

type Commands = {
  readonly context: CommandContext;
  readonly run: Talk["command"];
  /** Stops what a command has under way. @returns whether there was anything */
  readonly stop: () => boolean;
};

/** The commands of the conversation: the lines that begin with a slash. */
function createCommands(place: Place, talking: Talking, custom: CommandsInForce, end: (how: End) => void): Commands {
  const { control, configured } = talking;
  let stopWork: (() => void) | null = null;
  let leading: ReturnType<Talk["command"]> = null;

  function atWork(name: string, stop: () => void): () => void {
    stopWork = stop;
    control.setOwn({ name, since: Date.now() });
    return () => {
      stopWork = null;
      control.setOwn(null);
    };
  }

  function go(next: Next): void {
    if (next.type === "quit") end({ type: "left", how: "rest" });
    else leading = goOn(next);
  }

  /** A model that cannot be used is told here, and the session stays as it is. */
  async function goOn(next: Extract<Next, { type: "session" }>): Promise<"stays" | "leads_on"> {
    try {
      if (next.model !== undefined) await chooseForCommand(next.model, place.options, configured);
      end({ type: "next", next });
      return "leads_on";
    } catch (error) {
      control.fail(error);
      return "stays";
    }
  }

  const quit = () => end({ type: "left", how: control.view.state().runId === null ? "rest" : "leave" });
  const context: CommandContext = { ...contextOf(place, talking), custom, atWork, go, quit };
  return {
    context,
    run(line) {
      leading = null;
      return runCommand(line, context, control)?.then(() => leading ?? "stays") ?? null;
    },
    stop() {
      stopWork?.();
      return stopWork !== null;
    },
  };
}

/** What commands are given of the place and of the session. */
function contextOf(
  { front, store, home, version, options, background, servers, terminal }: Place,
  { agent, permissions, control, chosen, configured, root, hasShell }: Talking,
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
    choices: control.choices,
    mode: control.mode,
    permissions,
    background: background.processes,
    servers: servers.present(),
    async restartServer(name, signal) {
      await servers.restart(name, root, signal);
      return servers.present();
    },
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
