/**
 * From a request to its answer: host and origin, then the principal, then its scope, then the route.
 */
import type { Answer } from "./answer.js";
import type { Handlers } from "./handlers.js";
import { isLetIn, principalOf } from "./let-in.js";
import { createListener, httpOptionsFor } from "./node-listener.js";
import { checkOrigin, corsHeaders, preflight } from "./origin.js";
import { type Principal, randomText } from "./principal.js";
import { readBody } from "./request.js";
import { type Asked, findRoute, mountedPaths, type Route } from "./route.js";
import { isPageLoad } from "./routes/inspector.js";
import type { ServerContext } from "./server-context.js";
import { errorAnswer, ServerError } from "./server-error.js";
import { parseQuery } from "./shape.js";
import { type Handled, toResponse, written } from "./written.js";

/**
 * @param routes what the server answers
 * @param track is given each answer before it is there
 */
export function handlersOf(
  context: ServerContext,
  routes: readonly Route[],
  track: (answer: Promise<Handled>) => Promise<Handled>,
): Handlers {
  const { limits } = context.settings;
  const answer = (request: Request, port: number | null) => track(handle(request, context, routes, port));
  return {
    fetch: async (request) => toResponse(await answer(request, null)),
    listener: createListener(async (request, port) => written(await answer(request, port)), limits, context.isDraining),
    httpOptions: httpOptionsFor(limits),
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
async function handle(
  request: Request,
  context: ServerContext,
  routes: readonly Route[],
  port: number | null,
): Promise<Handled> {
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
    const { route, params, url } = routeOf(request, context, routes);
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
    context.requests.answered(line.action, answer.status);
    if (route.method !== "GET") log(answer.status);
    return { answer, headers };
  } catch (error) {
    const failed = errorAnswer(error, requestId);
    context.requests.answered(line.action, failed.status);
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

function routeOf(request: Request, { settings }: ServerContext, routes: readonly Route[]) {
  const url = new URL(request.url);
  const tries = mountedPaths(url.pathname, settings.basePath).map((path) => findRoute(routes, request.method, path));
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
