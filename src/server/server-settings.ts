/**
 * The settings of a server: its options, checked and with their defaults.
 */
import type { Report } from "../evals/index.js";
import {
  type Agent,
  createClientCheck,
  createRedaction,
  type Redact,
  type Store,
  type WorkerOptions,
} from "../index.js";
import type { McpTool } from "../protocols/mcp-server/host.js";
import { type A2aSettings, resolveA2a } from "./a2a-options.js";
import { isSecret, minSecretCharacters } from "./keys.js";
import { createLog, type LogLine } from "./log-line.js";
import { resolveMcp } from "./mcp-options.js";
import { checkMetrics, type Metrics } from "./metrics/metrics.js";
import { type OAuthSettings, resolveOAuth } from "./oauth.js";
import { checkOptionNames, createConfigurationError } from "./option-checks.js";
import { checkPeers, type Peers } from "./peers/peer-options.js";
import { type Authenticate, type ChooseParams, createTokenAuthentication, isToken, type May } from "./principal.js";
import { createTraceOf, type TraceOf } from "./request-trace.js";
import type { ServerLimits, ServerOptions } from "./server-options.js";
import { type CanSignal, checkCanSignal, checkWebhooks, type Webhook } from "./signal-options.js";

export type ServerSettings = {
  readonly store: Store;
  readonly agents: readonly Agent[];
  readonly work: boolean;
  readonly authenticate: Authenticate;
  readonly may: May | null;
  readonly chooseParams: ChooseParams | null;
  /** Rejects options that clients may not set. @throws PawlError `bad_input` */
  readonly checkClient: ReturnType<typeof createClientCheck>;
  readonly secret: string | undefined;
  /** Whether the secret was configured, and is not the token. */
  readonly hasSecret: boolean;
  readonly pageAccess: "start" | "secret";
  readonly basePath: string;
  readonly hosts: readonly string[] | undefined;
  readonly origins: readonly string[];
  readonly limits: Required<ServerLimits>;
  readonly redact: Redact;
  readonly heartbeatMs: number;
  readonly log: (line: LogLine) => void;
  readonly peers: Peers | null;
  /** `abortWhenAlone` in milliseconds; null: never. */
  readonly aloneMs: number | null;
  readonly metrics: Metrics | null;
  /** Finds the parent span of a request, as a run option. */
  readonly traceOf: TraceOf;
  readonly ui: boolean;
  readonly evalReports: () => Promise<readonly Report[]>;
  readonly oauth: OAuthSettings | null;
  readonly a2a: A2aSettings | null;
  /** The tools for MCP clients. Null: each agent is one. */
  readonly mcp: readonly McpTool[] | null;
  /** The names of the tools that pages know by type. */
  readonly uiTools: ReadonlySet<string>;
  readonly canSignal: CanSignal | null;
  readonly webhooks: { readonly [path: string]: Webhook };
  /** Options of the server's workers. */
  readonly worker: Pick<WorkerOptions, "notices" | "scores">;
};

const defaultLimits: Required<ServerLimits> = {
  maxBodyBytes: 1024 * 1024,
  maxJsonDepth: 64,
  headersMs: 10_000,
  bodyMs: 30_000,
  streamsPerPrincipal: 20,
  streams: 2_000,
  waitsPerPrincipal: 100,
  waits: 2_000,
  changesPerMinute: 60,
  schedulesPerPrincipal: 1_000,
  runs: 100,
  maxPage: 500,
  maxUnsentBytes: 256 * 1024,
  streamAgeMs: 60 * 60_000,
};

/** Names of other frameworks for these options. */
const otherNames = { prefix: "basePath", path: "basePath", auth: "authenticate", apiKey: "token" };

const optionNames: ReadonlySet<string> = new Set(
  Object.keys({
    store: true,
    agents: true,
    engine: true,
    work: true,
    token: true,
    authenticate: true,
    may: true,
    params: true,
    clientOptions: true,
    basePath: true,
    hosts: true,
    origins: true,
    limits: true,
    secret: true,
    pageAccess: true,
    redact: true,
    heartbeatMs: true,
    log: true,
    peers: true,
    abortWhenAlone: true,
    metrics: true,
    traceparent: true,
    ui: true,
    uiTools: true,
    oauth: true,
    a2a: true,
    evalReports: true,
    canSignal: true,
    webhooks: true,
    notices: true,
    scores: true,
    mcp: true,
  } satisfies { readonly [Name in keyof ServerOptions]-?: true }),
);

