/**
 * `createServer`: the sessions of a store over HTTP, as a `fetch` handler of the Web and as a listener of Node.
 *
 * 1. The log is the truth: what a client must not lose comes from the store. The server keeps nothing of its own, so any
 *    process can be killed and replaced.
 * 2. A connection is never a run. Closing one ends nothing; only an abort aborts.
 * 3. Host and origin, then the principal, then its scope, then `may` are checked before anything is read or written.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type Agent,
  type Client,
  createClient,
  createWorker,
  PawlError,
  type Worker,
  type WorkerReport,
} from "../index.js";
import { createHubs } from "./hubs.js";
import { createListWatch } from "./list-watch.js";
import { createLoneRuns, type LoneRuns } from "./lone-runs.js";
import { createListener } from "./node-listener.js";
import { openApi } from "./open-api.js";
import { checkOrigin, corsHeaders, preflight } from "./origin.js";
import { createLinks, type Links } from "./peers/links.js";
import { liveRoute } from "./peers/live-route.js";
import { type Principal, randomText } from "./principal.js";
import { readBody } from "./request.js";
import { type Answer, type Asked, findRoute, type Route } from "./route.js";
import { approvalRoutes } from "./routes/approvals.js";
import { chatRoutes } from "./routes/chats.js";
import { inspectingRoutes } from "./routes/inspecting.js";
import { listStreamRoutes } from "./routes/list-stream.js";
import { runRoutes } from "./routes/runs.js";
import { listed, sessionRoutes } from "./routes/sessions.js";
import { systemRoutes } from "./routes/system.js";
import { watchingRoutes } from "./routes/watching.js";
import { infoOf, type ServerContext, shown } from "./server-context.js";
import { errorAnswer, ServerError } from "./server-error.js";
import { type LogLine, type ServerOptions, type ServerSettings, settingsOf } from "./server-options.js";
import { parseQuery } from "./shape.js";
import { createWebSink } from "./sink.js";
import { createOpenStreams } from "./streams.js";
import { createUsageLimits } from "./usage-limits.js";

export type Server = {
  /** Answers a request of the Web. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Answers a request of Node: `http.createServer(server.listener)`. Streams are written to the socket directly. */
  readonly listener: (request: IncomingMessage, response: ServerResponse) => void;
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
  liveRoute,
]);

/** Streams that are told to leave come back within this time, in milliseconds, so that they do not come all at once. */
const drainSpreadMs = 2_000;

/** @throws PawlError `bad_configuration` */
export function createServer(options: ServerOptions): Server {
  const settings = settingsOf(options);
  let ending: Promise<void> | null = null;
  const worker = settings.work && settings.agents.length > 0 ? workerOf(settings) : null;
  const context = contextOf(settings, worker, () => ending !== null);
  const working = worker === null ? null : work(worker, settings);

  const fetch = async (request: Request): Promise<Response> => toResponse(await handle(request, context, null));

  async function close({ graceMs = 5_000 }: { readonly graceMs?: number } = {}): Promise<void> {
    context.streams.endAll("drain", drainSpreadMs);
    await worker?.stop({ graceMs });
    await working;
    context.peerStreams.endAll("drain", 0);
    context.alone?.close();
  }

  return {
    fetch,
    listener: createListener(async (request, port) => {
      const handled = await handle(request, context, port);
      return { answer: handled.answer, ...written(handled) };
    }),
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
    if (report.type === "store_failed") log(workLine(null, report.error));
    // What has no agent here belongs to another process.
    else if (report.type === "refused" && codeOf(report.error) !== "agent_mismatch")
      log(workLine(report.sessionId, report.error));
  };
  return createWorker({ store, agents, concurrency: limits.runs, onReport });
}

async function work(worker: Worker, { log }: ServerSettings): Promise<void> {
  try {
    await worker.run();
  } catch (error) {
    log(workLine(null, error));
  }
}

function codeOf(error: unknown): string | null {
  return error instanceof PawlError ? error.code : null;
}

function workLine(sessionId: string | null, error: unknown): LogLine {
  return { at: Date.now(), requestId: "", principal: null, action: "work", sessionId, status: 500, error };
}

