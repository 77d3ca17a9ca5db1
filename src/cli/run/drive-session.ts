/**
 * Drives a session for `run`, `resume` and `fork --input`: opens the store, chooses the model, creates the agent and
 * shows the run.
 */
import {
  type Agent,
  type Model,
  PawlError,
  type RunResult,
  type Session,
  type StartOptions,
  type Store,
} from "../../index.js";
import type { CommandSandbox } from "../../tools/index.js";
import { type FolderAgentFlags, toAgentChoices } from "../agent/agent-choices.js";
import type { ComposeOptions } from "../agent/attachments.js";
import { type ChosenModel, chooseConfiguredModel, hasPrice } from "../agent/choose-model.js";
import { chooseOtherModels, printModelProblems } from "../agent/choose-other-models.js";
import { openCommandSandbox, whyNotSandboxed } from "../agent/command-sandbox.js";
import { createFolderAgent } from "../agent/folder-agent.js";
import { findResourceMentions, type MentionedResources, readMentionedResources } from "../agent/server-resources.js";
import { type ResolvedConfiguration, resolveConfiguration } from "../configuration/resolve-configuration.js";
import { exitCodes } from "../exit.js";
import { resolveFolder } from "../files/resolve-folder.js";
import { type OpenedStore, openStore, openStoreOrMemory, shortId } from "../files/session-store.js";
import { resolveHome } from "../files/store-location.js";
import { runSessionEndHooks } from "../hooks/session-end.js";
import { formatServersToStart, type ResolvedServer, resolveServers } from "../mcp/resolve-servers.js";
import { formatServerNotes, type StartedServers, startServers } from "../mcp/start-servers.js";
import type { Permissions } from "../permissions/permissions.js";
import { isPlanning } from "../permissions/plan-mode.js";
import { listOptionNotes } from "../permissions/rule-note.js";
import { loadSessionData } from "../permissions/save-rule.js";
import { formatModel } from "../render/format-model.js";
import { listenForInterruptions } from "../terminal/interruptions.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize, wrapWords } from "../terminal/text.js";
import { runOnTerminal } from "./run-on-terminal.js";
import { createJsonRunView, createTextRunView, redactRunView } from "./run-view.js";

export type DriveOptions = FolderAgentFlags & {
  readonly model?: string;
  /** How long to wait for the start of the model's response; milliseconds. */
  readonly timeout?: number;
  readonly json?: true;
};

/** Limits and behavior of a new run. */
export type NewRunOptions = {
  readonly maxSteps?: number;
  readonly maxTokens?: number;
  /** US dollars. */
  readonly maxCost?: number;
  /** Milliseconds. */
  readonly maxWallClock?: number;
  /** Without a person to ask, calls wait for an answer instead of being denied. */
  readonly park?: true;
};

export function toStartOptions(options: NewRunOptions, canAsk: boolean): StartOptions {
  const { maxSteps, maxTokens, maxCost, maxWallClock, park } = options;
  return {
    limits: {
      ...(maxSteps === undefined ? {} : { maxSteps }),
      ...(maxTokens === undefined ? {} : { maxTokens }),
      ...(maxCost === undefined ? {} : { maxCostUsd: maxCost }),
      ...(maxWallClock === undefined ? {} : { maxWallClockMs: maxWallClock }),
    },
    ...(canAsk || park === true ? {} : { interactive: false }),
  };
}

export type DriveTarget = {
  readonly sessionId: string;
  readonly root: string;
  /** The last entry that is not to be shown. */
  readonly after: number;
  /** The session's model so far. `--model` overrides it; without either, the environment decides. */
  readonly lastModel?: string;
  /** Whether the answer must match a schema. Default false. */
  readonly wantsData?: boolean;
  /** The text whose mentions of resources are read before the run starts. Default: none. */
  readonly named?: string;
};

export type SessionDriver = {
  readonly store: Store;
  /** Shows the run that `start` starts or resumes. @returns the exit code */
  readonly drive: (target: DriveTarget, start: StartRun) => Promise<number>;
};

/** The checks of the files that a message mentions, and the resources that it mentions. */
type Mentions = Pick<ComposeOptions, "mayReach" | "whyRefused" | "resources">;

export type StartRun = (agent: Agent, canAsk: boolean, session: Session, mentions: Mentions) => Promise<RunResult>;

type StoreNeeds = {
  /** False if the session may be lost at the end of the process when Node has no SQLite. Default true. */
  readonly needsDurableStore?: boolean;
  /** Whether a store file that was named is created if it does not exist. Default false. */
  readonly creates?: boolean;
};

