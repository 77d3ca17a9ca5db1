/**
 * `pawl serve`: the sessions of the command line, or the agents of a module, over HTTP.
 *
 * A server always has a token, even on this machine alone (SEC-1). Each start creates one, unless a file or the environment
 * provides it. An address other than this machine's own requires a provided token.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { join } from "node:path";
import { type ClientOption, type Observer, PawlError } from "../../index.js";
import {
  createMetrics,
  createServer,
  createToken,
  type LogLine,
  type Server,
  type ServerOptions,
} from "../../server/index.js";
import { toAgentChoices } from "../agent/agent-choices.js";
import { chooseConfiguredModel } from "../agent/choose-model.js";
import { chooseOtherModels, printModelProblems } from "../agent/choose-other-models.js";
import { createFolderAgent } from "../agent/folder-agent.js";
import { loadAgents, type ServedAgents } from "../agent/module-agents.js";
import { resolveConfiguration } from "../configuration/resolve-configuration.js";
import { exitCodes } from "../exit.js";
import { readEvalReports } from "../files/eval-reports.js";
import { resolveFolder } from "../files/resolve-folder.js";
import { openStore } from "../files/session-store.js";
import { resolveHome } from "../files/store-location.js";
import type { DriveOptions } from "../run/drive-session.js";
import {
  formatLogLine,
  formatUrl,
  type ListenOptions,
  listen,
  readSecret,
  resolveToken,
  toHostOptions,
} from "../server/listen.js";
import { deriveProofKey, recordServer } from "../server/running-server.js";
import { listenForInterruptions } from "../terminal/interruptions.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize } from "../terminal/text.js";

export type ServeOptions = DriveOptions &
  ListenOptions & {
    /** Set to false by `--no-work`. */
    readonly work?: boolean;
    /** Set to false by `--no-ui`. */
    readonly ui?: boolean;
    readonly root?: string;
    readonly peers?: readonly string[];
    readonly clientOptions?: readonly string[];
    readonly peerAddress?: string;
    readonly peerSecretFile?: string;
  };

const graceMs = 5_000;

/** The maximum number of open sockets: the default limit of streams, and as many other requests. */
const maxConnections = 4_000;

/** @param onPage receives the link of the inspector; then neither the link nor the token is printed */
export async function serve(
  module: string | undefined,
  options: ServeOptions,
  terminal: Terminal,
  onPage?: (link: string) => void,
): Promise<number> {
  const interruptions = listenForInterruptions(terminal);
  const { token, isProvided } = resolveToken(options);
  const metrics = createMetrics();
  const served = await loadServedAgents(module, options, terminal, metrics.observer);
  const log = (line: LogLine) => terminal.err(`${formatLogLine(line)}\n`);
  // Processes on other machines share the secret of the peers, but not this home folder.
  const peers = toPeerOptions(options);
  const secret = peers.peers?.secret ?? loadServerSecret(resolveHome(process.env));
  const ui = options.ui !== false && options.socket === undefined;
  const serverOptions = {
    work: options.work !== false,
    token,
    log,
    metrics,
    ui,
    evalReports: async () => readEvalReports(resolveHome(process.env)),
    // `createServer` refuses unknown names.
    clientOptions: (options.clientOptions ?? []) as readonly ClientOption[],
    secret,
    // Without peers, a page has access only until this server ends: afterwards any local user may listen on the same port.
    ...(peers.peers === undefined ? { pageAccess: "start" as const } : {}),
    ...toHostOptions(options),
    ...peers,
  };
  const { close: _, ...exported } = served;
  const server = createServer({ ...exported, ...serverOptions });
  const http = createHttpServer(server.httpOptions, server.listener);
  http.maxConnections = maxConnections;
  let removeServerFile = () => {};
  try {
    await listen(http, options);
    const url = formatUrl(http, options);
    const link = ui ? `${url}/#start=${server.createStartCode()}` : null;
    // Only a server of the command line's own sessions is recorded.
    if (ui && module === undefined && !isProvided)
      removeServerFile = recordServer(resolveHome(process.env), process.env.PAWL_STORE, {
        url,
        token,
        proofKey: deriveProofKey(secret),
      });
    // The link is printed after the server is recorded, because its reader may run `pawl ui` at once.
    if (onPage === undefined || link === null)
      terminal.err(formatGreeting(url, server, link, isProvided ? null : token));
    else onPage(link);
    await waitForSignal(interruptions.stop, interruptions.shutdown);
    removeServerFile();
    // A second signal exits at once. No run is lost: it is due for another process.
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
      process.once(signal, () => process.exit(exitCodes.interrupted));
    terminal.err(`Exiting: running work has ${graceMs / 1_000} s to settle.\n`);
    await server.close({ graceMs });
    return exitCodes.done;
  } finally {
    removeServerFile();
    http.closeAllConnections();
    http.close();
    if (options.socket !== undefined) rmSync(options.socket, { force: true });
    await served.close();
  }
}