function contextOf(settings: ServerSettings, worker: Worker | null, isDraining: () => boolean): ServerContext {
  const { store, limits, heartbeatMs, redact, peers, basePath } = settings;
  const client = createClient({ store });
  const agents = new Map(settings.agents.map((agent): [string, Agent] => [agent.options.name ?? "agent", agent]));
  const links = createLinks({ store, agents, works: worker !== null, peers, basePath, heartbeatMs });
  const streamRules = { heartbeatMs, streamAgeMs: limits.streamAgeMs, now: Date.now };
  const alone = loneRunsOf(settings, client, links);
  const list = createListWatch({
    store,
    infoOf: (summary) => infoOf({ settings }, summary),
    listed: (summary, info) => shown({ settings }, listed(summary, info)) as ReturnType<typeof listed>,
  });
  return {
    settings,
    client,
    agents,
    list,
    worker,
    isDraining,
    openApi: () => openApi(routes, settings.basePath),
    links,
    alone,
    hubs: createHubs({ links, alone, client, agents, redact }),
    streams: createOpenStreams(streamRules),
    peerStreams: createOpenStreams(streamRules),
    usage: createUsageLimits(settings),
    modelsOf: ({ options: { model } }) => ["id" in model ? model.id : `${model.provider}/${model.modelId}`],
  };
}

function loneRunsOf({ aloneMs, store }: ServerSettings, client: Client, links: Links): LoneRuns | null {
  if (aloneMs === null) return null;
  return createLoneRuns({
    afterMs: aloneMs,
    clock: {
      after(ms, call) {
        const timer = setTimeout(call, ms);
        return () => clearTimeout(timer);
      },
    },
    async abort(sessionId, runIds) {
      const summary = await store.describe(sessionId);
      if (summary === null) return "done";
      const { holder, activity, inbox } = summary;
      if (holder === null && inbox === 0 && activity !== "active") return activity === "waiting" ? "parked" : "done";
      if (holder === null) return "later";
      if (links.isHere(holder))
        for (const runId of runIds) await client.session(sessionId).abort({ runId, note: "Nobody watched the chat." });
      return "done";
    },
  });
}

type Handled = { readonly answer: Answer; readonly headers: { readonly [name: string]: string } };

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
    checkOrigin(request, settings, port);
    const allowed = preflight(request, settings);
    if (allowed !== null) return { answer: { status: 204, bytes: null }, headers: Object.fromEntries(allowed.headers) };
    const { route, params, url } = routeOf(request, context);
    line.action = route.action;
    line.sessionId = route.ofSession === true ? (params.id ?? null) : null;
    const principal = route.scope === null ? nobody : await principalOf(request, settings);
    line.principal = principal.id;
    const answer = await answerOf({ request, requestId, principal, params }, route, url, context);
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
  const { basePath } = settings;
  const isUnder = basePath === "" || url.pathname === basePath || url.pathname.startsWith(`${basePath}/`);
  const found = findRoute(routes, request.method, isUnder ? url.pathname.slice(basePath.length) : "");
  if (found.type === "found") return { ...found, url };
  if (found.type === "other_method")
    throw new ServerError("method_not_allowed", `This address takes ${found.allowed.join(", ")}.`);
  throw new ServerError("not_found", "There is nothing at this address. See /openapi.json.");
}

/** @throws ServerError `unauthorized` */
async function principalOf(request: Request, { authenticate }: ServerSettings): Promise<Principal> {
  const principal = await authenticate(request);
  if (principal === null) throw new ServerError("unauthorized", "Send a token: Authorization: Bearer TOKEN.");
  if (typeof principal?.id !== "string" || principal.id === "" || !Array.isArray(principal.scopes))
    throw new PawlError("bad_configuration", "authenticate() must give null, or a principal with an id and scopes.");
  return principal;
}

async function answerOf(
  asked: Pick<Asked, "request" | "requestId" | "principal" | "params">,
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

const streamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
} as const;

/** The headers of an answer, and its body if it is no stream. */
function written({ answer, headers }: Handled): {
  readonly headers: { readonly [name: string]: string };
  readonly body: Uint8Array | null;
} {
  if ("stream" in answer) return { headers: { ...headers, ...streamHeaders, ...answer.headers }, body: null };
  if ("json" in answer)
    return {
      headers: { ...headers, "content-type": "application/json; charset=utf-8", ...answer.headers },
      body: new TextEncoder().encode(JSON.stringify(answer.json)),
    };
  return { headers: { ...headers, ...answer.headers }, body: answer.bytes };
}

function toResponse(handled: Handled): Response {
  const { answer } = handled;
  const { headers, body } = written(handled);
  if (!("stream" in answer))
    return new Response(body as Uint8Array<ArrayBuffer> | null, { status: answer.status, headers });
  const web = createWebSink();
  answer.stream(web.sink);
  return new Response(web.body, { status: 200, headers });
}
