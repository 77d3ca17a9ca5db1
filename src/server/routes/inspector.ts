/**
 * The inspector: an empty page and its two files, which anyone may load. Everything that it shows comes from the other routes, which
 * require the access of a start link (SEC-2).
 */

import type { InspectorFile } from "../inspector-files.js";
import { listMountedPaths, type Route, type RouteRequest } from "../route.js";
import type { RouteResponse } from "../route-response.js";
import type { ServerContext } from "../server-context.js";
import { ServerError } from "../server-error.js";
import type { ServerSettings } from "../server-settings.js";

/** The name of the only policy of trusted types: `push.ts` of the inspector. */
const workerPolicy = "service-worker";

/**
 * Only this server's own script and style run, and nothing else is reachable. Text cannot become markup: with trusted types but no
 * policy for it, the browser refuses to parse any (UI-3). The only policy lets the page register its own service worker.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  `trusted-types ${workerPolicy}`,
].join("; ");

/** A browser keeps a service worker under its address, so the name is always the same. */
const serviceWorkerName = "service-worker.js";

/** Only servers with `ui: true` have these routes. They are not part of the API, so the OpenAPI document does not include them. */
export const inspectorRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/",
    action: "page",
    scope: null,
    summary: "The inspector.",
    responses: { 200: "text/html" },
    handle: page,
  },
  {
    method: "GET",
    path: "/ui/:name",
    action: "page",
    scope: null,
    summary: "A file of the inspector. The names of the script and the style have a hash of their content.",
    responses: { 200: "the file" },
    handle: serveFile,
  },
];

/** Any page, mail or chat may link to the empty page. The requests of that page then come from its own origin. */
export function isPageLoad(request: Request, { ui, basePath }: ServerSettings): boolean {
  const paths = listMountedPaths(new URL(request.url).pathname, basePath);
  return (
    ui &&
    request.method === "GET" &&
    paths.includes("/") &&
    request.headers.get("sec-fetch-mode") === "navigate" &&
    request.headers.get("sec-fetch-dest") === "document"
  );
}

async function page(_: RouteRequest, { settings }: ServerContext): Promise<RouteResponse> {
  const { page } = await import("../inspector-files.js");
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": contentSecurityPolicy,
    "cross-origin-opener-policy": "same-origin",
  };
  return { status: 200, bytes: new TextEncoder().encode(page.replaceAll("{{base}}", settings.basePath)), headers };
}

async function serveFile({ params }: RouteRequest): Promise<RouteResponse> {
  const { files } = await import("../inspector-files.js");
  const inspectorFile = files.find(({ name }: InspectorFile) => name === params.name);
  if (inspectorFile === undefined)
    throw new ServerError("not_found", "The inspector has no such file. Load the page again.");
  const isHashed = inspectorFile.name !== serviceWorkerName;
  const headers = {
    "content-type": inspectorFile.type,
    "cache-control": isHashed ? "public, max-age=31536000, immutable" : "no-cache",
  };
  return { status: 200, bytes: new TextEncoder().encode(inspectorFile.text), headers };
}
