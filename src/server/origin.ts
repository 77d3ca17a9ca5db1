/**
 * Checks the host and origin of a request, on every route and before anything else. This stops pages of other sites, and host names
 * that an attacker points at this machine (SEC-2).
 */
import { ServerError } from "./server-error.js";

export type OriginRules = {
  /** The accepted values of `Host`. Default: the loopback names of this machine. */
  readonly hosts: readonly string[] | undefined;
  /** Other origins whose pages may send requests, with CORS headers. */
  readonly origins: readonly string[];
  /** The address at which the server's other processes reach this one. Its host is also accepted. */
  readonly peers?: { readonly address: string | null } | null;
};

const loopbackNames: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * @param port the port that the server listens on; null if it is unknown
 * @param isPageLoad whether the request only loads the empty page, to which any site may link
 * @throws ServerError `forbidden`
 */
export function checkOrigin(
  request: Request,
  { hosts, origins, peers }: OriginRules,
  port: number | null,
  isPageLoad = false,
): void {
  const host = (request.headers.get("host") ?? new URL(request.url).host).toLowerCase();
  if (!isOwnHost(host, hosts, port) && host !== peerHost(peers?.address ?? null))
    throw new ServerError(
      "forbidden",
      "The Host header does not name this server. Add the host to the server's option `hosts`.",
    );
  const origin = request.headers.get("origin");
  if (origin !== null && origins.includes(origin)) return;
  if (origin !== null && originHost(origin) !== host)
    throw new ServerError(
      "forbidden",
      "The Origin header is not allowed on this server. Add the origin to the server's option `origins`.",
    );
  const site = request.headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin" && site !== "none" && !isPageLoad)
    throw new ServerError(
      "forbidden",
      "The request comes from a page of another site, which this server does not allow.",
    );
}

function isOwnHost(host: string, hosts: readonly string[] | undefined, port: number | null): boolean {
  if (hosts !== undefined) return hosts.includes(host);
  const parsed = parseUrl(`http://${host}`);
  if (parsed === null || parsed.host !== host.replace(/:80$/, "") || !loopbackNames.has(parsed.hostname)) return false;
  return port === null || Number(parsed.port === "" ? 80 : parsed.port) === port;
}

function peerHost(address: string | null): string | null {
  if (address === null) return null;
  return address.startsWith("unix:") ? "localhost" : (parseUrl(address)?.host ?? null);
}

function originHost(origin: string): string | null {
  const parsed = parseUrl(origin);
  return parsed === null || parsed.origin !== origin ? null : parsed.host;
}

function parseUrl(url: string): URL | null {
  return URL.canParse(url) ? new URL(url) : null;
}

/** The CORS headers of a response, only for an origin in the server's options, and never with credentials. */
export function corsHeaders(request: Request, { origins }: OriginRules): { readonly [name: string]: string } {
  const origin = request.headers.get("origin");
  if (origin === null || !origins.includes(origin)) return {};
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": "retry-after, x-request-id",
    vary: "origin",
  };
}

export function respondToPreflight(request: Request, rules: OriginRules): Response | null {
  if (request.method !== "OPTIONS" || request.headers.get("access-control-request-method") === null) return null;
  const allowedHeaders = corsHeaders(request, rules);
  if (Object.keys(allowedHeaders).length === 0) return null;
  return new Response(null, {
    status: 204,
    headers: {
      ...allowedHeaders,
      "access-control-allow-methods": "GET, POST, PUT, DELETE",
      "access-control-allow-headers": "authorization, content-type, idempotency-key, last-event-id",
      "access-control-max-age": "600",
    },
  });
}
