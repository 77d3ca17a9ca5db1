/**
 * A server that shuts down in the documented order: whoever waits gets a clean end, and hears when to come back.
 */
import { createServer as createHttpServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { createAgent, createMemoryStore } from "../../src/index.js";
import { createServer, createToken } from "../../src/server/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";

async function start() {
  const store = createMemoryStore();
  const never = new Promise(() => {});
  const agent = createAgent({
    name: "slow",
    store,
    model: createScriptedModel(() => ({ text: "Late.", wait: never })),
  });
  const token = createToken();
  const limits = { waitsPerPrincipal: 200, changesPerMinute: 1_000 };
  const origins = ["https://pages.example"];
  const server = createServer({ store, agents: [agent], token, limits, origins });
  const http = createHttpServer(server.httpOptions, server.listener);
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => http.closeAllConnections());
  const address = http.address();
  const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`${url}${path}`, { ...init, headers: { ...headers, ...init.headers } });
  const begun = await ask("/v1/sessions", { method: "POST", body: '{ "agent": "slow", "input": "Go." }' });
  const { sessionId, runId } = (await begun.json()) as { sessionId: string; runId: string };
  return { store, server, http, ask, sessionId, runId };
}

test("each of 100 readers that wait for a result is told to ask again, and none is refused", async () => {
  const { store, server, http, ask, sessionId, runId } = await start();
  const path = `/v1/sessions/${sessionId}/runs/${runId}?wait=60`;
  let asked = 0;
  const allAsked = new Promise<void>((resolve) => {
    http.on("request", () => {
      asked += 1;
      if (asked === 100) resolve();
    });
  });
  const readers = Array.from({ length: 100 }, () => ask(path));
  await allAsked;
  await server.close({ graceMs: 0 });
  http.close();
  await store.close();
  const answers = await Promise.all(readers);
  expect(answers.map(({ status }) => status)).toEqual(Array(100).fill(202));
  expect(new Set(answers.map(({ headers }) => headers.get("retry-after")))).toEqual(new Set(["1"]));
  expect(new Set(answers.map(({ headers }) => headers.get("connection")))).toEqual(new Set(["close"]));
  expect(await answers[0]?.json()).toEqual({ runId });
});

test("a stream that is opened while the server drains ends with bye, and says when to come back", async () => {
  const { server, ask, sessionId } = await start();
  await server.close({ graceMs: 0 });
  const stream = await ask(`/v1/sessions/${sessionId}/stream`);
  expect(stream.status).toBe(200);
  const text = await stream.text();
  expect(text).toMatch(/^retry: \d+$/m);
  expect(text).toContain('"why":"drain"');
});

test("every 503 has Retry-After, which pages of other origins may read", async () => {
  const { store, server, ask } = await start();
  const { paths } = (await (await ask("/openapi.json")).json()) as {
    readonly paths: { readonly [path: string]: { readonly [method: string]: unknown } };
  };
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ path, method })),
  );
  await server.close({ graceMs: 0 });
  await store.close();
  const refused: string[] = [];
  for (const { path, method } of all) {
    const isGet = method === "get";
    const response = await ask(path.replace(/\{\w+\}/g, "x"), {
      method: method.toUpperCase(),
      headers: { origin: "https://pages.example" },
      ...(isGet ? {} : { body: "{}" }),
    });
    if (response.status !== 503) continue;
    refused.push(`${method} ${path}`);
    expect(Number(response.headers.get("retry-after")), path).toBeGreaterThan(0);
    expect(response.headers.get("access-control-expose-headers"), path).toContain("retry-after");
  }
  const changes = all.filter(({ method, path }) => method !== "get" && !path.startsWith("/v1/ui/"));
  expect(refused).toEqual(expect.arrayContaining(changes.map(({ path, method }) => `${method} ${path}`)));
  expect(refused).toEqual(expect.arrayContaining(["get /ready", "get /v1/sessions"]));
});
