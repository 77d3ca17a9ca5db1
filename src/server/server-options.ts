/**
 * The options of a server. server-settings.ts checks them.
 */
import type { Report, WorkerScores } from "../evals/index.js";
import type { Agent, ClientOption, Engine, Redact, Store } from "../index.js";
import type { WorkerNotices } from "../notices/index.js";
import type { A2aOptions } from "./a2a-options.js";
import type { LogLine } from "./log-line.js";
import type { McpOptions } from "./mcp-options.js";
import type { Metrics } from "./metrics/metrics.js";
import type { OAuthOptions } from "./oauth.js";
import type { PeerOptions } from "./peers/peer-options.js";
import type { Authenticate, ChooseParams, May } from "./principal.js";
import type { CanSignal, Webhook } from "./signal-options.js";

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
