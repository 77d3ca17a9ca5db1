/**
 * The server in other programs: under `node:http`, Express, Hono, and a function from a request to a response.
 */
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createRequire } from "node:module";
import { Hono } from "hono";
import { describe, expect, onTestFinished, test } from "vitest";
import { createAgent, createMemoryStore } from "../../src/index.js";
import { followSession } from "../../src/server/client/index.js";
import { createServer, createToken, type Server } from "../../src/server/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";
import { eventsIn, framesOf } from "./rig.js";

type Express = RequestListener & {
  readonly use: (path: string, handler: (request: never, response: never) => void) => void;
  readonly get: (path: string, handler: (request: never, response: { end: (text: string) => void }) => void) => void;
};
const express = createRequire(import.meta.url)("express") as () => Express;

async function listen(listener: RequestListener): Promise<string> {
  const http = createHttpServer(listener);
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  const address = http.address();
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
}

function mounted(basePath: string) {
  const store = createMemoryStore();
  const model = createScriptedModel(() => ({ text: "Word by word by word.", chunk: 3 }));
  const agent = createAgent({ name: "writer", store, model });
  const token = createToken();
  const server = createServer({ store, agents: [agent], token, basePath });
  onTestFinished(() => server.close({ graceMs: 0 }));
  return { server, token };
}

/** Begins a session, streams it to its end, and asks for what there is not. */
async function tryAll(url: string, token: string, ask: typeof fetch = fetch) {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const body = JSON.stringify({ agent: "writer", input: "Write." });
  const begun = await ask(`${url}/v1/sessions`, { method: "POST", headers, body });
  expect(begun.status).toBe(201);
  const { sessionId, runId } = (await begun.json()) as { sessionId: string; runId: string };
  const stream = followSession({
    url: `${url}/v1/sessions/${sessionId}/stream?runId=${runId}&until=run`,
    headers: { authorization: headers.authorization },
    fetch: ask,
  });
  const frames = await framesOf(stream);
  expect(frames[0]?.data.type).toBe("open");
  expect(eventsIn(frames).at(-1)).toMatchObject({ type: "final", result: { text: "Word by word by word." } });
  expect((await ask(`${url}/v1/sessions`)).status).toBe(401);
  expect((await ask(`${url}/v1/nothing`, { headers })).status).toBe(404);
  const { servers } = (await (await ask(`${url}/openapi.json`, { headers })).json()) as {
    servers: readonly { readonly url: string }[];
  };
  expect(url.endsWith(servers[0]?.url === "/" ? "" : (servers[0]?.url ?? "?"))).toBe(true);
}

describe.each(["", "/pawl", "/api/v2/pawl"])("a server under %j", (basePath) => {
  test("in node:http", verifies("SRV-1"), async () => {
    const { server, token } = mounted(basePath);
    await tryAll(`${await listen(server.listener)}${basePath}`, token);
  });

  test("in Express, beside other routes", verifies("SRV-1"), async () => {
    const { server, token } = mounted(basePath);
    const app = express();
    app.get("/own", (_, response) => response.end("own"));
    app.use(basePath === "" ? "/" : basePath, (request: never, response: never) => {
      // Express takes its mount path off; the server goes by the whole one.
      const { originalUrl } = request as { readonly originalUrl: string };
      server.listener(Object.assign(request as object, { url: originalUrl }) as never, response);
    });
    const url = await listen(app);
    await tryAll(`${url}${basePath}`, token);
    expect(await (await fetch(`${url}/own`)).text()).toBe("own");
  });

  test("in Hono", verifies("SRV-1"), async () => {
    const { server, token } = mounted(basePath);
    const app = new Hono();
    app.get("/own", (context) => context.text("own"));
    app.all(`${basePath}/*`, (context) => server.fetch(context.req.raw));
    const ask = ((input: string | URL, init?: RequestInit) => app.request(String(input), init)) as typeof fetch;
    await tryAll(`http://localhost${basePath}`, token, ask);
    expect(await (await ask("http://localhost/own")).text()).toBe("own");
  });

  test("as the handlers of a route of Next.js", verifies("SRV-1"), async () => {
    const { server, token } = mounted(basePath);
    const route = handlersOf(server);
    const ask = (async (input: string | URL, init?: RequestInit) => {
      const request = new Request(input, init);
      return route[request.method as keyof typeof route](request);
    }) as typeof fetch;
    await tryAll(`http://localhost${basePath}`, token, ask);
  });
});

/** `app/api/[[...path]]/route.ts` exports a function for each method. */
function handlersOf({ fetch: handle }: Server) {
  return { GET: handle, POST: handle, DELETE: handle } as const;
}
