/**
 * `pawl worker`: continues the sessions that are due: those of the command line, each with its own folder, model and tools,
 * or those of the agents of a module.
 *
 * In sessions of the command line, the worker has its own permissions (`--yes`, `--allow-shell`). It does not inherit the permissions
 * that a run started with.
 */
import { createServer as createHttpServer } from "node:http";
import type { SessionBinding } from "../../core/index.js";
import {
  type Agent,
  createWorker,
  type Observer,
  PawlError,
  type Store,
  type WorkerOptions,
  type WorkerReport,
} from "../../index.js";
import { createMetrics, createMetricsServer, type LogLine, type MetricsServerOptions } from "../../server/index.js";
import { toAgentChoices } from "../agent/agent-choices.js";
import { agentName } from "../agent/agent-name.js";
import { type ChosenModel, chooseConfiguredModel } from "../agent/choose-model.js";
import { chooseOtherModels, printModelProblems } from "../agent/choose-other-models.js";
import { createFolderAgent, findMissingTools } from "../agent/folder-agent.js";
import { loadAgents } from "../agent/module-agents.js";
import { hashAgentFiles, resolveAgents } from "../child-agents/resolve-agents.js";
import { findAlias } from "../configuration/model-aliases.js";
import { resolveConfiguration } from "../configuration/resolve-configuration.js";
import { exitCodes, formatError } from "../exit.js";
import { openStore } from "../files/session-store.js";
import { resolveHome } from "../files/store-location.js";
import { hashHooks } from "../hooks/resolve-hooks.js";
import { createJsonWorkerView, createTextWorkerView } from "../render/worker-view.js";
import type { DriveOptions } from "../run/drive-session.js";
import { formatLogLine, formatUrl, listen, resolveToken, toHostOptions } from "../server/listen.js";
import { type Interruptions, listenForInterruptions } from "../terminal/interruptions.js";
import type { Terminal } from "../terminal/terminal.js";

export type WorkerCommandOptions = Omit<DriveOptions, "model"> & {
  readonly once?: true;
  readonly concurrency: number;
  /** Absent: metrics are not served. */
  readonly metricsPort?: number;
  /** Default: 127.0.0.1 */
  readonly metricsHost?: string;
  readonly tokenFile?: string;
};

const graceMs = 5_000;

export async function worker(
  module: string | undefined,
  options: WorkerCommandOptions,
  terminal: Terminal,
): Promise<number> {
  checkMetricsOptions(options);
  const interruptions = listenForInterruptions(terminal);
  const view = options.json === true ? createJsonWorkerView(terminal) : createTextWorkerView(terminal);
  const metrics = createMetrics();
  const observers = [view.observer, metrics.observer];
  const { store, agents, scores, notices, close } =
    module === undefined
      ? await loadFolderAgents(options, observers, terminal)
      : await loadAgents(module, options, ...observers);
  const { concurrency } = options;
  const onReport = (report: WorkerReport) => view.report(report, formatReportError(report));
  const more = { ...(scores === undefined ? {} : { scores }), ...(notices === undefined ? {} : { notices }) };
  const runner = createWorker({ store, agents, concurrency, onReport, ...more });
  const shutdownWatch = stopOnSignal(interruptions, () => {
    terminal.err(`Exiting: running tools have ${graceMs / 1_000} s to finish.\n`);
    return runner.stop({ graceMs });
  });
  let closeServer = () => {};
  try {
    if (options.metricsPort !== undefined)
      closeServer = await serveMetrics(
        { store, worker: runner, metrics },
        { ...options, port: options.metricsPort },
        terminal,
      );
    terminal.err(`${terminal.style("dim", formatGreeting(module, agents, options))}\n`);
    await (options.once === true ? runner.runUntilIdle() : runner.run());
    await shutdownWatch.done();
    return exitCodes.done;
  } finally {
    closeServer();
    await close();
  }
}

/** @throws PawlError `bad_input` for options that would do nothing */
function checkMetricsOptions({ metricsPort, metricsHost, tokenFile }: WorkerCommandOptions): void {
  if (metricsPort !== undefined || (metricsHost === undefined && tokenFile === undefined)) return;
  const option = metricsHost === undefined ? "--token-file" : "--metrics-host";
  throw new PawlError("bad_input", `${option} is for the metrics of the worker. Add --metrics-port, or leave it out.`);
}

/**
 * Serves the metrics of the worker to anyone with the token.
 * @returns a function that closes the server
 */
