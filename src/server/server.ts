/**
 * `createServer`: the sessions of a store over HTTP, as a `fetch` handler of the Web and as a listener of Node.
 *
 * 1. The log is the truth: what a client must not lose comes from the store, so any process can be killed and replaced.
 * 2. A connection is never a run. Closing one ends nothing; only an abort aborts.
 * 3. Host and origin, then the principal, then its scope, then `may` are checked before anything is read or written.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Agent, createClient, createWorker, PawlError, type Worker, type WorkerReport } from "../index.js";
import { createMcpHttp, type McpHttp } from "../protocols/mcp-server/index.js";
import type { Answer } from "./answer.js";
import type { ListedSession } from "./client/index.js";
import { createHubs } from "./hubs.js";
import { checkPrincipal, isLetIn, principalOf } from "./let-in.js";
import { createListWatch } from "./list-watch.js";
import { loneRunsOf } from "./lone-runs.js";
import { createListener, type HttpOptions, httpOptionsFor } from "./node-listener.js";
import { openApi } from "./open-api.js";
import { createOpenAnswers, createOpenCalls } from "./open-calls.js";
import { misconfigured } from "./option-checks.js";
import { checkOrigin, corsHeaders, preflight } from "./origin.js";
import { createPageAccess } from "./page-access.js";
import { createLinks } from "./peers/links.js";
import { liveRoute } from "./peers/live-route.js";
import { type Principal, randomText, tokenPrincipal } from "./principal.js";
import { createReadingAgent } from "./reading-agent.js";
import { readBody } from "./request.js";
import { type Asked, findRoute, mountedPaths, type Route } from "./route.js";
import { approvalRoutes } from "./routes/approvals.js";
import { chatRoutes } from "./routes/chats.js";
import { inspectingRoutes } from "./routes/inspecting.js";
import { inspectorRoutes, isPageLoad } from "./routes/inspector.js";
import { listStreamRoutes } from "./routes/list-stream.js";
import { mcpRoutes } from "./routes/mcp.js";
import { pageRoutes } from "./routes/pages.js";
import { runRoutes } from "./routes/runs.js";
import { inList, sessionRoutes } from "./routes/sessions.js";
import { systemRoutes } from "./routes/system.js";
import { watchingRoutes } from "./routes/watching.js";
import { createKeys, proofPurpose } from "./secret.js";
import { type ServerContext, shown } from "./server-context.js";
import { errorAnswer, ServerError } from "./server-error.js";
import { failureLine, type ServerOptions, type ServerSettings, settingsOf } from "./server-options.js";
import { sessionInfo } from "./session-info.js";
import { parseQuery } from "./shape.js";
import { createOpenStreams } from "./streams.js";
import { createUsageLimits } from "./usage-limits.js";
import { type Handled, toResponse, written } from "./written.js";

/** Sessions over HTTP. */
export type Server = {
  /** Answers a request of the Web: `app.mount("/pawl", server.fetch)` in Hono, a route handler of Next.js. */
  readonly fetch: (request: Request) => Promise<Response>;
  /**
   * Answers a request of Node: `http.createServer(server.listener)`, `app.use("/pawl", server.listener)` in Express. Streams
   * are written to the socket directly. A body that other code has read, such as `express.json()`, is taken from
   * `request.body`.
   */
  readonly listener: (request: IncomingMessage, response: ServerResponse) => void;
  /**
   * A code that lets one page in a browser act as a principal: for the fragment of a link. It is good once, for ten
   * minutes, in this process. The page posts it to `/v1/ui/session`. Default: everyone who has the token.
   * @throws PawlError `bad_configuration` without a principal, if the server has no token
   */
  readonly createStartCode: (principal?: Principal) => string;
  /**
   * Options for the server of Node, so that nobody keeps connections open with headers that come slowly:
   * `http.createServer(server.httpOptions, server.listener)`. They follow from `limits.headersMs` and `limits.bodyMs`.
   */
  readonly httpOptions: HttpOptions;
  /** The names of the agents whose runs this process carries out. */
  readonly agents: readonly string[];
  /**
   * Drains: requests that change something are refused, streams are told to come back elsewhere, and what runs has
   * `graceMs` (default: 5,000) to settle. No run is lost: what is left is due for another process. Agents that are shut
   * down stay so. The store stays open.
   */
  readonly close: (options?: { readonly graceMs?: number }) => Promise<void>;
};