export async function withSessionDriver(
  options: DriveOptions & Pick<NewRunOptions, "maxCost">,
  terminal: Terminal,
  work: (driver: SessionDriver) => Promise<number>,
  { needsDurableStore = true, creates = false }: StoreNeeds = {},
): Promise<number> {
  const interruptions = listenForInterruptions(terminal);
  const home = resolveHome(process.env);
  const cleanups: (() => Promise<void>)[] = [];
  const { store, loss }: OpenedStore = needsDurableStore
    ? { store: await openStore(home, { creates }), loss: null }
    : await openStoreOrMemory(home);
  try {
    return await work({
      store,
      async drive({ sessionId, root, after, lastModel, wantsData = false, named = "" }, start) {
        const folders = { root: resolveFolder(root), home };
        const configured = resolveConfiguration(folders);
        const { warning } = configured;
        if (warning !== null) terminal.err(`${terminal.style("yellow", sanitize(warning))}\n`);
        const servers = await startAndReportServers(resolveServers(folders, configured.trust), folders.root, terminal);
        cleanups.push(servers.close);
        const { agent, chosen, choices } = await createRunAgent(
          { store, root, folders, configured, servers, lastModel },
          options,
          terminal,
        );
        const canAsk = terminal.isInteractive && options.json !== true;
        const view =
          options.json === true
            ? createJsonRunView(terminal)
            : createTextRunView(terminal, { canAsk, isStored: loss === null, wantsData });
        await printIntroduction(
          { agent, sessionId, root, folders, choices, canAsk, loss, isYes: options.yes === true },
          terminal,
        );
        const resources = await readMentions(named, servers, interruptions.stop);
        if (interruptions.stop.aborted) return exitCodes.aborted;
        if (interruptions.shutdown.aborted) return exitCodes.interrupted;
        cleanups.push(async () => {
          const ended = { store, root: folders.root, sessionId, reason: "other" } as const;
          for (const failure of await runSessionEndHooks(choices.hooks, ended))
            terminal.err(`${terminal.style("yellow", sanitize(terminal.redaction.text(failure)))}\n`);
        });
        return runOnTerminal(
          {
            agent,
            sessionId,
            store,
            view: redactRunView(view, terminal.redaction),
            terminal,
            permissions: choices.permissions,
            interruptions,
            canAsk,
          },
          after,
          (session) => start(agent, canAsk, session, { ...toFileChecks(choices.permissions, chosen.model), resources }),
        );
      },
    });
  } finally {
    for (const close of cleanups) await close();
    await store.close();
  }
}

type RunAgentDeps = {
  readonly store: Store;
  readonly root: string;
  readonly folders: { readonly root: string; readonly home: string };
  readonly configured: ResolvedConfiguration;
  readonly servers: StartedServers;
  readonly lastModel: string | undefined;
};

/** Chooses the models, reports the choice, and creates the agent of the folder. */
async function createRunAgent(
  { store, root, folders, configured, servers, lastModel }: RunAgentDeps,
  options: DriveOptions & Pick<NewRunOptions, "maxCost">,
  terminal: Terminal,
) {
  const chosen = await chooseAndReportModel(options, { last: lastModel, configured }, terminal);
  if (options.maxCost !== undefined && !hasPrice(chosen.model)) throw createUnknownPriceError(chosen.model);
  const limited = limitCost(configured, options);
  const { agents, fallbacks, problems } = await chooseOtherModels(limited, options, chosen.model);
  printModelProblems(problems, terminal);
  const choices = toAgentChoices(options, folders, configured);
  const agent = createFolderAgent({
    store,
    home: folders.home,
    model: chosen.model,
    timeouts: chosen.timeouts,
    root,
    ...choices,
    servers,
    agents,
    fallbacks,
    onContextFiles: (paths) => terminal.err(`${terminal.style("dim", `Using ${paths.map(sanitize).join(", ")}`)}\n`),
  });
  return { agent, chosen, choices };
}

type Introduction = {
  readonly agent: Agent;
  readonly sessionId: string;
  readonly root: string;
  readonly folders: { readonly root: string; readonly home: string };
  readonly choices: ReturnType<typeof toAgentChoices>;
  readonly canAsk: boolean;
  /** Why the session may be lost at the end of the process; null if it is stored. */
  readonly loss: string | null;
  /** Whether calls run without a question, because of `--yes`. */
  readonly isYes: boolean;
};

