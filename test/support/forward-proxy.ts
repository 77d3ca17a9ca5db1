/**
 * An HTTP proxy as companies have one: tunnels for https, whole addresses for http. It resolves names by a table of the test.
 */
import { createServer, request as requestHttp } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export type ForwardProxy = {
  readonly port: number;
  /** What it was asked for: `CONNECT host:443`, `GET http://host/`. */
  readonly requested: readonly string[];
  /** Ends it, with all connections. */
  readonly kill: () => Promise<void>;
};

export type ForwardProxyOptions = {
  /** The ports on this machine that names lead to. */
  readonly hosts: { readonly [name: string]: number };
  /** `user:password`, without which it answers 407. */
  readonly credentials?: string;
  /** The status with which it refuses every tunnel. */
  readonly refusalStatus?: number;
  /** Default: any free one. */
  readonly port?: number;
};

export async function startForwardProxy(options: ForwardProxyOptions): Promise<ForwardProxy> {
  const { hosts, credentials, refusalStatus } = options;
  const requested: string[] = [];
  const sockets = new Set<Socket>();
  const isAuthorized = (header: string | undefined) =>
    credentials === undefined || header === `Basic ${Buffer.from(credentials).toString("base64")}`;

  const server = createServer((request, response) => {
    requested.push(`${request.method} ${request.url}`);
    if (!isAuthorized(request.headers["proxy-authorization"])) {
      response.writeHead(407, { "proxy-authenticate": "Basic" }).end();
      return;
    }
    const url = new URL(request.url ?? "");
    const forwarded = requestHttp(
      { port: hosts[url.hostname], path: url.pathname, headers: request.headers },
      (upstreamResponse) => {
        response.writeHead(upstreamResponse.statusCode ?? 502, upstreamResponse.headers);
        upstreamResponse.pipe(response);
      },
    );
    forwarded.on("error", () => response.writeHead(502).end());
    request.pipe(forwarded);
  });
  server.on("connect", (request, client: Socket, head) => {
    requested.push(`CONNECT ${request.url}`);
    client.on("error", () => {});
    const status = isAuthorized(request.headers["proxy-authorization"]) ? refusalStatus : 407;
    if (status !== undefined) {
      client.end(`HTTP/1.1 ${status} No\r\nproxy-authenticate: Basic\r\n\r\n`);
      return;
    }
    const port = hosts[(request.url ?? "").replace(/:\d+$/, "")];
    if (port === undefined) {
      client.end("HTTP/1.1 502 No such host\r\n\r\n");
      return;
    }
    const upstream = connect(port, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      upstream.write(head);
      client.pipe(upstream).pipe(client);
    });
    upstream.on("error", () => client.destroy());
    upstream.on("close", () => client.destroy());
    client.on("close", () => upstream.destroy());
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, "127.0.0.1", resolve));
  const kill = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  onTestFinished(kill);
  return { port: (server.address() as AddressInfo).port, requested, kill };
}