async function serveMetrics(
  metricsOptions: Pick<MetricsServerOptions, "store" | "worker" | "metrics">,
  { port, metricsHost = "127.0.0.1", tokenFile }: WorkerCommandOptions & { readonly port: number },
  terminal: Terminal,
): Promise<() => void> {
  const listenOptions = { port, host: metricsHost, ...(tokenFile === undefined ? {} : { tokenFile }) };
  const { token, isProvided } = resolveToken(listenOptions);
  const log = (line: LogLine) => terminal.err(`${formatLogLine(line)}\n`);
  const server = createMetricsServer({ ...metricsOptions, token, log, ...toHostOptions(listenOptions) });
  const http = createHttpServer(server.httpOptions, server.listener);
  await listen(http, listenOptions);
  const made = isProvided ? "" : ` Token, for this start only: ${token}`;
  terminal.err(`Metrics: ${formatUrl(http, listenOptions)}/metrics.${made}\n`);
  return () => {
    http.closeAllConnections();
    http.close();
  };
}

type WorkerAgents = Pick<WorkerOptions, "store" | "agents" | "scores" | "notices"> & {
  readonly close: () => Promise<void>;
};

async function loadFolderAgents(
  options: WorkerCommandOptions,
  observers: readonly Observer[],
  terminal: Terminal,
): Promise<WorkerAgents> {
  const home = resolveHome(process.env);
  const store = await openStore(home);
  return { store, agents: createAgents({ store, home, observers, options, terminal }), close: () => store.close() };
}

function formatGreeting(
  module: string | undefined,
  agents: WorkerOptions["agents"],
  { once, yes, allowShell }: WorkerCommandOptions,
): string {
  const activity = once === true ? "Continuing sessions that are due" : "Waiting for sessions that are due";
  if (module !== undefined && typeof agents !== "function")
    return `${activity}, of ${agents.map(({ options }) => options.name ?? "agent").join(", ")}.`;
  const allowed = [
    yes === true ? "every tool is allowed" : "calls that need approval wait for it",
    ...(allowShell === true ? ["with a shell"] : []),
  ];
  return `${activity}; ${allowed.join(", ")}.`;
}

function formatReportError(report: WorkerReport): string {
  return "error" in report ? formatError(report.error, false) : "";
}

/** On Ctrl-C or SIGTERM, takes no more sessions, lets running tools finish, and exits. */
function stopOnSignal({ stop, shutdown }: Interruptions, shutDown: () => Promise<void>) {
  let shuttingDown: Promise<void> | null = null;
  const begin = () => {
    shuttingDown ??= shutDown();
    shuttingDown.catch(() => {});
  };
  for (const signal of [stop, shutdown]) {
    signal.addEventListener("abort", begin, { once: true });
    if (signal.aborted) begin();
  }
  return { done: async () => void (await shuttingDown) };
}

type WorkerDeps = {
  readonly store: Store;
  readonly home: string;
  readonly observers: readonly Observer[];
  readonly options: WorkerCommandOptions;
  /** Shows why agents in files are off, once for each folder and model. */
  readonly terminal: Terminal;
};

/** Creates one agent for each folder and model, and a new one when agent files, hook files or their trust change. */
function createAgents({ store, home, observers, options, terminal }: WorkerDeps) {
  const models = new Map<string, Promise<ChosenModel>>();
  const agents = new Map<string, Promise<Agent>>();

  async function createAgentFor(name: string, root: string): Promise<Agent> {
    const configured = resolveConfiguration({ root, home });
    const modelName = name === "" ? configured.model : name;
    // A folder's model aliases apply only in that folder.
    const key = JSON.stringify([modelName, modelName === undefined ? null : findAlias(modelName, configured.models)]);
    const chosen = models.get(key) ?? chooseConfiguredModel(modelName, options, configured);
    models.set(key, chosen);
    // The failure may be temporary, for example a missing key. The next session tries again.
    chosen.catch(() => models.delete(key));
    const { model, timeouts } = await chosen;
    const { agents: childAgents, fallbacks, problems } = await chooseOtherModels(configured, options, model);
    printModelProblems(problems, terminal);
    return createFolderAgent({
      store,
      home,
      model,
      timeouts,
      root,
      ...toAgentChoices(options, { root, home }),
      agents: childAgents,
      fallbacks,
      observers,
    });
  }

  return async ({ agent, model = "", root }: SessionBinding, sessionId: string): Promise<Agent | null> => {
    // The session of a child agent is continued by the agent of the session at the top.
    if (agent !== agentName || root === undefined) return null;
    const configured = resolveConfiguration({ root, home });
    const { allowShell, hooks } = toAgentChoices(options, { root, home }, configured);
    const { list } = resolveAgents(configured.trust);
    await findMissingTools({ store, home, root, allowShell, sessionId, agents: list });
    const key = JSON.stringify([model, root, hashAgentFiles(list), hashHooks(hooks)]);
    const made = agents.get(key) ?? createAgentFor(model, root);
    agents.set(key, made);
    made.catch(() => agents.delete(key));
    return made;
  };
}