const routes: readonly Route[] = Object.freeze([
  ...systemRoutes,
  ...sessionRoutes,
  ...runRoutes,
  ...watchingRoutes,
  ...listStreamRoutes,
  ...approvalRoutes,
  ...inspectingRoutes,
  ...chatRoutes,
  ...mcpRoutes,
  ...pageRoutes,
  liveRoute,
]);

const routesWithPage: readonly Route[] = Object.freeze([...routes, ...inspectorRoutes]);

/** Streams that are told to leave come back within this time, in milliseconds, so that they do not come all at once. */
const drainSpreadMs = 2_000;

/**
 * Makes a server.
 * @throws PawlError `bad_configuration`
 *
 * @example
 * ```ts
 * import { createServer as createHttpServer } from "node:http";
 * import { createServer } from "pawl/server";
 *
 * const server = createServer({ store, agents: [agent], token: secret });
 * const http = createHttpServer(server.httpOptions, server.listener).listen(4111, "127.0.0.1");
 * process.once("SIGTERM", async () => {
 *   await server.close(); // streams are told to come back, and what runs settles
 *   http.close();
 * });
 * ```
 */
export function createServer(options: ServerOptions): Server {
  const settings = settingsOf(options);
  let ending: Promise<void> | null = null;
  // Made in any case, because a worker refuses agents with another store.
  const ownWorker = workerOf(settings);
  const worker = settings.work && settings.agents.length > 0 ? ownWorker : null;
  const context = contextOf(settings, worker, () => ending !== null);
  const working = worker === null ? null : work(worker, settings);

  const answers = createOpenAnswers();
  const answer = (request: Request, port: number | null) => answers.track(handle(request, context, port));

  async function close({ graceMs = 5_000 }: { readonly graceMs?: number } = {}): Promise<void> {
    context.streams.endAll("drain", drainSpreadMs);
    const answered = context.calls.leaveAll();
    await worker?.stop({ graceMs });
    await working;
    context.peerStreams.endAll("drain", 0);
    context.alone?.close();
    await answered;
    // What was asked before is answered, as long as the store is open.
    await answers.settled();
  }

  return {
    fetch: async (request) => toResponse(await answer(request, null)),
    listener: createListener(
      async (request, port) => written(await answer(request, port)),
      settings.limits,
      context.isDraining,
    ),
    httpOptions: httpOptionsFor(settings.limits),
    createStartCode(principal) {
      const acting = principal ?? (options.token === undefined ? null : tokenPrincipal);
      if (acting === null) throw misconfigured("createStartCode() needs a principal, because the server has no token.");
      checkPrincipal(acting, "createStartCode() takes");
      return context.pages.createCode(acting);
    },
    agents: Object.freeze(worker === null ? [] : [...context.agents.keys()]),
    close(closing) {
      ending ??= Promise.resolve().then(() => close(closing));
      return ending;
    },
  };
}

/** A worker asks a store again that has failed. Meanwhile the server answers what it can. */
function workerOf({ store, agents, limits, log }: ServerSettings): Worker {
  const onReport = (report: WorkerReport) => {
    if (report.type === "store_failed") log(failureLine("work", report.error));
    // What has no agent here belongs to another process.
    else if (report.type === "refused" && codeOf(report.error) !== "agent_mismatch")
      log(failureLine("work", report.error, { sessionId: report.sessionId }));
  };
  return createWorker({ store, agents, concurrency: limits.runs, onReport });
}

async function work(worker: Worker, { log }: ServerSettings): Promise<void> {
  try {
    await worker.run();
  } catch (error) {
    log(failureLine("work", error));
  }
}

function codeOf(error: unknown): string | null {
  return error instanceof PawlError ? error.code : null;
}

function contextOf(settings: ServerSettings, worker: Worker | null, isDraining: () => boolean): ServerContext {
  const { store, limits, heartbeatMs, redact, peers, basePath } = settings;
  const client = createClient({ store });
  const keys = createKeys(settings.secret);
  let mcp: Promise<McpHttp> | null = null;
  const report = (error: unknown) => settings.log(failureLine("mcp", error));
  const agents = new Map(settings.agents.map((agent): [string, Agent] => [agent.options.name ?? "agent", agent]));
  const agentFor = createReadingAgent(store, agents);
  const links = createLinks({ store, agentFor, works: worker !== null, peers, basePath, heartbeatMs });
  const streamRules = { heartbeatMs, streamAgeMs: limits.streamAgeMs, now: Date.now };
  const alone = loneRunsOf(settings, client, links);
  const list = createListWatch({
    store,
    infoOf: (summary) => sessionInfo(store, summary),
    listed: async (summary, info) => shown({ settings }, await inList(store, summary, info)) as ListedSession,
  });
  return {
    settings,
    client,
    agents,
    agentFor,
    list,
    keys,
    pages: createPageAccess(settings.pageAccess === "start" ? createKeys() : keys),
    proofKey: settings.hasSecret ? keys.sign(proofPurpose, "") : null,
    mcp() {
      mcp ??= createMcpHttp(keys.keyFor("mcp"), report);
      mcp.catch(() => {
        mcp = null;
      });
      return mcp;
    },
    worker,
    isDraining,
    openApi: () => openApi(routes, settings.basePath),
    links,
    alone,
    hubs: createHubs({ links, alone, client, agentFor, redact }),
    streams: createOpenStreams(streamRules),
    peerStreams: createOpenStreams(streamRules),
    usage: createUsageLimits(settings),
    calls: createOpenCalls(),
    modelsOf: ({ options: { model } }) => ["id" in model ? model.id : `${model.provider}/${model.modelId}`],
  };
}

