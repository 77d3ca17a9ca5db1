/**
 * Sends requests to an HTTP proxy: absolute URLs for http, and tunnels (CONNECT) for everything else.
 */
import { type ClientRequest, type IncomingMessage, type RequestOptions, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Socket } from "node:net";
import { getHost } from "../../platform/url-host.js";
import { describeProxy, type HttpProxy } from "./proxy.js";

/** The timeout for connecting to a proxy, and for its response to CONNECT, in milliseconds. */
const maxConnectMs = 30_000;

export type ProxyRequestOptions = Pick<RequestOptions, "method" | "path"> & {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly signal?: AbortSignal | undefined;
  /** Default: 30,000 ms. */
  readonly connectTimeoutMs?: number | undefined;
};

/** Sends a request to the proxy itself, with its credentials. Fails if the proxy cannot be connected to in time. */
export function requestFromProxy(proxy: HttpProxy, options: ProxyRequestOptions): ClientRequest {
  const { url, authorization } = proxy;
  const { connectTimeoutMs = maxConnectMs, signal, headers, ...others } = options;
  const isSecure = url.protocol === "https:";
  const request = (isSecure ? requestHttps : requestHttp)({
    ...others,
    ...(signal === undefined ? {} : { signal }),
    headers: { ...headers, ...(authorization === undefined ? {} : { "proxy-authorization": authorization }) },
    agent: false,
    host: getHost(url),
    port: url.port === "" ? (isSecure ? 443 : 80) : Number(url.port),
  });
  const stopTimer = startTimer(request, connectTimeoutMs, "no connection");
  request.once("socket", (socket) => socket.once(isSecure ? "secureConnect" : "connect", stopTimer));
  return request;
}

/**
 * Opens a tunnel to `target`, a host with its port.
 *
 * @throws Error that names the proxy and its variable; the signal's reason if it was aborted
 */
export function openProxyTunnel(
  proxy: HttpProxy,
  target: string,
  { signal, connectTimeoutMs = maxConnectMs }: Pick<ProxyRequestOptions, "signal" | "connectTimeoutMs"> = {},
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const options = { method: "CONNECT", path: target, headers: { host: target }, signal, connectTimeoutMs };
    const request = requestFromProxy(proxy, options);
    const stopTimer = startTimer(request, connectTimeoutMs, "no response");
    request.on("response", (response) => {
      response.destroy();
      reject(createProxyRefusalError(proxy, response));
    });
    request.on("connect", (response, socket: Socket, head) => {
      stopTimer();
      if (response.statusCode !== 200) {
        socket.destroy();
        reject(createProxyRefusalError(proxy, response));
        return;
      }
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    request.on("error", (error) => reject(toProxyFailure(proxy, error, signal)));
    request.end();
  });
}

/** Ends the request after the timeout, unless the returned function is called first. */
function startTimer(request: ClientRequest, ms: number, problem: string): () => void {
  const timer = setTimeout(() => request.destroy(new Error(`${problem} within ${ms} ms`)), ms);
  const stop = () => clearTimeout(timer);
  request.once("close", stop);
  return stop;
}

export function createProxyRefusalError(proxy: HttpProxy, { statusCode }: IncomingMessage): Error {
  if (statusCode === 407)
    return new Error(
      `${capitalize(describeProxy(proxy))} asks for credentials (407). Set them in ${proxy.variable}: http://USER:PASSWORD@HOST:PORT.`,
    );
  return new Error(`${capitalize(describeProxy(proxy))} refused the connection (status ${statusCode}).`);
}

/** Adds the proxy's name to the error of a request to it. An abort is returned unchanged. */
export function toProxyFailure(proxy: HttpProxy, error: Error, signal: AbortSignal | undefined): Error {
  if (signal?.aborted === true) return error;
  return new Error(`${capitalize(describeProxy(proxy))} could not be reached: ${error.message}`, { cause: error });
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