/** The secret is stored in the home folder, readable only by its owner, so that the next server accepts what this one signed. */
function loadServerSecret(home: string): string {
  const file = join(home, "server-secret");
  mkdirSync(home, { recursive: true, mode: 0o700 });
  try {
    writeFileSync(file, `${createToken()}\n`, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return readFileSync(file, "utf8").trim();
}

/** @throws PawlError `bad_configuration` */
function toPeerOptions({ peers, peerAddress, peerSecretFile }: ServeOptions): Pick<ServerOptions, "peers"> {
  if (peerSecretFile === undefined) {
    if (peers === undefined && peerAddress === undefined) return {};
    throw new PawlError(
      "bad_configuration",
      "--peers and --peer-address need the secret that all processes share: --peer-secret-file.",
    );
  }
  const secret = readSecret("--peer-secret-file", peerSecretFile);
  return { peers: { secret, allow: peers ?? [], ...(peerAddress === undefined ? {} : { address: peerAddress }) } };
}

async function loadServedAgents(
  module: string | undefined,
  options: ServeOptions,
  terminal: Terminal,
  observer: Observer,
): Promise<ServedAgents> {
  return module === undefined
    ? createServedFolderAgent(options, terminal, observer)
    : loadAgents(module, options, observer);
}

async function createServedFolderAgent(
  options: ServeOptions,
  terminal: Terminal,
  observer: Observer,
): Promise<ServedAgents> {
  const home = resolveHome(process.env);
  const store = await openStore(home, { creates: true });
  try {
    const root = resolveFolder(options.root ?? ".");
    const configured = resolveConfiguration({ root, home });
    if (configured.warning !== null) terminal.err(`${terminal.style("yellow", sanitize(configured.warning))}\n`);
    const { model, timeouts, why } = await chooseConfiguredModel(
      options.model ?? configured.model,
      options,
      configured,
    );
    terminal.err(`${terminal.style("dim", `Model: ${model.id} (${why})`)}\n`);
    const { agents, fallbacks, problems } = await chooseOtherModels(configured, options, model);
    printModelProblems(problems, terminal);
    const agent = createFolderAgent({
      store,
      home,
      model,
      timeouts,
      root,
      observers: [observer],
      agents,
      fallbacks,
      ...toAgentChoices(options, { root, home }, configured),
    });
    return { store, agents: [agent], close: () => store.close() };
  } catch (error) {
    await store.close();
    throw error;
  }
}

function formatGreeting(url: string, { agents }: Server, link: string | null, token: string | null): string {
  const runsNote =
    agents.length === 0 ? "Runs are executed elsewhere." : `Runs of ${agents.join(", ")} are executed here.`;
  const tokenNote = token === null ? "" : `Token, for this start only: ${token}\n`;
  const pageNote = link === null ? "" : `Inspector, a link for one browser within 10 minutes: ${link}\n`;
  return `Pawl listens on ${url}\n${tokenNote}${pageNote}${runsNote}\n`;
}

function waitForSignal(...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((done) => {
    for (const signal of signals) {
      signal.addEventListener("abort", () => done(), { once: true });
      if (signal.aborted) done();
    }
  });
}
