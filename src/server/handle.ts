/**
 * Handles a request: checks host and origin, then the principal, then its scope, and then calls the route.
 */

import { authenticateRequest, isStillAuthorized } from "./authenticate.js";
import { encodeResponse, type HandledRequest, toResponse } from "./encode-response.js";
import type { Handlers } from "./handler-types.js";
import { createHttpOptions, createListener } from "./node-listener.js";
import { wellKnownPath } from "./oauth.js";
import { checkOrigin, corsHeaders, respondToPreflight } from "./origin.js";
import { type Principal, randomBase64url } from "./principal.js";
import { readBody } from "./read-body.js";
import { findRoute, listMountedPaths, type Route, type RouteRequest } from "./route.js";
import type { RouteResponse } from "./route-response.js";
import { isPageLoad } from "./routes/inspector.js";
import type { ServerContext } from "./server-context.js";
import { ServerError, toErrorResponse } from "./server-error.js";
import { parseQuery } from "./shape.js";

/**
 * @param routes the routes of the server
 * @param track called with each pending response
 */
export function createHandlers(
  context: ServerContext,
  routes: readonly Route[],
  track: (response: Promise<HandledRequest>) => Promise<HandledRequest>,
): Handlers {
  const { limits } = context.settings;
  const respond = (request: Request, port: number | null) => track(handle(request, context, routes, port));
  return {
    fetch: async (request) => toResponse(await respond(request, null), request.signal),
    listener: createListener(
      async (request, port) => encodeResponse(await respond(request, port)),
      limits,
      context.isDraining,
    ),
    httpOptions: createHttpOptions(limits),
  };
}

/** The headers of every response: pages of other sites cannot read the response, and browsers do not guess its type. */
const safeHeaders = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  "cross-origin-resource-policy": "same-origin",
} as const;

/** Handles any request. Errors also become responses. */
async function handle(
  request: Request,
  context: ServerContext,
  routes: readonly Route[],
  port: number | null,
): Promise<HandledRequest> {
  const { settings } = context;
  const requestId = randomBase64url(9);
  const headers = { ...safeHeaders, ...corsHeaders(request, settings), "x-request-id": requestId };
  const logLine = { principal: null as string | null, action: "unknown", sessionId: null as string | null };
  const log = (status: number, error?: unknown) =>
    settings.log({ at: Date.now(), requestId, ...logLine, status, ...(error === undefined ? {} : { error }) });
  try {
    checkOrigin(request, settings, port, isPageLoad(request, settings));
    const preflightResponse = respondToPreflight(request, settings);
    if (preflightResponse !== null)
      return { routeResponse: { status: 204, bytes: null }, headers: Object.fromEntries(preflightResponse.headers) };
    const { route, params, url } = resolveRoute(request, context, routes);
    logLine.action = route.action;
    logLine.sessionId = route.ofSession === true ? (params.id ?? null) : null;
    const principal = route.scope === null ? anonymous : await authenticateRequest(request, context);
    logLine.principal = principal.id;
    const { response, isRead } = await dispatch(
      {
        request,
        requestId,
        principal,
        params,
        isStillAuthorized: () => isStillAuthorized(request, context, principal, route),
      },
      route,
      url,
      context,
    );
    logLine.sessionId ??= findCreatedSessionId(response);
    context.requestMetrics.recordResponse(logLine.action, response.status);
    if (!isRead) log(response.status);
    return { routeResponse: response, headers };
  } catch (error) {
    const errorResponse = toErrorResponse(error, requestId, settings.oauth);
    context.requestMetrics.recordResponse(logLine.action, errorResponse.status);
    if (errorResponse.cause !== undefined) log(errorResponse.status, errorResponse.cause);
    return {
      routeResponse: { status: errorResponse.status, json: errorResponse.body, headers: errorResponse.headers },
      headers,
    };
  }
}

/** The id of the session that the request created, taken from the response. */
function findCreatedSessionId(response: RouteResponse): string | null {
  const { sessionId } = ("json" in response ? response.json : {}) as { readonly sessionId?: unknown };
  return typeof sessionId === "string" ? sessionId : null;
}

const anonymous: Principal = { id: "", scopes: [] };

function resolveRoute(request: Request, { settings }: ServerContext, routes: readonly Route[]) {
  const url = new URL(request.url);
  const matches = listRoutePaths(url.pathname, settings).map((path) => findRoute(routes, request.method, path));
  for (const match of matches) if (match.type === "found") return { ...match, url };
  for (const match of matches)
    if (match.type === "other_method")
      throw new ServerError(
        "method_not_allowed",
        `This path does not support ${request.method.slice(0, 20)}. Allowed methods: ${match.allowed.join(", ")}.`,
      );
  throw new ServerError(
    "not_found",
    "There is no route at this path. See /openapi.json. If the server is mounted under a path, set its option basePath.",
  );
}

function listRoutePaths(pathname: string, { oauth, basePath }: ServerContext["settings"]): readonly string[] {
  return pathname === oauth?.metadataPath ? [wellKnownPath] : listMountedPaths(pathname, basePath);
}

async function dispatch(
  routeRequest: Pick<RouteRequest, "request" | "requestId" | "principal" | "params" | "isStillAuthorized">,
  route: Route,
  url: URL,
  context: ServerContext,
): Promise<{ readonly response: RouteResponse; readonly isRead: boolean }> {
  const { request, principal } = routeRequest;
  const { settings, usage } = context;
  const countChanges = (count: number) => {
    if (route.isSigned !== true) usage.countChanges(principal.id, count, Date.now());
  };
  if (route.scope !== null && !principal.scopes.includes(route.scope))
    throw new ServerError("forbidden", `This request needs the scope ${route.scope}.`, { scope: route.scope });
  if (route.method !== "GET") {
    if (context.isDraining()) throw new ServerError("draining", "The server is shutting down. Try again.");
    if (route.countChanges === undefined) countChanges(1);
  }
  const query = parseQuery(
    url.searchParams,
    route.query ?? { type: "object", properties: {}, additionalProperties: false },
  );
  const body = route.body === undefined ? {} : await readBody(request, route.body, settings.limits);
  const changes = route.countChanges?.(body);
  if (changes !== undefined && changes > 0) countChanges(changes);
  const isRead = route.method === "GET" || changes === 0;
  return { response: await route.handle({ ...routeRequest, query, body }, context), isRead };
}
