/**
 * The options of a server: types, defaults and validation.
 */
import type { Report, WorkerScores } from "../evals/index.js";
import {
  type Agent,
  type ClientOption,
  createClientCheck,
  createRedaction,
  type Engine,
  type Redact,
  type Store,
  type WorkerOptions,
} from "../index.js";
import type { WorkerNotices } from "../notices/index.js";
import type { McpTool } from "../protocols/mcp-server/host.js";
import { type A2aOptions, type A2aSettings, resolveA2a } from "./a2a-options.js";
import { isSecret, minSecretCharacters } from "./keys.js";
import { createLog, type LogLine } from "./log-line.js";
import { type McpOptions, resolveMcp } from "./mcp-options.js";
import { checkMetrics, type Metrics } from "./metrics/metrics.js";
import { type OAuthOptions, type OAuthSettings, resolveOAuth } from "./oauth.js";
import { checkOptionNames, createConfigurationError } from "./option-checks.js";
import { checkPeers, type PeerOptions, type Peers } from "./peers/peer-options.js";
import { type Authenticate, type ChooseParams, createTokenAuthentication, isToken, type May } from "./principal.js";
import { createTraceOf, type TraceOf } from "./request-trace.js";
import { type CanSignal, checkCanSignal, checkWebhooks, type Webhook } from "./signal-options.js";
import { collectToolNames } from "./ui-tools.js";

/** Limits of a server. */
export type ServerLimits = {
  /** The maximum size of a request's body, in bytes. Default: 1 MiB. */
  readonly maxBodyBytes?: number;
  /** The maximum nesting depth of a body. Default: 64. */
  readonly maxJsonDepth?: number;
  /**
   * How long a request's headers may take to arrive, in milliseconds. Your own `http.Server` applies this limit if you pass it
   * `httpOptions`. Default: 10 seconds.
   */
  readonly headersMs?: number;
  /**
   * How long a request's body may take to arrive, and how long a client may take to read a response that is not a stream, in
   * milliseconds. A large response gets one more second for each 64 kB. Default: 30 seconds.
   */
  readonly bodyMs?: number;
  /** The maximum number of open streams of one principal. Default: 20. */
  readonly streamsPerPrincipal?: number;
  /** The maximum number of open streams in this process. Default: 2,000. */
  readonly streams?: number;
  /** The maximum number of requests of one principal that wait for a result (`?wait=`). Default: 100. */
  readonly waitsPerPrincipal?: number;
  /** The maximum number of requests in this process that wait for a result. Default: 2,000. */
  readonly waits?: number;
  /** The maximum number of changing requests of a principal per minute; each message of an MCP batch counts. Default: 60. */
  readonly changesPerMinute?: number;
  /** The maximum number of schedules of one principal. Beyond it, requests get `schedule_full`. Default: 1,000. */
  readonly schedulesPerPrincipal?: number;
  /** The maximum number of runs that this process drives at a time. Others wait. Default: 100. */
  readonly runs?: number;
  /** The maximum number of items on a page. Default: 500. */
  readonly maxPage?: number;
  /** The maximum number of unsent bytes of a stream. Beyond it, the stream ends. Default: 256 KiB. */
  readonly maxUnsentBytes?: number;
  /** How long a stream may be open, in milliseconds. Default: 60 minutes. */
  readonly streamAgeMs?: number;
};

