/**
 * The sandbox's proxy: forwards plain HTTP and CONNECT to the hosts that a command may reach, and refuses all other hosts.
 *
 * 1. The name is checked first, then its addresses: a name is resolved once, and only checked addresses are connected to.
 * 2. Each command has its own credentials. So a host that a person allowed for one command is allowed for that command only, and a
 *    refusal is reported with its command. Clients without credentials reach the hosts that every command may reach; for other
 *    hosts they are asked for credentials, because curl and Git send them only then.
 * 3. A parent proxy resolves names itself. Addresses are then checked only if this machine can also resolve the name.
 */

import { randomBytes, timingSafeEqual } from "node:crypto";
import type { LookupAddress } from "node:dns";
import { createServer, type IncomingMessage, request as requestHttp, type ServerResponse } from "node:http";
import { isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { getErrorMessage } from "../../core/data/error-message.js";
import { createAddressRules } from "../web/address-rules.js";
import { canRequestThroughProxy } from "../web/proxied-request.js";
import { findProxy, type HttpProxy, type ProxyEnvironment } from "../web/proxy.js";
import { openProxyTunnel, requestFromProxy } from "../web/proxy-request.js";
import { type Refusal, type RefusalReason, refusalReasons } from "./contract.js";
import { formatTarget, type HostTarget, normalizeHost } from "./hosts.js";
import { lookUp, openDirectly, ProxyError, type ProxyStatus } from "./upstream.js";

export type SandboxProxyOptions = {
  /** The path of the Unix socket to listen on. */
  readonly path: string;
  /** Whether a client without credentials may reach a host. */
  readonly isReachable: IsReachable;
  /** Private addresses and ranges that names may resolve to. */
  readonly addresses: readonly string[];
  /** The variables that name a parent proxy. */
  readonly environment: ProxyEnvironment;
  /** Resolves a name. Default: this machine's resolver. */
  readonly lookup?: (name: string) => Promise<readonly LookupAddress[]>;
  /** The timeout for connecting to a parent proxy, in milliseconds. Default: 30,000. */
  readonly connectTimeoutMs?: number;
};

/** Whether a host may be reached. Called for each connection. */
export type IsReachable = (target: HostTarget) => boolean;

/** The access of one command to the proxy. */
export type ProxyGrant = {
  /** For `HTTPS_PROXY`: `user:password`. */
  readonly credentials: string;
  /** The first 20 refused hosts, in the order of their first requests. */
  readonly refusals: () => readonly Refusal[];
  /** Revokes the credentials, and closes the connections that used them. */
  readonly end: () => void;
};

export type SandboxProxy = {
  readonly grant: (isReachable: IsReachable) => ProxyGrant;
  readonly close: () => Promise<void>;
};

const maxConnections = 1_000;
const maxRefusals = 20;

type Client = {
  readonly isReachable: IsReachable;
  readonly password: Buffer;
  readonly refusals: Map<string, RefusalReason>;
  readonly sockets: Set<Duplex>;
};

export async function startSandboxProxy(options: SandboxProxyOptions): Promise<SandboxProxy> {
  const { path, isReachable, addresses, environment, lookup = lookUp, connectTimeoutMs } = options;
  const rules = createAddressRules(addresses);
  const clients = new Map<string, Client>();
  const anonymous = createClient(isReachable);
  let count = 0;

  const findClient = ({ headers }: IncomingMessage): Client => {
    const [, encoded = ""] = /^basic +([A-Za-z0-9+/=]+)$/i.exec(headers["proxy-authorization"] ?? "") ?? [];
    const [user = "", password = ""] = Buffer.from(encoded, "base64").toString("latin1").split(":");
    const client = clients.get(user);
    const given = Buffer.from(password, "latin1");
    const isKnown = client?.password.length === given.length && timingSafeEqual(client.password, given);
    return isKnown ? client : anonymous;
  };

  /** @returns the checked addresses; none with a parent proxy, which resolves the name itself */
  async function checkTarget(
    client: Client,
    target: HostTarget,
    parent: HttpProxy | null,
  ): Promise<readonly LookupAddress[]> {
    const refuse = (why: RefusalReason) => createRefusal(client, target, why);
    if (!client.isReachable(target)) throw client === anonymous ? refuseAnonymous(target) : refuse("unlisted");
    const family = isIP(target.name);
    const found = family === 0 ? await lookup(target.name).catch(() => null) : [{ address: target.name, family }];
    if (parent !== null) {
      if (!canRequestThroughProxy(target.name, found?.map(({ address }) => address) ?? null, rules))
        throw refuse("private");
      return [];
    }
    if (found === null || found.length === 0) throw refuse("unknown");
    const allowed = found.filter(({ address }) => rules.isAllowed(address));
    if (allowed.length === 0) throw refuse("private");
    return allowed;
  }

  /** If there is only one command, the client must belong to it. */
  function refuseAnonymous(target: HostTarget): ProxyError {
    const present = [...clients.values()];
    if (present.some((client) => client.isReachable(target)))
      return new ProxyError(407, "The sandbox's proxy requires the credentials in HTTPS_PROXY for this host.");
    const [only] = present;
    return createRefusal(only !== undefined && present.length === 1 ? only : anonymous, target, "unlisted");
  }

  async function tunnel(incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    try {
      const client = findClient(incoming);
      trackSocket(client, socket);
      const target = readTarget(incoming.url ?? "");
      const parent = findProxy(new URL(`https://${formatTarget(target)}/`), environment);
      const allowed = await checkTarget(client, target, parent);
      const upstream =
        parent === null
          ? await openDirectly(target, allowed)
          : await openProxyTunnel(parent, formatTarget(target), { connectTimeoutMs });
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      if (head.length > 0) upstream.write(head);
      join(socket, upstream);
    } catch (error) {
      const { status, message } = toProxyError(error);
      const text = `${message}\n`;
      const challengeLines = Object.entries(createChallenge(status)).map(([name, value]) => `${name}: ${value}\r\n`);
      const head = `HTTP/1.1 ${status} Refused\r\n${challengeLines.join("")}content-type: text/plain\r\nconnection: close`;
      socket.end(`${head}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
    }
  }

  async function forward(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const client = findClient(incoming);
      trackSocket(client, incoming.socket);
      const { target, url } = readHttpUrl(incoming.url ?? "");
      const parent = findProxy(url, environment);
      const allowed = await checkTarget(client, target, parent);
      const socket = parent === null ? await openDirectly(target, allowed) : null;
      // The client may have disconnected in the meantime.
      if (response.destroyed) {
        socket?.destroy();
        return;
      }
      const outgoing = request(incoming, url, socket, parent, connectTimeoutMs);
      const rejectResponse = (why: string) => {
        fail(response, new ProxyError(502, `${url.host} ${why}.`));
        outgoing.destroy();
      };
      outgoing.on("response", (answer) => {
        const { statusCode = 0 } = answer;
        // Node cannot send such a status.
        if (statusCode < 200 || statusCode > 999) return rejectResponse(`sent the invalid status ${statusCode}`);
        response.writeHead(statusCode, omitHopHeaders(answer.headers));
        // A truncated body must not look complete.
        answer.once("error", () => response.destroy());
        answer.pipe(response);
      });
      outgoing.once("upgrade", (_answer, upgraded) => {
        upgraded.destroy();
        rejectResponse("changed the protocol without being asked to");
      });
      outgoing.on("error", (error) => fail(response, new ProxyError(502, `${url.host} failed: ${error.message}.`)));
      response.once("close", () => outgoing.destroy());
      incoming.once("error", () => outgoing.destroy());
      incoming.pipe(outgoing);
    } catch (error) {
      fail(response, toProxyError(error));
    }
  }

  const server = createServer((incoming, response) => void forward(incoming, response));
  server.maxConnections = maxConnections;
  // Uploads may take any time. Node still limits the time for the headers of a request.
  server.requestTimeout = 0;
  const open = new Set<Duplex>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("close", () => open.delete(socket));
  });
  server.on("connect", (incoming, socket, head) => void tunnel(incoming, socket, head));
  server.on("clientError", (_error, socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
  // An open sandbox does not keep the process alive.
  server.unref();

  return {
    grant(isReachableHere) {
      count += 1;
      const user = `command-${count}`;
      const client = createClient(isReachableHere);
      clients.set(user, client);
      return {
        credentials: `${user}:${client.password.toString("latin1")}`,
        refusals: () => [...client.refusals].map(([host, why]) => ({ host, why })),
        end() {
          clients.delete(user);
          for (const socket of client.sockets) socket.destroy();
        },
      };
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of open) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

function createClient(isReachable: IsReachable): Client {
  const password = Buffer.from(randomBytes(18).toString("hex"), "latin1");
  return { isReachable, password, refusals: new Map(), sockets: new Set() };
}

function createRefusal({ refusals }: Client, target: HostTarget, why: RefusalReason): ProxyError {
  const host = formatTarget(target);
  if (refusals.size < maxRefusals || refusals.has(host)) refusals.set(host, why);
  return new ProxyError(403, `The sandbox refuses ${host}: ${refusalReasons[why]}.`);
}

function toProxyError(error: unknown): ProxyError {
  if (error instanceof ProxyError) return error;
  return new ProxyError(502, getErrorMessage(error));
}

function createChallenge(status: ProxyStatus): { readonly [name: string]: string } {
  return status === 407 ? { "proxy-authenticate": 'Basic realm="sandbox"' } : {};
}

function fail(response: ServerResponse, { status, message }: ProxyError): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { ...createChallenge(status), "content-type": "text/plain", connection: "close" });
  response.end(`${message}\n`);
}

/** Records a connection of a client. The connection is closed when the client's access ends. */
function trackSocket({ sockets }: Client, socket: Duplex): void {
  // A connection may carry several requests.
  if (sockets.has(socket)) return;
  sockets.add(socket);
  socket.once("close", () => sockets.delete(socket));
}

/** Pipes two sockets into each other until one of them closes. */
function join(one: Duplex, other: Duplex): void {
  // The client may have disconnected in the meantime.
  if (one.destroyed) {
    other.destroy();
    return;
  }
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on("error", () => to.destroy());
    from.once("close", () => to.destroy());
    from.pipe(to);
  }
}

/** Parses the target of a CONNECT: `host:port`. */
function readTarget(text: string): HostTarget {
  const [, host = "", port = ""] = /^(\[[0-9a-f:.]+\]|[^:\s/@[\]]+):(\d{1,5})$/i.exec(text) ?? [];
  const name = normalizeHost(host);
  if (name === null || Number(port) < 1 || Number(port) > 65_535)
    throw new ProxyError(400, "Invalid CONNECT target: expected host:port.");
  return { name, port: Number(port) };
}

function readHttpUrl(text: string): { readonly target: HostTarget; readonly url: URL } {
  const url = URL.canParse(text) ? new URL(text) : null;
  const name = url === null ? null : normalizeHost(url.hostname);
  if (url?.protocol !== "http:" || name === null)
    throw new ProxyError(
      400,
      "Invalid request: the sandbox's proxy forwards http:// URLs, and needs CONNECT for everything else.",
    );
  url.hostname = isIP(name) === 6 ? `[${name}]` : name;
  return { target: { name, port: Number(url.port || 80) }, url };
}

/** Headers that belong to one connection (RFC 9110, 7.6.1). */
const hopHeaders = ["connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "te"];
const framingHeaders = ["trailer", "transfer-encoding", "upgrade"];

function omitHopHeaders(headers: IncomingMessage["headers"]): IncomingMessage["headers"] {
  const named = String(headers.connection ?? "")
    .split(",")
    .map((name) => name.trim().toLowerCase());
  const dropped: ReadonlySet<string> = new Set([...hopHeaders, ...framingHeaders, ...named]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.has(name)));
}

function request(
  incoming: IncomingMessage,
  url: URL,
  socket: Socket | null,
  parent: HttpProxy | null,
  connectTimeoutMs: number | undefined,
) {
  const headers = {
    ...omitHopHeaders(incoming.headers),
    // Otherwise Node sends the body of a GET without framing, and the server would parse it as the next request.
    ...(incoming.headers["transfer-encoding"] === undefined ? {} : { "transfer-encoding": "chunked" }),
    // The host that was checked, regardless of the client's Host header.
    host: url.host,
    connection: "close",
  };
  const { method = "GET" } = incoming;
  if (parent !== null) return requestFromProxy(parent, { method, headers, path: url.href, connectTimeoutMs });
  const path = `${url.pathname}${url.search}`;
  return requestHttp({ method, headers, path, createConnection: () => socket as Socket });
}