/** What every answer has. Pages of other sites learn nothing from it, and no browser guesses a type. */
const safeHeaders = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  "cross-origin-resource-policy": "same-origin",
} as const;

/** Answers any request: what goes wrong is an answer, too. */
async function handle(request: Request, context: ServerContext, port: number | null): Promise<Handled> {
  const { settings } = context;
  const requestId = randomText(9);
  const headers = { ...safeHeaders, ...corsHeaders(request, settings), "x-request-id": requestId };
  const line = { principal: null as string | null, action: "unknown", sessionId: null as string | null };
  const log = (status: number, error?: unknown) =>
    settings.log({ at: Date.now(), requestId, ...line, status, ...(error === undefined ? {} : { error }) });
  try {
    checkOrigin(request, settings, port, isPageLoad(request, settings));
    const allowed = preflight(request, settings);
    if (allowed !== null) return { answer: { status: 204, bytes: null }, headers: Object.fromEntries(allowed.headers) };
    const { route, params, url } = routeOf(request, context);
    line.action = route.action;
    line.sessionId = route.ofSession === true ? (params.id ?? null) : null;
    const principal = route.scope === null ? nobody : await principalOf(request, context);
    line.principal = principal.id;
    const answer = await answerOf(
      { request, requestId, principal, params, isStillLetIn: () => isLetIn(request, context, principal, route) },
      route,
      url,
      context,
    );
    line.sessionId ??= madeBy(answer);
    if (route.method !== "GET") log(answer.status);
    return { answer, headers };
  } catch (error) {
    const failed = errorAnswer(error, requestId);
    if (failed.cause !== undefined) log(failed.status, failed.cause);
    return { answer: { status: failed.status, json: failed.body, headers: failed.headers }, headers };
  }
}

/** The session that an answer says it has made. */
function madeBy(answer: Answer): string | null {
  const { sessionId } = ("json" in answer ? answer.json : {}) as { readonly sessionId?: unknown };
  return typeof sessionId === "string" ? sessionId : null;
}

const nobody: Principal = { id: "", scopes: [] };

function routeOf(request: Request, { settings }: ServerContext) {
  const url = new URL(request.url);
  const served = settings.ui ? routesWithPage : routes;
  const tries = mountedPaths(url.pathname, settings.basePath).map((path) => findRoute(served, request.method, path));
  for (const found of tries) if (found.type === "found") return { ...found, url };
  for (const found of tries)
    if (found.type === "other_method")
      throw new ServerError("method_not_allowed", `This address takes ${found.allowed.join(", ")}.`);
  throw new ServerError(
    "not_found",
    "There is nothing at this address. See /openapi.json. A server that is mounted below a path may need its option basePath.",
  );
}

async function answerOf(
  asked: Pick<Asked, "request" | "requestId" | "principal" | "params" | "isStillLetIn">,
  route: Route,
  url: URL,
  context: ServerContext,
): Promise<Answer> {
  const { request, principal } = asked;
  const { settings, usage } = context;
  if (route.scope !== null && !principal.scopes.includes(route.scope))
    throw new ServerError("forbidden", `This needs the scope ${route.scope}.`);
  if (route.method !== "GET") {
    if (context.isDraining()) throw new ServerError("draining", "The server is shutting down.");
    usage.countChange(principal.id, Date.now());
  }
  const query = parseQuery(
    url.searchParams,
    route.query ?? { type: "object", properties: {}, additionalProperties: false },
  );
  const body = route.body === undefined ? {} : await readBody(request, route.body, settings.limits);
  return route.handle({ ...asked, query, body }, context);
}
