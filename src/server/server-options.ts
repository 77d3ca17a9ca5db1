/**
 * The options of a server, checked, and their defaults.
 */
import type { Report } from "../evals/index.js";
import {
  type Agent,
  type ClientOption,
  type ClientRequest,
  createClientCheck,
  createRedaction,
  type Engine,
  type Redact,
  type Store,
  type WorkerNotices,
  type WorkerOptions,
  type WorkerScores,
} from "../index.js";
import type { McpTool } from "../protocols/mcp-server/index.js";
import { type A2aOptions, type A2aSettings, resolveA2a } from "./a2a-options.js";
import { isSecret, minSecretCharacters } from "./keys.js";
import type { LogLine } from "./log-line.js";
import { type McpOptions, resolveMcp } from "./mcp-options.js";
import { checkMetrics, type Metrics } from "./metrics/metrics.js";
import { type OAuthOptions, type OAuthSettings, resolveOAuth } from "./oauth.js";
import { checkOptionNames, createConfigurationError } from "./option-checks.js";
import { checkPeers, type PeerOptions, type Peers } from "./peers/peer-options.js";
import { type Authenticate, type ChooseParams, createTokenAuthentication, isToken, type May } from "./principal.js";
import { createTraceOf, type TraceOf } from "./request-trace.js";
import { type CanSignal, checkCanSignal, checkWebhooks, type Webhook } from "./signal-options.js";
import { collectToolNames } from "./ui-tools.js";

/** How much the server takes on. */
export type ServerLimits = {
  /** Bytes of a request's body. Default: 1 MiB. */
  readonly maxBodyBytes?: number;
  /** Levels of nesting in a body. Default: 64. */
  readonly maxJsonDepth?: number;
  /**
   * Milliseconds in which the headers of a request must have come. A program's own `http.Server` keeps to it with
   * `httpOptions`. Default: 10 seconds.
   */
  readonly headersMs?: number;
  /**
   * The most milliseconds that the body of a request may take to arrive, and that a client may take to read an answer that
   * is not a stream. A large answer is given a second more for each 64 kB. Default: 30 seconds.
   */
  readonly bodyMs?: number;
  /** Streams that one principal may have open at a time. Default: 20. */
  readonly streamsPerPrincipal?: number;
  /** Streams of this process. Default: 2,000. */
  readonly streams?: number;
  /** Requests of one principal that may wait for a result (`?wait=`) at a time. Default: 100. */
  readonly waitsPerPrincipal?: number;
  /** Requests that may wait for a result in this process. Default: 2,000. */
  readonly waits?: number;
  /** Requests that change something, of one principal in a minute. Default: 60. */
  readonly changesPerMinute?: number;
  /** Schedules of one principal. One more is refused with `schedule_full`. Default: 1,000. */
  readonly schedulesPerPrincipal?: number;
  /** Runs that this process carries out at a time; others wait. Default: 100. */
  readonly runs?: number;
  /** The most items of a page. Default: 500. */
  readonly maxPage?: number;
  /** Bytes that may wait for the socket of a stream, before the stream ends. Default: 256 KiB. */
  readonly maxUnsentBytes?: number;
  /** How long a stream may be open, in milliseconds. Default: 60 minutes. */
  readonly streamAgeMs?: number;
};