/** @throws PawlError `bad_configuration` */
export function resolveSettings(options: ServerOptions): ServerSettings {
  checkOptionNames("createServer()", options, optionNames, otherNames);
  const { engine, limits = {}, basePath = "", heartbeatMs = 15_000 } = options;
  const store = engine?.store ?? options.store;
  const given = engine?.agents ?? options.agents;
  if (store === undefined || given === undefined)
    throw createConfigurationError(
      "createServer() needs a store and agents, or an engine. The list of agents may be empty.",
    );
  if (typeof basePath !== "string" || !/^(?:\/[\w.-]+)*$/.test(basePath))
    throw createConfigurationError("basePath must be a path such as /pawl, without a trailing slash.");
  if (!Number.isFinite(heartbeatMs) || heartbeatMs <= 0)
    throw createConfigurationError("heartbeatMs must be a number of milliseconds greater than 0.");
  if (options.secret !== undefined && !isSecret(options.secret))
    throw createConfigurationError(
      `secret must be a string of at least ${minSecretCharacters} characters. createToken() creates one.`,
    );
  const peers = checkPeers(options.peers);
  const redact = options.redact ?? createRedaction();
  return {
    store,
    agents: given.map((agent) => withPeerAddress(agent, peers)),
    work: options.work ?? true,
    authenticate: checkAuthentication(options),
    may: options.may ?? null,
    chooseParams: checkChooseParams(options.params),
    checkClient: createClientCheck(options.clientOptions ?? []),
    secret: options.secret ?? options.peers?.secret ?? options.token,
    hasSecret: hasSecret(options),
    pageAccess: checkPageAccess(options),
    basePath,
    hosts: options.hosts?.map((host) => host.toLowerCase()),
    origins: options.origins ?? [],
    limits: resolveLimits(limits),
    redact,
    heartbeatMs,
    log: options.log === undefined ? () => {} : createLog(options.log, redact),
    peers,
    aloneMs: resolveAloneMs(options),
    metrics: checkMetrics(options.metrics),
    traceOf: createTraceOf(options.traceparent),
    ui: options.ui ?? false,
    evalReports: options.evalReports ?? (async () => []),
    oauth: options.oauth === undefined ? null : resolveOAuth(options.oauth),
    a2a: options.a2a === undefined ? null : resolveA2a(options.a2a, given),
    mcp: options.mcp === undefined ? null : resolveMcp(options.mcp, given),
    uiTools: collectToolNames(options.uiTools ?? []),
    canSignal: checkCanSignal(options.canSignal),
    webhooks: checkWebhooks(options.webhooks),
    worker: {
      ...(options.notices === undefined ? {} : { notices: options.notices }),
      ...(options.scores === undefined ? {} : { scores: options.scores }),
    },
  };
}

/** @throws PawlError `bad_configuration` */
function resolveLimits(limits: ServerLimits): Required<ServerLimits> {
  checkOptionNames("limits", limits, new Set(Object.keys(defaultLimits)));
  for (const [name, value] of Object.entries(limits))
    if (value !== undefined && (!Number.isSafeInteger(value) || value < 1))
      throw createConfigurationError(`limits.${name} is ${String(value)}, but must be an integer of at least 1.`);
  return { ...defaultLimits, ...limits };
}

/** @throws PawlError `bad_configuration` */
function resolveAloneMs({ abortWhenAlone: seconds }: ServerOptions): number | null {
  if (seconds === undefined) return null;
  if (Number.isFinite(seconds) && seconds > 0 && seconds <= 86_400) return seconds * 1_000;
  throw createConfigurationError(
    "abortWhenAlone must be a number of seconds, greater than 0 and at most 86,400 (a day).",
  );
}

function hasSecret({ secret, peers }: ServerOptions): boolean {
  return secret !== undefined || peers !== undefined;
}

/** @throws PawlError `bad_configuration` */
function checkPageAccess(options: ServerOptions): "start" | "secret" {
  const { pageAccess = hasSecret(options) ? "secret" : "start" } = options;
  if (pageAccess === "start" || pageAccess === "secret") return pageAccess;
  throw createConfigurationError('pageAccess must be "start" or "secret".');
}

/** Returns the agent with the address at which other processes reach this server. */
function withPeerAddress(agent: Agent, peers: Peers | null): Agent {
  const address = peers?.address ?? null;
  return address === null || agent.options.address === address ? agent : agent.with({ address });
}

/** Every server needs authentication, even one that only this machine can reach (SEC-1). */
function checkAuthentication({ token, authenticate }: ServerOptions): Authenticate {
  if (authenticate !== undefined && token !== undefined)
    throw createConfigurationError("createServer() accepts either token or authenticate, not both.");
  if (authenticate !== undefined) return authenticate;
  if (token === undefined)
    throw createConfigurationError(
      "createServer() needs authentication: pass the option authenticate, or a token from createToken().",
    );
  if (!isToken(token))
    throw createConfigurationError(
      "The token must have at least 22 characters, without spaces. createToken() creates one.",
    );
  return createTokenAuthentication(token);
}

function checkChooseParams(params: ServerOptions["params"]): ChooseParams | null {
  if (params === undefined || typeof params === "function") return params ?? null;
  throw createConfigurationError("The option `params` of createServer() must be a function.");
}

/** The names of the tools in the option `uiTools`. @throws PawlError `bad_configuration` */
function collectToolNames(
  tools: readonly { readonly name: string }[] | { readonly [name: string]: object },
): ReadonlySet<string> {
  if (typeof tools !== "object" || tools === null) throw createUiToolsError();
  if (!Array.isArray(tools)) return new Set(Object.keys(tools));
  return new Set(
    tools.map((tool: unknown) => {
      const { name } = Object(tool) as { readonly name?: unknown };
      if (typeof name !== "string") throw createUiToolsError();
      return name;
    }),
  );
}

function createUiToolsError(): Error {
  return createConfigurationError("uiTools must be an array of tools, each with a name, or a record of tools by name.");
}