/** Prints what a person should know before the run: the session, how to steer it, the sandbox, and plan mode. */
async function printIntroduction(
  { agent, sessionId, root, folders, choices, canAsk, loss, isYes }: Introduction,
  terminal: Terminal,
): Promise<void> {
  const print = (color: "dim" | "yellow", text: string) => terminal.err(`${terminal.style(color, text)}\n`);
  if (loss !== null) print("yellow", sanitize(loss));
  print("dim", `Session ${sanitize(shortId(sessionId))} in ${sanitize(root)}`);
  if (canAsk) print("dim", "Type a message to steer the run. Ctrl-C ends it.");
  if (choices.allowShell) {
    const { sandbox: settings } = choices.settings;
    const sandbox = openCommandSandbox(folders, settings, choices.permissions);
    print("yellow", sanitize(formatSandboxNote(sandbox, isYes ? null : settings.ask)));
  }
  for (const note of listOptionNotes(choices.permissions.rules())) print("yellow", note);
  const data = await loadSessionData(agent.session(sessionId));
  if (data !== null && isPlanning({ sessionId, data })) print("yellow", formatPlanModeNote(sessionId));
}

/** Reads the resources of MCP servers that the text mentions. After an interruption, there are none. */
async function readMentions(text: string, servers: StartedServers, stop: AbortSignal): Promise<MentionedResources> {
  try {
    return await readMentionedResources(findResourceMentions(text, servers), stop);
  } catch (error) {
    if (!stop.aborted) throw error;
    return new Map();
  }
}

/** The limit of `--max-cost` also decides which models can be used. */
function limitCost(
  configured: ResolvedConfiguration,
  { maxCost }: Pick<NewRunOptions, "maxCost">,
): ResolvedConfiguration {
  return maxCost === undefined ? configured : { ...configured, limits: { ...configured.limits, maxCostUsd: maxCost } };
}

function createUnknownPriceError({ id }: Model): PawlError {
  return new PawlError(
    "bad_configuration",
    `--max-cost needs a model whose price is known, and that of ${id} is not. Limit the run with --max-tokens instead.`,
  );
}

function toFileChecks(
  { mayReach }: Permissions,
  { whyRefused }: Model,
): Pick<ComposeOptions, "mayReach" | "whyRefused"> {
  return { mayReach, ...(whyRefused === undefined ? {} : { whyRefused }) };
}

async function chooseAndReportModel(
  options: DriveOptions,
  { last, configured }: { readonly last: string | undefined; readonly configured: ResolvedConfiguration },
  terminal: Terminal,
): Promise<ChosenModel> {
  const chosen = await chooseConfiguredModel(options.model ?? last ?? configured.model, options, configured);
  const isAsBefore = options.model === undefined && last !== undefined;
  const note = isAsBefore ? `Using ${formatModel(last)}, as before.` : chosen.why;
  const shown = sanitize(terminal.redaction.text(note));
  // A reader of standard error that is not a terminal gets each message on one line.
  const lines = terminal.isInteractive ? wrapWords(shown, terminal.columns()) : [shown];
  for (const line of lines) terminal.err(`${terminal.style("dim", line)}\n`);
  return chosen;
}

/** The mode was chosen in a conversation, and can only be changed there. */
function formatPlanModeNote(sessionId: string): string {
  return `This session is in plan mode: nothing in the folder changes until you accept a plan. /mode ask ends it: pawl --session ${sanitize(shortId(sessionId))}`;
}

/** @param ask which commands ask; null if none does, because of `--yes` */
function formatSandboxNote(sandbox: CommandSandbox, ask: "always" | "outside" | null): string {
  const why = whyNotSandboxed(sandbox);
  if (why !== null) return why;
  const { hosts } = sandbox;
  const reached = hosts.length === 0 ? "no hosts" : hosts.join(", ");
  const unasked = ask === "always" ? 'The setting shell.ask: "outside" lets them run unasked.' : "They run unasked.";
  return `Commands are sandboxed: they see this folder and not your home, and reach ${reached}. ${unasked}`;
}

/** Starts MCP servers, shows their names meanwhile, and reports problems. */
async function startAndReportServers(
  servers: readonly ResolvedServer[],
  root: string,
  terminal: Terminal,
): Promise<StartedServers> {
  const names = formatServersToStart(servers);
  if (names !== "") terminal.status(`… starting ${names}`);
  const started = await startServers(servers, root);
  terminal.status(null);
  for (const note of formatServerNotes(started))
    terminal.err(`${terminal.style("yellow", sanitize(terminal.redaction.text(note)))}\n`);
  return started;
}