type CommonOptions = {
  /**
   * Whether this process carries out the runs of its agents. Set it to false where a process does not last. Default: true.
   */
  readonly work?: boolean;
  /** The bearer token that may do everything: at least 22 characters. `createToken()` makes one. */
  readonly token?: string;
  /** Who asks; null if nobody is known. It takes the place of the token. */
  readonly authenticate?: Authenticate;
  /**
   * Whether a principal may do what it asks, in a session or in none; the principal's scopes were checked before. It is
   * asked for each request, for each item of a list, and each minute of a stream. Default: a session may be used by the
   * principal that began it, and by principals with the scope `admin`.
   */
  readonly may?: May;
  /**
   * Returns the `params` of each run that a request starts, over REST, in chats, by AG-UI and by MCP: for example the principal's
   * tenant. They replace the params that `clientOptions` lets a client set; `undefined` sets none. Default: none are set.
   */
  readonly params?: ChooseParams;
  /**
   * The run options that clients may set in `POST /v1/sessions` and `POST /v1/sessions/:id/runs`, for example
   * `["model", "settings.reasoning"]`. Each of them replaces what the agent's author chose: with `systemPrompt`, a client can
   * have the agent do anything. Others are refused with `bad_input`. `may` sees those that are allowed. Default: none.
   */
  readonly clientOptions?: readonly ClientOption[];
  /**
   * Signs what clients bring back: at least 32 characters, the same in all processes and after a restart. Default: that of
   * `peers`, else made from the token; without either, cookies of pages and open calls of MCP do not outlive the process.
   */
  readonly secret?: string;
  /**
   * How long a page that a start link let in may come back, at most 8 hours. `start`: until this server ends. `secret`: to
   * every server with the same secret, also after a restart. On a machine with several users, any of them may listen on the port
   * of a server that has ended, so `secret` is for servers behind a proxy of yours. Default: `secret` with `secret` or
   * `peers`, else `start`.
   */
  readonly pageAccess?: "start" | "secret";
  /**
   * The path under which clients reach the server, for example `/pawl`. Requests may come with it or without it, because some
   * frameworks take it off. Needed where they leave it on (`app.all`, Next.js, `node:http`), and for what has addresses: the
   * inspector and the OpenAPI document. Default: none.
   */
  readonly basePath?: string;
  /**
   * Returns the latest report of each eval, for the Evals page of the inspector. The logs of their trials must be in the server's store: pass
   * it as `store` to `evaluate`. Default: no reports.
   */
  readonly evalReports?: () => Promise<readonly Report[]>;
  /**
   * Whether a principal with the scope `signal` may send this signal by `POST /v1/signals/:key`. Default: the server takes no
   * signals from clients.
   */
  readonly canSignal?: CanSignal;
  /**
   * Web hooks that become signals, by their paths, for example `/hooks/stripe`. They need no token: `verify` decides whether a
   * request is genuine. Mount the server before code that parses bodies. Default: none.
   */
  readonly webhooks?: { readonly [path: string]: Webhook };
  /**
   * Notifies other systems that a run waits for a person or has ended; made by `createNotices` of `pawl/notices`. Default: no notices.
   */
  readonly notices?: WorkerNotices;
  /** Judges sessions that have ended; made by `createScores` of `pawl/evals`. Default: sessions are not judged. */
  readonly scores?: WorkerScores;
  /** The values of the header `Host` that are this server's. Default: the names of this machine itself. */
  readonly hosts?: readonly string[];
  /** Origins whose pages may ask, for example `https://chat.example.org`. Default: only this server's own. */
  readonly origins?: readonly string[];
  readonly limits?: ServerLimits;
  /** Removes secrets from everything that is shown, except from what somebody is asked to approve. Default: keys of known shapes. */
  readonly redact?: Redact;
  /** After this silence a stream gets a comment, in milliseconds. Default: 15,000. */
  readonly heartbeatMs?: number;
  /** Is told of each request that changes something, and of each failure. Default: nobody is told. */
  readonly log?: (line: LogLine) => void;
  /**
   * The other processes of this server, which share its store. With it, a stream here has the deltas of a session that
   * another process holds. Agents get `peers.address` unless they have it: the server uses copies of them then.
   */
  readonly peers?: PeerOptions;
  /**
   * Aborts a run that a chat request (`/v1/chat`, `/v1/agui`) began, when no stream of its session has been open for so many
   * seconds: for pages that only leave (`stop()`). A run that waits for somebody is not aborted. Default: never.
   */
  readonly abortWhenAlone?: number;
  /**
   * The figures of the agents, for `GET /metrics`: `createMetrics()`, whose observer the agents have. Default: `/metrics` has
   * those of the server and its store alone.
   */
  readonly metrics?: Metrics;
  /**
   * The span that the spans of a request's run become children of, as W3C's `traceparent`. True: the header `traceparent`,
   * as proxies and instrumented clients send it, or the `traceparent` in the `_meta` of an MCP call, which comes first. False: none. A
   * function returns it: `activeTraceparent` of `pawl/protocols/opentelemetry`, where this server itself is instrumented. A client
   * that sends a `traceparent` decides on the trace, and on whether it is sampled: set it to false where clients are strangers.
   * Default: true.
   */
  readonly traceparent?: boolean | ((request: Request) => string | undefined);
  /**
   * Whether the server has the inspector, a page for people, at its root. A browser is let in by a start link:
   * `createStartCode()`. Default: false.
   */
  readonly ui?: boolean;
  /**
   * Tells OAuth clients, such as MCP clients, where to log in: in the metadata at `/.well-known/oauth-protected-resource`, and in
   * responses with status 401 and 403. `authenticate` still decides who is let in: see `authenticateByJwt`. Default: none.
   */
  readonly oauth?: OAuthOptions;
  /**
   * Offers one agent to clients of the Agent2Agent protocol: its card at `/.well-known/agent-card.json`, which needs no token, and
   * its tasks at `/a2a`. Default: none.
   */
  readonly a2a?: A2aOptions;
  /**
   * The tools that the server offers to MCP clients at `/mcp`. Default: each agent is a tool whose input is a `prompt`.
   */
  readonly mcp?: McpOptions;
  /**
   * The tools that AI SDK chat pages know by type: their calls are parts `tool-NAME`, typed by `InferUiTools<typeof tools>`. Pass
   * the same array or record that the agent has. Default: none, and every call is a `dynamic-tool`.
   */
  readonly uiTools?: readonly { readonly name: string }[] | { readonly [name: string]: object };
};

