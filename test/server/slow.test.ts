/**
 * Clients that are slow on purpose, over raw sockets: with their headers, with a body, and with taking an answer. Each is
 * ended in its time, and the others are served meanwhile.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createMemoryStore } from "../../src/index.js";
import { createServer, createToken } from "../../src/server/index.js";
import { verifies } from "../verifies.js";
import { type Rig, startTestServer } from "./rig.js";

type Client = {
  readonly socket: Socket;
  readonly got: () => string;
  /** Resolves when the server has ended the connection. */
  readonly ended: Promise<void>;
  /** Writes a byte every few milliseconds, as long as it can. */
  readonly dribble: () => void;
};

function clientOf({ url }: Pick<Rig, "url">): Client {
  const { hostname, port } = new URL(url);
  return clientOn(connect(Number(port), hostname));
}

function clientOn(socket: Socket): Client {
  let got = "";
  const left = new AbortController();
  socket.on("error", () => {});
  socket.on("data", (data) => {
    got += data;
  });
  const ended = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  onTestFinished(() => {
    left.abort();
    socket.destroy();
  });
  return {
    socket,
    got: () => got,
    ended,
    dribble() {
      const timer = setInterval(() => socket.writable && socket.write("x"), 10);
      left.signal.addEventListener("abort", () => clearInterval(timer));
      socket.once("close", () => clearInterval(timer));
    },
  };
}

const post = ({ url, token }: Rig, ...more: readonly string[]) =>
  [
    "POST /v1/sessions HTTP/1.1",
    `Host: ${new URL(url).host}`,
    `Authorization: Bearer ${token}`,
    "Content-Type: application/json",
    ...more,
    "",
    "",
  ].join("\r\n");

/** The JSON of an answer, which may come in chunks. */
const bodyOf = (answer: string) =>
  JSON.parse(answer.slice(answer.indexOf("{"), answer.lastIndexOf("}") + 1)) as { readonly error: unknown };

describe("a client that is slow", () => {
  test("with its headers is told 408, and its connection ends", verifies("SEC-4"), async () => {
    const rig = await startTestServer({ limits: { headersMs: 1_000 } });
    const clients = Array.from({ length: 20 }, () => clientOf(rig));
    for (const { socket, dribble } of clients) {
      socket.write("GET /v1/sessions HTTP/1.1\r\nHost: ");
      dribble();
    }
    expect((await rig.ask("GET", "/v1/sessions")).status).toBe(200);
    await Promise.all(clients.map(({ ended }) => ended));
    for (const { got } of clients) expect(got()).toMatch(/^HTTP\/1\.1 408 /);
  });

  test.each([
    ["that says its length", "Content-Length: 10000"],
    ["in chunks", "Transfer-Encoding: chunked"],
  ])("with a body %s is told 408 with a code, and its connection ends", verifies("SEC-4"), async (_, header) => {
    const rig = await startTestServer({ limits: { bodyMs: 100 } });
    const client = clientOf(rig);
    client.socket.write(post(rig, header));
    if (header.startsWith("Transfer")) client.socket.write("1\r\n{\r\n");
    else client.dribble();
    await client.ended;
    expect(client.got()).toMatch(/^HTTP\/1\.1 408 /);
    expect(client.got()).toMatch(/^connection: close\r$/im);
    expect(bodyOf(client.got()).error).toMatchObject({
      code: "too_slow",
      message: "The body did not arrive within 100 ms.",
    });
    expect((await rig.ask("GET", "/v1/sessions")).status).toBe(200);
  });

  test("with a body that nobody asked for is cut off, too", verifies("SEC-4"), async () => {
    const rig = await startTestServer({});
    const client = clientOf(rig);
    client.socket.write(post(rig, "Content-Length: 10").replace("POST", "GET"));
    await client.ended;
    expect(client.got()).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("holds no connection without a token", verifies("SEC-4"), async () => {
    const rig = await startTestServer({});
    const client = clientOf(rig);
    client.socket.write(post(rig, "Content-Length: 10000").replace(/Bearer .*/, "Bearer none"));
    await client.ended;
    expect(client.got()).toMatch(/^HTTP\/1\.1 401 /);
  });

  test.each([
    ["/v1/sessions", "begin"],
    ["/hooks/shop", "webhook"],
  ])("and leaves within its body at %s is no failure of the server", verifies("SEC-4"), async (path, action) => {
    const verify = async () => ({ id: "1", value: null });
    const rig = await startTestServer({ webhooks: { "/hooks/shop": { verify, signal: () => null } } });
    const client = clientOf(rig);
    client.socket.write(`${post(rig, "Content-Length: 100").replace("/v1/sessions", path)}{"agent":`);
    client.socket.end();
    const counted = async () =>
      String((await rig.ask("GET", "/metrics")).json).match(new RegExp(`action="${action}",status="(\\d+)"`))?.[1];
    await expect.poll(counted).toBe("400");
    expect(rig.lines).toEqual([]);
  });

  test("has no more bodies under way than changes in a minute", verifies("SEC-4"), async () => {
    const rig = await startTestServer({ limits: { changesPerMinute: 3 } });
    const clients = Array.from({ length: 4 }, () => clientOf(rig));
    for (const { socket } of clients) socket.write(post(rig, "Content-Length: 100"));
    await Promise.race(clients.map(({ ended }) => ended));
    expect(clients.map(({ got }) => got().slice(0, 12)).toSorted()).toEqual(["", "", "", "HTTP/1.1 429"]);
  });

  test("with taking its answers is cut off, and holds nothing", verifies("SEC-4"), async () => {
    const folder = mkdtempSync(join(tmpdir(), "pawl-slow-"));
    const token = createToken();
    const server = createServer({ store: createMemoryStore(), agents: [], token, limits: { bodyMs: 50 } });
    const http = createHttpServer(server.httpOptions, server.listener);
    await new Promise<void>((resolve) => http.listen(join(folder, "s"), resolve));
    onTestFinished(async () => {
      await server.close();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
      rmSync(folder, { recursive: true });
    });
    const ask = `GET /v1/agents HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    const stuck = connect(join(folder, "s"));
    onTestFinished(() => {
      stuck.destroy();
    });
    stuck.on("error", () => {});
    stuck.write(ask.repeat(2_000));
    await new Promise((resolve) => http.once("request", resolve));
    await new Promise<void>((resolve) => {
      const look = () => http.getConnections((_, count) => (count === 0 ? resolve() : setTimeout(look, 20)));
      look();
    });
    // What the socket had taken by then, of 2,000 answers.
    expect(stuck.bytesRead).toBeLessThan(400_000);
  });
});
