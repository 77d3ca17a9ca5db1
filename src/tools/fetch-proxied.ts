/**
 * One GET request through a proxy, which resolves the host's name.
 *
 * 1. An address in the URL is checked as without a proxy. A name that this machine can resolve must have permitted addresses alone.
 *    What the proxy resolves a name to cannot be checked; names that are known to be local are not sent to it.
 * 2. https goes through a tunnel (CONNECT), so the proxy sees the host alone, and the certificate is checked here.
 */
import { type IncomingMessage, type RequestOptions, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { AddressRules } from "./fetch-addresses.js";
import { describeProxy, type HttpProxy } from "./proxy.js";

/** Names of special use (RFC 6761, 6762, 8375, and the one for private networks), and those of clouds for metadata. */
const localNames = /(?:^|\.)(?:localhost|local|internal|home\.arpa|localdomain|intranet|corp|lan)$/;

/**
 * Whether a host may be asked for through a proxy.
 * @param addresses those that this machine resolves it to; null if it cannot
 */
export function mayAskProxy(host: string, addresses: readonly string[] | null, rules: AddressRules): boolean {
  if (addresses !== null) return addresses.every(rules.isAllowed);
  const name = host.toLowerCase().replace(/\.$/, "");
  return name.includes(".") && !localNames.test(name);
}

export async function getThrough(
  proxy: HttpProxy,
  url: URL,
  headers: { readonly [name: string]: string },
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const authorized = proxy.authorization === undefined ? {} : { "proxy-authorization": proxy.authorization };
  if (url.protocol === "http:") {
    const answer = await ask(proxy, { path: url.href, headers: { ...headers, ...authorized, host: url.host }, signal });
    if (answer.statusCode === 407) throw refused(proxy, answer);
    return answer;
  }
  const tunnel = await openTunnel(proxy, url, authorized, signal);
  return new Promise((resolve, reject) => {
    const request = requestHttps(url, { createConnection: () => tunnel, headers, signal }, resolve);
    request.on("error", reject);
    request.end();
  });
}

/** A request to the proxy itself. */
function ask(proxy: HttpProxy, options: RequestOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = requestOf(proxy, options);
    request.on("response", resolve);
    request.on("error", (error) => reject(unreachable(proxy, error, options.signal)));
    request.end();
  });
}

function openTunnel(
  proxy: HttpProxy,
  url: URL,
  authorized: { readonly [name: string]: string },
  signal: AbortSignal,
): Promise<TLSSocket> {
  const target = `${url.hostname}:${url.port === "" ? "443" : url.port}`;
  return new Promise((resolve, reject) => {
    const request = requestOf(proxy, {
      method: "CONNECT",
      path: target,
      headers: { ...authorized, host: target },
      signal,
    });
    request.on("response", (answer) => {
      answer.destroy();
      reject(refused(proxy, answer));
    });
    request.on("connect", (answer: IncomingMessage, socket) => {
      if (answer.statusCode !== 200) {
        socket.destroy();
        reject(refused(proxy, answer));
        return;
      }
      const host = url.hostname.replace(/^\[|\]$/g, "");
      const names = isIP(host) === 0 ? { servername: host } : {};
      resolve(connectTls({ socket, host, ...names }));
    });
    request.on("error", (error) => reject(unreachable(proxy, error, signal)));
    request.end();
  });
}

function requestOf({ url }: HttpProxy, options: RequestOptions) {
  const send = url.protocol === "https:" ? requestHttps : requestHttp;
  const defaultPort = url.protocol === "https:" ? 443 : 80;
  return send({
    ...options,
    agent: false,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? defaultPort : Number(url.port),
  });
}

function refused(proxy: HttpProxy, { statusCode }: IncomingMessage): Error {
  if (statusCode === 407)
    return new Error(
      `${capital(describeProxy(proxy))} asks for credentials (407). Put the right ones into ${proxy.variable}: http://USER:PASSWORD@HOST:PORT.`,
    );
  return new Error(`${capital(describeProxy(proxy))} refused the connection (status ${statusCode}).`);
}

function unreachable(proxy: HttpProxy, error: Error, signal: AbortSignal | undefined): Error {
  if (signal?.aborted === true) return error;
  return new Error(`${capital(describeProxy(proxy))} could not be reached: ${error.message}`, { cause: error });
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
