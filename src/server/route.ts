/**
 * Route definitions, which both the server and the OpenAPI document use.
 */

import type { Principal, Scope } from "./principal.js";
import type { ResponseContent } from "./response-schemas.js";
import type { RouteResponse } from "./route-response.js";
import type { ServerContext } from "./server-context.js";
import type { ObjectShape } from "./shape.js";

export type Method = "GET" | "POST" | "PUT" | "DELETE";

/** An authorized request. */
export type RouteRequest = {
  readonly request: Request;
  readonly requestId: string;
  readonly principal: Principal;
  /** Whether the request would still be allowed with this principal and the route's scope. Open streams call it repeatedly. */
  readonly isStillAuthorized: () => Promise<boolean>;
  /** The named segments of the path. */
  readonly params: { readonly [name: string]: string };
  readonly query: { readonly [name: string]: unknown };
  /** The body, as described by the route's shape; an empty object without a shape. */
  readonly body: { readonly [name: string]: unknown };
};

export type Route = {
  readonly method: Method;
  /** `:name` matches one segment of the path. */
  readonly path: string;
  /** The name of the action, for `may` and the log. */
  readonly action: string;
  /** The required scope. Null: open to everyone, without authentication. */
  readonly scope: Scope | null;
  readonly summary: string;
  /** Whether the handler itself verifies the request. Such requests do not count as changes of a principal. */
  readonly isSigned?: boolean;
  /**
   * How many changes a request with this body makes. Requests that make none are not logged. Default: one, which is counted before the body
   * is read; none for a GET.
   */
  readonly countChanges?: (body: unknown) => number;
  /** Whether `:id` is a session, which the principal must be allowed to read. */
  readonly ofSession?: boolean;
  readonly query?: ObjectShape;
  /** The shape of the body. `json`: any JSON. */
  readonly body?: ObjectShape | "json";
  /** The statuses of successful responses, and descriptions of their content. */
  readonly responses: { readonly [status: number]: string };
  /** The content of successful responses. A status without an entry has no body. */
  readonly content?: { readonly [status: number]: ResponseContent | readonly ResponseContent[] };
  readonly handle: (routeRequest: RouteRequest, context: ServerContext) => Promise<RouteResponse> | RouteResponse;
};

export type RouteMatch =
  | { readonly type: "found"; readonly route: Route; readonly params: { readonly [name: string]: string } }
  | { readonly type: "other_method"; readonly allowed: readonly Method[] }
  | { readonly type: "none" };

/**
 * The possible paths of a request. Express's `app.use` and Hono's `app.mount` strip the path under which a server is mounted; `app.all`
 * and Next.js routes do not. Both forms are accepted.
 */
export function listMountedPaths(pathname: string, basePath: string): readonly string[] {
  if (basePath === "") return [pathname];
  if (pathname === basePath) return ["/"];
  return pathname.startsWith(`${basePath}/`) ? [pathname.slice(basePath.length), pathname] : [pathname];
}

/** Finds the route of a path that does not include the base path. */
export function findRoute(routes: readonly Route[], method: string, path: string): RouteMatch {
  const segments = splitPath(path);
  if (segments === null) return { type: "none" };
  const allowed: Method[] = [];
  for (const route of routes) {
    const params = matchPath(route.path.split("/").slice(1), segments);
    if (params === null) continue;
    if (route.method === method) return { type: "found", route, params };
    allowed.push(route.method);
  }
  return allowed.length === 0 ? { type: "none" } : { type: "other_method", allowed };
}

/** Null if a segment is not properly encoded. */
function splitPath(path: string): readonly string[] | null {
  try {
    return path.split("/").slice(1).map(decodeURIComponent);
  } catch {
    return null;
  }
}

function matchPath(
  pattern: readonly string[],
  segments: readonly string[],
): { readonly [name: string]: string } | null {
  if (pattern.length !== segments.length) return null;
  const params: { [name: string]: string } = {};
  for (const [index, expected] of pattern.entries()) {
    const segment = segments[index] ?? "";
    if (expected.startsWith(":")) params[expected.slice(1)] = segment;
    else if (segment !== expected) return null;
  }
  return params;
}
