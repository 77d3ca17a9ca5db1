/**
 * `pawl worker`: continues the sessions that are due: those of the command line, each with its own folder, model and tools,
 * or those of the agents of a module.
 *
 * In sessions of the command line, the worker has its own permissions (`--yes`, `--allow-shell`). It does not take over those that a run started with.
 */
import { createServer as createHttpServer } from "node:http";
import {
  type Agent,
  createWorker,
  type Observer,
  PawlError,
  type SessionBinding,
  type Store,
  type WorkerOptions,
  type WorkerReport,
} from "../../index.js";
import { createMetrics, createMetricsServer, type LogLine, type MetricsServerOptions } from "../../server/index.js";
import { type ChosenModel, chooseForCommand } from "../choose-model.js";
import { configurationInForce } from "../configuration/in-force.js";
import { aliasFor } from "../configuration/model-aliases.js";
import type { DriveOptions } from "../drive-session.js";
import { describeError, exitCodes } from "../exit.js";
import { agentName, createFolderAgent, folderChoices, missingTools } from "../folder-agent.js";
import { homeOf, openStore } from "../home.js";
import { type Interruptions, listenForInterruptions } from "../interruptions.js";
import { hostsFor, listen, logText, tokenFor, urlOf } from "../listening.js";
import { agentsOf } from "../module-agents.js";
import type { Terminal } from "../terminal.js";
import { createJsonWorkerView, createTextWorkerView } from "../worker-view.js";

export type WorkerCommandOptions = Omit<DriveOptions, "model"> & {
  readonly once?: true;
  readonly concurrency: number;
  /** Absent: figures are not served. */
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
  const { store, agents, close } =
    module === undefined ? await folderAgents(options, observers) : await agentsOf(module, options, ...observers);
  const { concurrency } = options;
  const onReport = (report: WorkerReport) => view.report(report, textOf(report));
  const working = createWorker({ store, agents, concurrency, onReport });
  const departure = onDeparture(interruptions, () => {
    terminal.err(`Exiting: tools that run have ${graceMs / 1_000} s to finish.\n`);
    return working.stop({ graceMs });
  });
  let closeServer = () => {};
  try {
    if (options.metricsPort !== undefined)
      closeServer = await serveMetrics(
        { store, worker: working, metrics },
        { ...options, port: options.metricsPort },
        terminal,
      );
    terminal.err(`${terminal.style("dim", greeting(module, agents, options))}\n`);
    await (options.once === true ? working.runUntilIdle() : working.run());
    await departure.done();
    return exitCodes.done;
  } finally {
    closeServer();
    await close();
  }
}

/** @throws PawlError `bad_input` for options that would do nothing */
function checkMetricsOptions({ metricsPort, metricsHost, tokenFile }: WorkerCommandOptions): void {
  if (metricsPort !== undefined || (metricsHost === undefined && tokenFile === undefined)) return;
  const given = metricsHost === undefined ? "--token-file" : "--metrics-host";
  throw new PawlError("bad_input", `${given} is for the figures of the worker. Add --metrics-port, or leave it out.`);
}

/**
 * Serves the figures of the worker to anyone with the token.
 * @returns closes the server
 */
async function serveMetrics(
  shown: Pick<MetricsServerOptions, "store" | "worker" | "metrics">,
  { port, metricsHost = "127.0.0.1", tokenFile }: WorkerCommandOptions & { readonly port: number },
  terminal: Terminal,
): Promise<() => void> {
  const listening = { port, host: metricsHost, ...(tokenFile === undefined ? {} : { tokenFile }) };
  const { token, isGiven } = tokenFor(listening);
  const log = (line: LogLine) => terminal.err(`${logText(line)}\n`);
  const server = createMetricsServer({ ...shown, token, log, ...hostsFor(listening) });
  const http = createHttpServer(server.httpOptions, server.listener);
  await listen(http, listening);
  const made = isGiven ? "" : ` Token, for this start only: ${token}`;
  terminal.err(`Metrics: ${urlOf(http, listening)}/metrics.${made}\n`);
  return () => {
    http.closeAllConnections();
    http.close();
  };
}

type WorkersAgents = Pick<WorkerOptions, "store" | "agents"> & { readonly close: () => Promise<void> };

async function folderAgents(options: WorkerCommandOptions, observers: readonly Observer[]): Promise<WorkersAgents> {
  const home = homeOf(process.env);
  const store = await openStore(home);
  return { store, agents: createAgents({ store, home, observers, options }), close: () => store.close() };
}

function greeting(
  module: string | undefined,
  agents: WorkerOptions["agents"],
  { once, yes, allowShell }: WorkerCommandOptions,
): string {
  const what = once === true ? "Continuing sessions that are due" : "Waiting for sessions that are due";
  if (module !== undefined && typeof agents !== "function")
    return `${what}, of ${agents.map(({ options }) => options.name ?? "agent").join(", ")}.`;
  const allowed = [
    yes === true ? "every tool is allowed" : "calls that need approval wait for it",
    ...(allowShell === true ? ["with a shell"] : []),
  ];
  return `${what}; ${allowed.join(", ")}.`;
}

function textOf(report: WorkerReport): string {
  return report.type === "refused" || report.type === "store_failed" ? describeError(report.error, false) : "";
}

/** On Ctrl-C and on SIGTERM: takes no more sessions, lets tools that run finish, and exits. */
function onDeparture({ stop, leave }: Interruptions, depart: () => Promise<void>) {
  let departing: Promise<void> | null = null;
  const begin = () => {
    departing ??= depart();
    departing.catch(() => {});
  };
  for (const signal of [stop, leave]) {
    signal.addEventListener("abort", begin, { once: true });
    if (signal.aborted) begin();
  }
  return { done: async () => void (await departing) };
}

type WorkerDependencies = {
  readonly store: Store;
  readonly home: string;
  readonly observers: readonly Observer[];
  readonly options: WorkerCommandOptions;
};

/** One agent for each folder and model. */
function createAgents({ store, home, observers, options }: WorkerDependencies) {
  const models = new Map<string, Promise<ChosenModel>>();
  const agents = new Map<string, Promise<Agent>>();

  async function make(name: string, root: string): Promise<Agent> {
    const configured = configurationInForce({ root, home });
    const named = name === "" ? configured.model : name;
    // The names of a folder count there alone.
    const key = JSON.stringify([named, named === undefined ? null : aliasFor(named, configured.models)]);
    const chosen = models.get(key) ?? chooseForCommand(named, options, configured);
    models.set(key, chosen);
    // The failure may pass, for example a missing key. The next session tries again.
    chosen.catch(() => models.delete(key));
    const { model, timeouts } = await chosen;
    return createFolderAgent({
      store,
      home,
      model,
      timeouts,
      root,
      ...folderChoices(options, { root, home }),
      observers,
    });
  }

  return async ({ agent, model = "", root }: SessionBinding, sessionId: string): Promise<Agent | null> => {
    if (agent !== agentName || root === undefined) return null;
    const { allowShell } = folderChoices(options, { root, home });
    await missingTools({ store, home, root, allowShell, sessionId });
    const key = JSON.stringify([model, root]);
    const made = agents.get(key) ?? make(model, root);
    agents.set(key, made);
    made.catch(() => agents.delete(key));
    return made;
  };
}
