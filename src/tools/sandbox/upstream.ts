/**
 * Connections from the sandbox's proxy to hosts, direct or through the proxy that the person's variables name.
 */
import dns, { type LookupAddress } from "node:dns";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { connect, isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { describeProxy, type HttpProxy } from "../web/proxy.js";
import { formatTarget, type HostTarget } from "./hosts.js";

const maxLookupMs = 10_000;
const maxConnectMs = 30_000;

export type ProxyStatus = 400 | 403 | 407 | 502;

/** A response of the proxy itself. */
export class ProxyError extends Error {
  readonly status: ProxyStatus;
  constructor(status: ProxyStatus, message: string) {
    super(message);
    this.status = status;
  }
}

export function requestThrough(
  { url }: HttpProxy,
  options: { method: string | undefined; headers: object; path: string },
) {
  const send = url.protocol === "https:" ? requestHttps : requestHttp;
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  return send({
    method: options.method ?? "GET",
    path: options.path,
    headers: options.headers as Record<string, string>,
    agent: false,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port,
    timeout: maxConnectMs,
  });
}

export function openThrough(parent: HttpProxy, target: HostTarget): Promise<Duplex> {
  const host = formatTarget(target);
  const authorized = parent.authorization === undefined ? {} : { "proxy-authorization": parent.authorization };
  return new Promise((resolve, reject) => {
    const failed = (why: string) => reject(new ProxyError(502, `${describeProxy(parent)} ${why}.`));
    const asked = requestThrough(parent, { method: "CONNECT", path: host, headers: { host, ...authorized } });
    asked.once("connect", ({ statusCode }, socket, head) => {
      if (statusCode === 200) {
        if (head.length > 0) socket.unshift(head);
        socket.setTimeout(0);
        resolve(socket);
        return;
      }
      socket.destroy();
      failed(statusCode === 407 ? `asks for credentials (407): set them in ${parent.variable}` : `said ${statusCode}`);
    });
    asked.once("response", ({ statusCode }) => failed(`said ${statusCode}`));
    asked.once("timeout", () => asked.destroy(new Error(`no response after ${maxConnectMs / 1000} s`)));
    asked.once("error", (error) => failed(`could not be reached: ${error.message}`));
    asked.end();
  });
}

export function openDirectly({ name, port }: HostTarget, addresses: readonly LookupAddress[]): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const failed = (why: string) => reject(new ProxyError(502, `${formatTarget({ name, port })} failed: ${why}.`));
    const socket = connect({
      host: name,
      port,
      autoSelectFamily: true,
      // The addresses that were checked: the name is not resolved again.
      lookup: (_name, options, callback) => {
        const [first] = addresses;
        if (options.all === true) callback(null, [...addresses]);
        else callback(null, first?.address ?? "", first?.family);
      },
    });
    socket.setTimeout(maxConnectMs, () => socket.destroy(new Error(`no response after ${maxConnectMs / 1000} s`)));
    socket.once("error", (error) => failed(error.message));
    socket.once("connect", () => {
      socket.setTimeout(0);
      socket.setNoDelay(true);
      resolve(socket);
    });
  });
}

export function toAddress(name: string): LookupAddress {
  return { address: name, family: isIP(name) };
}

/** A lookup cannot be aborted, but the wait for it can. */
export async function lookUp(name: string): Promise<readonly LookupAddress[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("no answer")), maxLookupMs);
  });
  try {
    return await Promise.race([dns.promises.lookup(name, { all: true }), late]);
  } finally {
    clearTimeout(timer);
  }
}
