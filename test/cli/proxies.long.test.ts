/**
 * The command line behind the proxy of a company, which reaches servers whose certificates a private authority signs.
 */
import { readFileSync } from "node:fs";
import { request as requestHttp } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type ScriptedAnswer, startProviderServer } from "../models/provider-server.js";
import { type ForwardProxy, type ForwardProxyOptions, startForwardProxy } from "../support/forward-proxy.js";
import { startEverythingServer } from "../tools/mcp/mcp-servers.js";
import { verifies } from "../verifies.js";
import { createWorld, parseJsonLines } from "./pawl.js";

const tls = (name: string) => resolve("test/fixtures/tls", `company-${name}.pem`);

/** An https server in front of a server on this machine; gives its port. */
async function serveHttps(target: string | null): Promise<number> {
  const [key, cert] = ["key", "certificate"].map((name) => readFileSync(tls(name)));
  const server = createServer({ key, cert }, (request, response) => {
    if (target === null) {
      response.writeHead(200, { "content-type": "text/plain" }).end("a page of the company");
      return;
    }
    const { hostname, port, host } = new URL(target);
    const { method, url: path } = request;
    const passed = requestHttp({ hostname, port, method, path, headers: { ...request.headers, host } }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on("error", () => response.destroy());
    request.pipe(passed);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A provider behind a proxy, and the environment in which the command line finds both. */
async function company(script: readonly ScriptedAnswer[], options: Partial<ForwardProxyOptions> = {}) {
  const provider = await startProviderServer("openai-chat", script);
  onTestFinished(() => provider.close());
  const hosts = {
    "models.example.test": await serveHttps(provider.baseURL),
    "pages.example.test": await serveHttps(null),
  };
  const proxy = await startForwardProxy({ hosts, ...options });
  const env = (credentials = "") => ({
    OPENAI_BASE_URL: "https://models.example.test/v1",
    HTTPS_PROXY: `http://${credentials}127.0.0.1:${proxy.port}`,
    NODE_EXTRA_CA_CERTS: tls("ca"),
  });
  return { provider, proxy, hosts, env };
}

const model = ["--model", "openai-compatible/test"];
const targets = ({ requested }: ForwardProxy) => [...new Set(requested)].sort();

test("model calls and fetch_url go through HTTPS_PROXY, with its credentials", verifies("SEC-9"), async () => {
  const call = { name: "fetch_url", input: { url: "https://pages.example.test/page" } };
  const script = [
    { type: "answer", calls: [call] },
    { type: "answer", text: "Read it." },
  ] as const;
  const { provider, proxy, env } = await company(script, { credentials: "ada:p@ss" });
  const world = createWorld();
  const ended = await world.pawl(["run", ...model, "--yes", "go"], { env: env("ada:p%40ss@") });
  expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining("Read it.") });
  expect(targets(proxy)).toEqual(["CONNECT models.example.test:443", "CONNECT pages.example.test:443"]);
  expect(JSON.stringify(provider.requests.at(-1)?.body)).toContain("a page of the company");
});

test("wrong credentials of a proxy end a run at the first attempt, and say what to set", async () => {
  const { proxy, env } = await company([], { credentials: "ada:right" });
  const ended = await createWorld().pawl(["run", ...model, "go"], { env: env("ada:wrong-secret@") });
  expect(ended).toMatchObject({ code: 5, stderr: expect.stringContaining("The proxy asks for credentials (407)") });
  expect(`${ended.stdout}${ended.stderr}`).not.toContain("wrong-secret");
  expect(proxy.requested.filter((line) => line.startsWith("CONNECT models"))).toHaveLength(proxy.requested.length);
});

test("a proxy that is down is named, and the run goes on when it is back", async () => {
  const { proxy, hosts, env } = await company([{ type: "answer", text: "There again." }]);
  await proxy.kill();
  const running = createWorld().start(["run", ...model, "go"], { env: env(), input: "" });
  await running.said(`the proxy http://127.0.0.1:${proxy.port} (HTTPS_PROXY) could not be reached`);
  await startForwardProxy({ hosts, port: proxy.port });
  expect(await running.ended).toMatchObject({ code: 0, stdout: expect.stringContaining("There again.") });
});

test("MCP servers over HTTP go through it, and NODE_EXTRA_CA_CERTS counts for them", async () => {
  const server = new URL(await startEverythingServer());
  const hosts = { "tools.example.test": await serveHttps(server.origin) };
  const proxy = await startForwardProxy({ hosts });
  const world = createWorld();
  await world.pawl(["mcp", "add", "web", `https://tools.example.test${server.pathname}`]);
  const behind = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` };
  const tested = await world.pawl(["mcp", "test", "web", "--json"], {
    env: { ...behind, NODE_EXTRA_CA_CERTS: tls("ca") },
  });
  expect(parseJsonLines(tested.stdout)[0]).toMatchObject({
    ok: true,
    tools: expect.arrayContaining([expect.objectContaining({ name: "echo" })]),
  });
  expect(targets(proxy)).toEqual(["CONNECT tools.example.test:443"]);
  expect((await world.pawl(["mcp", "test", "web"], { env: behind })).code).toBe(5);
});

test("models on this machine are asked directly, and a variable that names no proxy is refused", async () => {
  const provider = await startProviderServer("openai-chat", [{ type: "answer", text: "From here." }]);
  onTestFinished(() => provider.close());
  const proxy = await startForwardProxy({ hosts: {} });
  const address = `http://127.0.0.1:${proxy.port}`;
  const env = { OPENAI_BASE_URL: provider.baseURL, HTTP_PROXY: address, HTTPS_PROXY: address };
  const world = createWorld();
  expect(await world.pawl(["run", ...model, "go"], { env })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("From here."),
  });
  expect(proxy.requested).toEqual([]);
  const wrong = await world.pawl(["run", ...model, "go"], { env: { ...env, HTTPS_PROXY: "socks5://u:secret@h:1" } });
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("HTTPS_PROXY does not name a usable proxy") });
  expect(wrong.stderr).not.toContain("secret");
});
