/**
 * Sends a GET request through a proxy, which resolves the host name.
 *
 * 1. An IP address in the URL is checked as without a proxy. If this machine can resolve a name, all its addresses must be
 *    permitted. The proxy's own resolution cannot be checked; names that are known to be local are not sent to the proxy.
 * 2. https goes through a tunnel (CONNECT), so the proxy sees only the host, and the certificate is verified here.
 */
import type { IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import { connect as connectTls } from "node:tls";
import { getHost } from "../../platform/url-host.js";
import type { AddressRules } from "./address-rules.js";
import type { HttpProxy } from "./proxy.js";
import { createProxyRefusalError, openProxyTunnel, requestFromProxy, toProxyFailure } from "./proxy-request.js";

/** Special-use names (RFC 6761, 6762, 8375, and the one for private networks), and the clouds' metadata names. */
const localNames = /(?:^|\.)(?:localhost|local|internal|home\.arpa|localdomain|intranet|corp|lan)$/;

/**
 * Whether a host may be requested through a proxy.
 * @param addresses the addresses that this machine resolves the host to; null if it cannot
 */
export function canRequestThroughProxy(
  host: string,
  addresses: readonly string[] | null,
  rules: AddressRules,
): boolean {
  if (addresses !== null) return addresses.every(rules.isAllowed);
  const name = host.toLowerCase().replace(/\.$/, "");
  return name.includes(".") && !localNames.test(name);
}

export async function requestThroughProxy(
  proxy: HttpProxy,
  url: URL,
  headers: { readonly [name: string]: string },
  signal: AbortSignal,
): Promise<IncomingMessage> {
  if (url.protocol === "http:") {
    const response = await requestWhole(proxy, url, headers, signal);
    if (response.statusCode === 407) throw createProxyRefusalError(proxy, response);
    return response;
  }
  const host = getHost(url);
  const socket = await openProxyTunnel(proxy, `${url.hostname}:${url.port === "" ? "443" : url.port}`, { signal });
  const tunnel = connectTls({ socket, host, ...(isIP(host) === 0 ? { servername: host } : {}) });
  return new Promise((resolve, reject) => {
    const request = requestHttps(url, { createConnection: () => tunnel, headers, signal }, resolve);
    request.on("error", reject);
    request.end();
  });
}

/** The proxy gets the whole URL. */
function requestWhole(
  proxy: HttpProxy,
  url: URL,
  headers: { readonly [name: string]: string },
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = requestFromProxy(proxy, { path: url.href, headers: { ...headers, host: url.host }, signal });
    request.on("response", resolve);
    request.on("error", (error) => reject(toProxyFailure(proxy, error, signal)));
    request.end();
  });
}