type CommonOptions = {
  /**
   * Whether this process drives the runs of its agents. Set this to false where processes are short-lived. Default: true.
   */
  readonly work?: boolean;
  /** A bearer token with all scopes, of at least 22 characters. `createToken()` creates one. */
  readonly token?: string;
  /** Identifies the sender of a request, or returns null if the sender is unknown. Used instead of `token`. */
  readonly authenticate?: Authenticate;
  /**
   * Decides whether a principal may perform an action, in a session or without one. The principal's scopes have been checked before.
   * Called for each request, for each item of a list, and repeatedly during a stream. Default: a session may be used by the
   * principal that began it, and by principals with the scope `admin`.
   */
  readonly may?: May;
  /**
   * Returns the `params` of each run that a request starts (REST, chat, AG-UI, MCP or A2A), for example the principal's tenant. They
   * replace the params that a client may set by `clientOptions`; `undefined` sets none. Default: sets none.
   */
  readonly params?: ChooseParams;
  /**
   * The run options that clients may set in `POST /v1/sessions` and `POST /v1/sessions/:id/runs`, for example
   * `["model", "settings.reasoning"]`. Each of them overrides the choice of the agent's author: with `systemPrompt`, a client can
   * make the agent do anything. Other options are rejected with `bad_input`. `may` receives the allowed ones. Default: none.
   */
  readonly clientOptions?: readonly ClientOption[];
  /**
   * Signs the state that clients send back: at least 32 characters, the same in all processes and after a restart. Default: the secret
   * of `peers`, or else the token. Without either, page cookies and open MCP calls do not outlive the process.
   */
  readonly secret?: string;
  /**
   * How long the access of a page from a start link lasts, at most 8 hours. `start`: until this server ends. `secret`: on every server
   * with the same secret, also after a restart. On a machine with several users, any of them may listen on the port of a server that
   * has ended, so use `secret` only behind your own proxy. Default: `secret` if `secret` or `peers` is set, otherwise `start`.
   */
  readonly pageAccess?: "start" | "secret";
  /**
   * The path under which clients reach the server, for example `/pawl`. Requests may arrive with or without it, because some
   * frameworks strip it. Required where they do not (`app.all`, Next.js, `node:http`), and for the addresses in the inspector and the
   * OpenAPI document. Default: none.
   */
  readonly basePath?: string;
  /**
   * Returns the latest report of each eval, for the Evals page of the inspector. The logs of their trials must be in the server's
   * store: pass it as `store` to `evaluate`. Default: no reports.
   */
  readonly evalReports?: () => Promise<readonly Report[]>;
  /**
   * Decides whether a principal with the scope `signal` may send a signal by `POST /v1/signals/:key`. Default: the server accepts no
   * signals from clients.
   */
  readonly canSignal?: CanSignal;
  /**
   * Webhooks whose deliveries become signals, by path, for example `/hooks/stripe`. They need no token: `verify` decides whether a
   * request is genuine. Mount the server before code that parses bodies. Default: none.
   */
  readonly webhooks?: { readonly [path: string]: Webhook };
  /**
   * Notifies other systems, and browsers, when a run waits for a person or has ended, or a schedule has missed times; created by
   * `createNotices` of `pawl/notices`. With `work: false` or without agents, notices are written, but only ticks and workers with the
   * same destinations deliver them. Default: none.
   */
  readonly notices?: WorkerNotices;
  /** Judges ended sessions; created by `createScores` of `pawl/evals`. Default: sessions are not judged. */
  readonly scores?: WorkerScores;
  /** The accepted values of the `Host` header. Default: the loopback names of this machine. */
  readonly hosts?: readonly string[];
  /** Other origins whose pages may send requests, for example `https://chat.example.org`. Default: only this server's own origin. */
  readonly origins?: readonly string[];
  readonly limits?: ServerLimits;
  /** Masks secrets in everything that is shown, except in calls that wait for approval. Default: keys of known shapes. */
  readonly redact?: Redact;
  /** How long a stream may be silent before it gets a comment, in milliseconds. Default: 15,000. */
  readonly heartbeatMs?: number;
  /**
   * Called for each request that changes something, and for each failure. If it throws, that becomes a process warning (`PAWL_LOG`),
   * and the request goes on. Default: nothing is logged.
   */
  readonly log?: (line: LogLine) => void;
  /**
   * The other processes of this server, which share its store. With this option, streams of this process include the deltas of
   * sessions that another process holds. The server uses copies of agents that do not have the address `peers.address`.
   */
  readonly peers?: PeerOptions;
  /**
   * Aborts a run that a chat request (`/v1/chat`, `/v1/agui`) began when its session has had no open stream for this many seconds: for
   * pages that only disconnect (`stop()`). A run that waits for a person is not aborted. Default: never.
   */
  readonly abortWhenAlone?: number;
  /**
   * The metrics of the agents for `GET /metrics`, created by `createMetrics()`; its observer must be among the agents' observers.
   * Default: `/metrics` has only the metrics of the server and its store.
   */
  readonly metrics?: Metrics;
  /**
   * The parent span of a request's run, as a W3C `traceparent`. True: the `traceparent` in the `_meta` of an MCP call, or else the
   * header `traceparent`, which proxies and instrumented clients send. False: none. A function returns it: use `activeTraceparent` of
   * `pawl/protocols/opentelemetry` if this server itself is instrumented. A client that sends a `traceparent` chooses the trace, and
   * whether it is sampled, so set this to false if you do not trust the clients. Default: true.
   */
  readonly traceparent?: boolean | ((request: Request) => string | undefined);
  /**
   * Whether the server has the inspector, a web page for people, at its root. A browser gets access by a start link:
   * `createStartCode()`. Default: false.
   */
  readonly ui?: boolean;
  /**
   * Tells OAuth clients, such as MCP clients, where to log in: in the metadata at `/.well-known/oauth-protected-resource`, and in
   * responses with status 401 and 403. `authenticate` still decides who gets access: see `authenticateByJwt`. Default: none.
   */
  readonly oauth?: OAuthOptions;
  /**
   * Offers one agent to clients of the Agent2Agent protocol: its card is at `/.well-known/agent-card.json`, which needs no token, and
   * its tasks are at `/a2a`. Default: none.
   */
  readonly a2a?: A2aOptions;
  /**
   * The tools that the server offers to MCP clients at `/mcp`. Default: each agent is a tool whose input is a `prompt`.
   */
  readonly mcp?: McpOptions;
  /**
   * The tools that AI SDK chat pages know by type. Their calls are parts `tool-NAME`, typed by `InferUiTools<typeof tools>`. Pass the
   * same array or record that the agent has. Default: none, so that every call is a `dynamic-tool`.
   */
  readonly uiTools?: readonly { readonly name: string }[] | { readonly [name: string]: object };
};