/** What a server serves, whom, and how much. It is given a store and agents, or an engine. */
export type ServerOptions = CommonOptions &
  (
    | {
        readonly store: Store;
        /** The agents whose sessions it serves. */
        readonly agents: readonly Agent[];
        readonly engine?: undefined;
      }
    | {
        /** The engine whose agents and store it serves. */
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
  /** Refuses what clients may not decide. @throws PawlError `bad_input` */
  readonly checkClient: (request: ClientRequest) => void;
  readonly secret: string | undefined;
  /** Whether the secret was given as such, and is none that was made from the token. */
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
  /** Milliseconds; null: never. */
  readonly aloneMs: number | null;
  readonly metrics: Metrics | null;
  /** Finds the span of a request, as an option of its run. */
  readonly traceOf: TraceOf;
  readonly ui: boolean;
  readonly evalReports: () => Promise<readonly Report[]>;
  readonly oauth: OAuthSettings | null;
  readonly a2a: A2aSettings | null;
  /** The tools for MCP clients. Null: each agent is one. */
  readonly mcp: readonly McpTool[] | null;
  /** Names of the tools that pages know by type. */
  readonly uiTools: ReadonlySet<string>;
  readonly canSignal: CanSignal | null;
  readonly webhooks: { readonly [path: string]: Webhook };
  /** Options of its workers. */
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
  checkOptionNames("createServer()", options, optionNames);
  const { engine, limits = {}, basePath = "", heartbeatMs = 15_000 } = options;
  const store = engine?.store ?? options.store;
  const given = engine?.agents ?? options.agents;
  if (store === undefined || given === undefined)
    throw createConfigurationError(
      "createServer() needs a store and agents, or an engine. The list of agents may be empty.",
    );
  if (typeof basePath !== "string" || !/^(?:\/[\w.-]+)*$/.test(basePath))
    throw createConfigurationError("basePath is a path such as /pawl, without a slash at its end.");
  if (!Number.isFinite(heartbeatMs) || heartbeatMs <= 0)
    throw createConfigurationError("heartbeatMs is a number of milliseconds, more than 0.");
  if (options.secret !== undefined && !isSecret(options.secret))
    throw createConfigurationError(
      `secret is a text of at least ${minSecretCharacters} characters. createToken() makes one.`,
    );
  const { abortWhenAlone: abortAfterSeconds } = options;
  if (
    abortAfterSeconds !== undefined &&
    !(Number.isFinite(abortAfterSeconds) && abortAfterSeconds > 0 && abortAfterSeconds <= 86_400)
  )
    throw createConfigurationError("abortWhenAlone is a number of seconds, more than 0 and at most a day.");
  checkOptionNames("limits", limits, new Set(Object.keys(defaultLimits)));
  for (const [name, value] of Object.entries(limits))
    if (value !== undefined && (!Number.isSafeInteger(value) || value < 1))
      throw createConfigurationError(`limits.${name} is ${String(value)}; it must be a whole number, 1 or more.`);
  const peers = checkPeers(options.peers);
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
    redact: options.redact ?? createRedaction(),
    heartbeatMs,
    log: options.log ?? (() => {}),
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
  throw createConfigurationError('pageAccess is "start" or "secret".');
}

/** The agent with the address at which other processes reach this server. */
function withPeerAddress(agent: Agent, peers: Peers | null): Agent {
  const address = peers?.address ?? null;
  return address === null || agent.options.address === address ? agent : agent.with({ address });
}

/** There is no server without authentication, also not on this machine alone (SEC-1). */
function checkAuthentication({ token, authenticate }: ServerOptions): Authenticate {
  if (authenticate !== undefined && token !== undefined)
    throw createConfigurationError("createServer() takes a token or authenticate, not both.");
  if (authenticate !== undefined) return authenticate;
  if (token === undefined)
    throw createConfigurationError(
      "createServer() needs authentication: the option authenticate, or a token, which createToken() makes.",
    );
  if (!isToken(token))
    throw createConfigurationError(
      "The token is too short or has spaces. One of at least 22 characters is needed: createToken() makes one.",
    );
  return createTokenAuthentication(token);
}

function checkChooseParams(params: ServerOptions["params"]): ChooseParams | null {
  if (params === undefined || typeof params === "function") return params ?? null;
  throw createConfigurationError("The option params of createServer() must be a function.");
}
