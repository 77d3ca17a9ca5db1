/**
 * Opens direct connections from the sandbox's proxy to hosts.
 */
import type { LookupAddress } from "node:dns";
import { connect, type Socket } from "node:net";
import { createFixedLookup, resolveAddresses } from "../web/resolve-host.js";
import { formatTarget, type HostTarget } from "./hosts.js";

const maxLookupMs = 10_000;
const maxConnectMs = 30_000;

export type ProxyStatus = 400 | 403 | 407 | 502;

/** An error response from the proxy itself. */
export class ProxyError extends Error {
  readonly status: ProxyStatus;
  constructor(status: ProxyStatus, message: string) {
    super(message);
    this.status = status;
  }
}

export function openDirectly({ name, port }: HostTarget, addresses: readonly LookupAddress[]): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const failed = (why: string) => reject(new ProxyError(502, `${formatTarget({ name, port })} failed: ${why}.`));
    const socket = connect({ host: name, port, autoSelectFamily: true, lookup: createFixedLookup(addresses) });
    socket.setTimeout(maxConnectMs, () => socket.destroy(new Error(`no response after ${maxConnectMs / 1000} s`)));
    socket.once("error", (error) => failed(error.message));
    socket.once("connect", () => {
      socket.setTimeout(0);
      socket.setNoDelay(true);
      resolve(socket);
    });
  });
}

export function lookUp(name: string): Promise<readonly LookupAddress[]> {
  return resolveAddresses(name, AbortSignal.timeout(maxLookupMs));
}