/** Options of a server, which needs either a store and agents, or an engine. */
export type ServerOptions = CommonOptions &
  (
    | {
        readonly store: Store;
        /** The agents whose sessions the server serves. */
        readonly agents: readonly Agent[];
        readonly engine?: undefined;
      }
    | {
        /** The engine whose agents and store the server uses. */
        readonly engine: Engine;
        readonly store?: undefined;
        readonly agents?: undefined;
      }
  );

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

/** The names of other frameworks for these. */
const otherNames = { prefix: "basePath", path: "basePath", auth: "authenticate", apiKey: "token" };

const optionNames: ReadonlySet<string> = new Set([
  ...[
    "store",
    "agents",
    "engine",
    "work",
    "token",
    "authenticate",
    "may",
    "params",
    "clientOptions",
    "basePath",
    "hosts",
    "origins",
    "limits",
  ],
  ...["secret", "pageAccess", "redact", "heartbeatMs", "log", "peers", "abortWhenAlone", "metrics"],
  ...["traceparent", "ui", "uiTools", "oauth", "a2a", "evalReports", "canSignal", "webhooks", "notices", "scores"],
  "mcp",
]);

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
  const { abortWhenAlone: abortAfterSeconds } = options;
  if (
    abortAfterSeconds !== undefined &&
    !(Number.isFinite(abortAfterSeconds) && abortAfterSeconds > 0 && abortAfterSeconds <= 86_400)
  )
    throw createConfigurationError(
      "abortWhenAlone must be a number of seconds, greater than 0 and at most 86,400 (a day).",
    );
  checkOptionNames("limits", limits, new Set(Object.keys(defaultLimits)));
  for (const [name, value] of Object.entries(limits))
    if (value !== undefined && (!Number.isSafeInteger(value) || value < 1))
      throw createConfigurationError(`limits.${name} is ${String(value)}, but must be an integer of at least 1.`);
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
    limits: { ...defaultLimits, ...limits },
    redact,
    heartbeatMs,
    log: options.log === undefined ? () => {} : createLog(options.log, redact),
    peers,
    aloneMs: options.abortWhenAlone === undefined ? null : options.abortWhenAlone * 1_000,
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
