/**
 * Sends a GET request through a proxy, which resolves the host's name.
 *
 * 1. An IP address in the URL is checked as without a proxy. If this machine can resolve a name, all of its addresses must be
 *    permitted. What the proxy resolves a name to cannot be checked; names that are known to be local are not sent to it.
 * 2. https goes through a tunnel (CONNECT), so the proxy sees only the host, and the certificate is checked here.
 */
import { type IncomingMessage, type RequestOptions, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { AddressRules } from "./address-rules.js";
import { describeProxy, type HttpProxy } from "./proxy.js";

/** Special-use names (RFC 6761, 6762, 8375, and the one for private networks), and the clouds' metadata names. */
const localNames = /(?:^|\.)(?:localhost|local|internal|home\.arpa|localdomain|intranet|corp|lan)$/;

/**
 * Whether a host may be requested through a proxy.
 * @param addresses the addresses that this machine resolves it to; null if it cannot
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
  const authorizationHeaders = proxy.authorization === undefined ? {} : { "proxy-authorization": proxy.authorization };
  if (url.protocol === "http:") {
    const response = await requestFromProxy(proxy, {
      path: url.href,
      headers: { ...headers, ...authorizationHeaders, host: url.host },
      signal,
    });
    if (response.statusCode === 407) throw createRefusalError(proxy, response);
    return response;
  }
  const tunnel = await openTunnel(proxy, url, authorizationHeaders, signal);
  return new Promise((resolve, reject) => {
    const request = requestHttps(url, { createConnection: () => tunnel, headers, signal }, resolve);
    request.on("error", reject);
    request.end();
  });
}

/** A request to the proxy itself. */
function requestFromProxy(proxy: HttpProxy, options: RequestOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = createProxyRequest(proxy, options);
    request.on("response", resolve);
    request.on("error", (error) => reject(createUnreachableError(proxy, error, options.signal)));
    request.end();
  });
}

function openTunnel(
  proxy: HttpProxy,
  url: URL,
  authorizationHeaders: { readonly [name: string]: string },
  signal: AbortSignal,
): Promise<TLSSocket> {
  const target = `${url.hostname}:${url.port === "" ? "443" : url.port}`;
  return new Promise((resolve, reject) => {
    const request = createProxyRequest(proxy, {
      method: "CONNECT",
      path: target,
      headers: { ...authorizationHeaders, host: target },
      signal,
    });
    request.on("response", (response) => {
      response.destroy();
      reject(createRefusalError(proxy, response));
    });
    request.on("connect", (response: IncomingMessage, socket) => {
      if (response.statusCode !== 200) {
        socket.destroy();
        reject(createRefusalError(proxy, response));
        return;
      }
      const host = url.hostname.replace(/^\[|\]$/g, "");
      const serverName = isIP(host) === 0 ? { servername: host } : {};
      resolve(connectTls({ socket, host, ...serverName }));
    });
    request.on("error", (error) => reject(createUnreachableError(proxy, error, signal)));
    request.end();
  });
}

function createProxyRequest({ url }: HttpProxy, options: RequestOptions) {
  const send = url.protocol === "https:" ? requestHttps : requestHttp;
  const defaultPort = url.protocol === "https:" ? 443 : 80;
  return send({
    ...options,
    agent: false,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? defaultPort : Number(url.port),
  });
}

function createRefusalError(proxy: HttpProxy, { statusCode }: IncomingMessage): Error {
  if (statusCode === 407)
    return new Error(
      `${capitalize(describeProxy(proxy))} asks for credentials (407). Put the right ones into ${proxy.variable}: http://USER:PASSWORD@HOST:PORT.`,
    );
  return new Error(`${capitalize(describeProxy(proxy))} refused the connection (status ${statusCode}).`);
}

function createUnreachableError(proxy: HttpProxy, error: Error, signal: AbortSignal | undefined): Error {
  if (signal?.aborted === true) return error;
  return new Error(`${capitalize(describeProxy(proxy))} could not be reached: ${error.message}`, { cause: error });
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
