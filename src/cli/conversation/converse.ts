/**
 * The conversation: opens the store, chooses the model, and lets a person talk with one session after another.
 */
import { randomUUID } from "node:crypto";
import { stdin, stdout } from "node:process";
import { PawlError, type SessionSummary } from "../../index.js";
import { type ChosenModel, chooseForCommand } from "../choose-model.js";
import { agentSettings } from "../configuration/agent-settings.js";
import { configurationInForce, type InForce, type SettingInForce, settingValue } from "../configuration/in-force.js";
import { realFolder } from "../drive-session.js";
import { exitCodes } from "../exit.js";
import { agentName, createFolderAgent, folderChoices } from "../folder-agent.js";
import { getSession, homeOf, openStoreOrMemory, shortId } from "../home.js";
import { serverNotes } from "../mcp/start-servers.js";
import { hasLiveScreen } from "../opens-conversation.js";
import { type Line, lineOf } from "../screen/line.js";
import { openPrompt } from "../screen/prompt.js";
import type { Terminal } from "../terminal.js";
import { visible } from "../text.js";
import { createStyleText, type Theme } from "../text-style.js";
import { untrustedFiles } from "../trust/trust.js";
import { userName } from "../user-name.js";
import { openBackground } from "./background-processes.js";
import type { Front, Leaving } from "./front.js";
import { createLiveFront } from "./live-front.js";
import { retry } from "./mcp-command.js";
import type { ConversationOptions, Place } from "./place.js";
import { createPlainFront } from "./plain-front.js";
import { createPresentServers } from "./present-servers.js";
import { createSessionControl, type SessionControl } from "./session-control.js";
import { type Talking, talkWith } from "./talk-with.js";
import { wrappedNote } from "./view-lines.js";

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
  front.wait("starting…");
  process.prependOnceListener("uncaughtException", front.close);
  try {
    const { store, loss } = await openStoreOrMemory(home);
    try {
      const background = openBackground(terminal.redaction.text);
      const servers = createPresentServers(home, (names, skip) => front.wait(`starting ${names}…`, skip));
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
    const at = { root, configured, hasShell: hasShell(options, configured) };
    const made = agentFor(place, chosen, at, (lines) => control.say(lines));
    const control: SessionControl = createSessionControl({
      agent: made.agent,
      store,
      sessionId,
      root,
      mayReach: made.permissions.mayReach,
      ...(chosen.model.whyRefused === undefined ? {} : { whyRefused: chosen.model.whyRefused }),
      redaction: place.terminal.redaction,
      by: userName(),
      columns: front.columns,
      onChange: front.changed,
    });
    const open = mayAsk ? untrustedFiles(configured.trust) : [];
    mayAsk = false;
    if (configured.notice !== null && open.length === 0)
      control.say(wrappedNote(visible(configured.notice), front.columns(), "yellow"));
    for (const note of serverNotes(place.servers.present(), retry))
      control.say(wrappedNote(visible(place.terminal.redaction.text(note)), front.columns(), "yellow"));
    const end = await talkWith(place, { ...made, ...at, control, chosen, summary, text, draft, isFirst, open });
    if (end.type === "left") return leave(place, control, end.how);
    front.wait("opening…");
    await control.close(0);
    summary = end.next.sessionId === null ? null : await store.describe(end.next.sessionId);
    named = end.next.model ?? named;
    // What was trusted counts from the beginning, so the talk begins anew, with the same first message.
    [text, draft] = [end.next.isTrusted === true ? text : "", end.next.draft];
  }
}

function agentFor(
  { store, home, options, background, servers }: Place,
  { model, timeouts }: ChosenModel,
  { root, configured, hasShell }: Pick<Talking, "root" | "configured" | "hasShell">,
  say: (lines: readonly Line[]) => void,
): Pick<Talking, "agent" | "permissions"> {
  const choices = folderChoices(options, { root, home }, configured);
  const agent = createFolderAgent({
    store,
    home,
    model,
    timeouts,
    root,
    ...choices,
    allowShell: hasShell,
    background: background.processes,
    servers: servers.present(),
    // A person reads between two turns, for longer than a cache of 5 minutes lasts.
    promptCache: "1h",
    onContextFiles: (paths) => say([lineOf(`Goes by ${paths.join(", ")}`, "dim")]),
  });
  return { agent, permissions: choices.permissions };
}

/** A person is there and asked about each command. With `--yes` nobody is asked, so the shell has to be allowed. */
function hasShell({ yes, allowShell }: ConversationOptions, configured: InForce): boolean {
  return allowShell ?? agentSettings(configured).shellIsOn ?? yes !== true;
}

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
