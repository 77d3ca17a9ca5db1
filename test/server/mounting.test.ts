/**
 * The server inside other programs: the lines of the guide (docs/guide/server.md), run with the real packages.
 */

import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer as createHttpServer, type Server as HttpServer, type RequestListener } from "node:http";
import { createRequire } from "node:module";
import { Hono } from "hono";
import ts from "typescript";
import { describe, expect, onTestFinished, test } from "vitest";
import { createAgent, createMemoryStore } from "../../src/index.js";
import { followSession } from "../../src/server/client/index.js";
import {
  createServer,
  createToken,
  type Server,
  type ServerLimits,
  type ServerOptions,
} from "../../src/server/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { stripe } from "../../src/webhooks/index.js";
import { verifies } from "../verifies.js";
import { collectFrames, pickLoggedEvents } from "./rig.js";

type Handler = (request: never, response: never, next?: () => void) => void;
type Express = RequestListener & {
  readonly use: (...handlers: readonly (string | Handler)[]) => void;
  readonly get: (path: string, handler: (request: never, response: { end: (text: string) => void }) => void) => void;
};
type Fastify = {
  readonly get: (path: string, handler: () => string) => void;
  readonly post: (path: string, handler: (request: { readonly body: unknown }) => object) => void;
  readonly listen: (options: { readonly port: number; readonly host: string }) => Promise<string>;
  readonly close: () => Promise<void>;
};
type ExpressPackage = (() => Express) & {
  readonly [parser in "json" | "urlencoded" | "raw" | "text"]: (options?: object) => Handler;
};
const load = createRequire(import.meta.url);
const express = load("express") as ExpressPackage;

async function listen(listener: RequestListener | HttpServer): Promise<string> {
  const http = typeof listener === "function" ? createHttpServer(listener) : listener;
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  const address = http.address();
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
}

function mounted(
  basePath: string | undefined,
  limits: ServerLimits = {},
  more: Pick<ServerOptions, "webhooks" | "log" | "origins"> = {},
) {
  const store = createMemoryStore();
  const model = createScriptedModel(() => ({ text: "Word by word by word.", chunk: 3 }));
  const agent = createAgent({ name: "writer", store, model });
  const token = createToken();
  const path = basePath === undefined ? {} : { basePath };
  const server = createServer({ store, agents: [agent], token, limits, ...path, ...more });
  onTestFinished(() => server.close({ graceMs: 0 }));
  return { server, token };
}

const secret = "whsec_test";
const webhooks = { "/hooks/stripe": { verify: stripe(secret), signal: () => ({ key: "paid" }) } };

/** Delivers an event with line breaks and spaces, as Stripe does. */
function deliver(url: string): Promise<Response> {
  const body = JSON.stringify({ id: "evt_1", type: "paid" }, null, 2);
  const at = Math.floor(Date.now() / 1_000);
  const signature = createHmac("sha256", secret).update(`${at}.${body}`).digest("hex");
  const headers = { "content-type": "application/json", "stripe-signature": `t=${at},v1=${signature}` };
  return fetch(url, { method: "POST", headers, body });
}

/** Begins a session, streams it to its end, and asks for what there is not. */
async function tryAll(url: string, token: string, ask: typeof fetch = fetch) {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const body = JSON.stringify({ agent: "writer", input: "Write." });
  const begun = await ask(`${url}/v1/sessions`, { method: "POST", headers, body });
  expect(begun.status, await begun.clone().text()).toBe(201);
  const { sessionId, runId } = (await begun.json()) as { sessionId: string; runId: string };
  const stream = followSession({
    url: `${url}/v1/sessions/${sessionId}/stream?runId=${runId}&until=run`,
    headers: { authorization: headers.authorization },
    fetch: ask,
  });
  const frames = await collectFrames(stream);
  expect(frames[0]?.data.type).toBe("open");
  expect(pickLoggedEvents(frames).at(-1)).toMatchObject({ type: "final", result: { text: "Word by word by word." } });
  expect((await ask(`${url}/v1/sessions`)).status).toBe(401);
  expect((await ask(`${url}/v1/nothing`, { headers })).status).toBe(404);
}

/** The address that the OpenAPI document gives is that of the server. */
async function tryAddress(url: string, token: string, ask: typeof fetch = fetch) {
  const headers = { authorization: `Bearer ${token}` };
  const document = await (await ask(`${url}/openapi.json`, { headers })).json();
  const { servers } = document as { readonly servers: readonly { readonly url: string }[] };
  expect(url.endsWith(servers[0]?.url === "/" ? "" : (servers[0]?.url ?? "?"))).toBe(true);
}

const guide = readFileSync("docs/guide/server.md", "utf8");

/** Runs the code of a section of the guide with a server, and gives the names that it declares. */
function runGuide(section: string, server: Server, names: readonly string[]): { readonly [name: string]: unknown } {
  const code = new RegExp(`^### ${section}\n[\\s\\S]*?^\`\`\`ts\n([\\s\\S]*?)^\`\`\`$`, "m").exec(guide)?.[1];
  if (code === undefined) throw new Error(`The guide has no code for ${section}.`);
  const compilerOptions = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022, esModuleInterop: true };
  const { outputText } = ts.transpileModule(code, { compilerOptions });
  const exported: { [name: string]: unknown } = {};
  const found = names.map((name) => `${name}: typeof ${name} === "undefined" ? exports.${name} : ${name}`).join(", ");
  return new Function("require", "exports", "server", `${outputText}\nreturn { ${found} };`)(load, exported, server);
}

describe.each(["/pawl", undefined])("with basePath %j, the guide's lines mount the server", (basePath) => {
  test("in Express, with express.json() before it", verifies("SRV-1"), async () => {
    const { server, token } = mounted(basePath);
    const { app } = runGuide("Express", server, ["app"]) as { app: Express };
    app.get("/own", (_, response) => response.end("own"));
    const url = await listen(app);
    await tryAll(`${url}/pawl`, token);
    if (basePath !== undefined) await tryAddress(`${url}/pawl`, token);
    expect(await (await fetch(`${url}/own`)).text()).toBe("own");
  });

  test("in Hono, with app.mount", verifies("SRV-1"), async () => {
    expect(guide).toContain('`app.mount("/pawl", server.fetch)`');
    const { server, token } = mounted(basePath);
    const app = new Hono();
    app.get("/own", (context) => context.text("own"));
    app.mount("/pawl", server.fetch);
    const ask = ((input: string | URL, init?: RequestInit) => app.request(String(input), init)) as typeof fetch;
    await tryAll("http://localhost/pawl", token, ask);
    if (basePath !== undefined) await tryAddress("http://localhost/pawl", token, ask);
    expect(await (await ask("http://localhost/own")).text()).toBe("own");
  });
});

describe("where a framework leaves the path on, the guide's lines mount the server", () => {
  test("in Hono, with app.all", verifies("SRV-1"), async () => {
    const { server, token } = mounted("/pawl");
    const { app } = runGuide("Hono", server, ["app"]) as { app: Hono };
    const ask = ((input: string | URL, init?: RequestInit) => app.request(String(input), init)) as typeof fetch;
    await tryAll("http://localhost/pawl", token, ask);
    await tryAddress("http://localhost/pawl", token, ask);
  });

  test("in Hono, in an application that app.route mounts", verifies("SRV-1"), async () => {
    const { server, token } = mounted("/api/pawl");
    const { app } = runGuide("Hono", server, ["app"]) as { app: Hono };
    const outer = new Hono().route("/api", app);
    const ask = ((input: string | URL, init?: RequestInit) => outer.request(String(input), init)) as typeof fetch;
    await tryAll("http://localhost/api/pawl", token, ask);
  });

  test("in Fastify, without its parsers", verifies("SRV-1"), async () => {
    const { server, token } = mounted("/pawl", {}, { webhooks });
    const { app } = runGuide("Fastify", server, ["app"]) as { app: Fastify };
    app.get("/own", () => "own");
    app.post("/echo", ({ body }) => ({ body }));
    onTestFinished(() => app.close());
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    await tryAll(`${url}/pawl`, token);
    await tryAddress(`${url}/pawl`, token);
    expect(await (await fetch(`${url}/own`)).text()).toBe("own");
    expect((await deliver(`${url}/pawl/hooks/stripe`)).status).toBe(202);
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const { sessions } = (await (await fetch(`${url}/pawl/v1/sessions`, { headers })).json()) as {
      readonly sessions: readonly { readonly sessionId: string }[];
    };
    const gone = await fetch(`${url}/pawl/v1/sessions/${sessions[0]?.sessionId}`, { method: "DELETE", headers });
    expect(gone.status).toBe(204);
    const echoed = await fetch(`${url}/echo`, { method: "POST", headers, body: '{"of":"your own route"}' });
    expect(await echoed.json()).toEqual({ body: { of: "your own route" } });
  });

  test("in node:http", verifies("SRV-1"), async () => {
    const { server, token } = mounted("/pawl");
    const { http } = runGuide("node:http", server, ["http"]) as { http: HttpServer };
    const url = await listen(http);
    await tryAll(`${url}/pawl`, token);
    await tryAddress(`${url}/pawl`, token);
    expect(await (await fetch(url)).text()).toBe("Your own page");
  });

  test("as the handlers of a route of Next.js", verifies("SRV-1"), async () => {
    const origin = "https://page.example.org";
    const { server, token } = mounted("/pawl", {}, { origins: [origin] });
    const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]; // those that Next.js calls
    const route = runGuide("Next.js", server, methods) as { [method: string]: Server["fetch"] | undefined };
    const ask = (async (input: string | URL, init?: RequestInit) => {
      const request = new Request(input, init);
      return route[request.method]?.(request) ?? new Response(null, { status: 405 });
    }) as typeof fetch;
    await tryAll("http://localhost/pawl", token, ask);
    await tryAddress("http://localhost/pawl", token, ask);
    const schedule = await ask("http://localhost/pawl/v1/schedules/morning", {
      method: "PUT",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ cron: "0 8 * * *", agent: "writer", input: "Go." }),
    });
    expect(schedule.status).toBe(200);
    const preflight = await ask("http://localhost/pawl/v1/sessions", {
      method: "OPTIONS",
      headers: { origin, "access-control-request-method": "POST" },
    });
    expect(preflight.headers.get("access-control-allow-origin")).toBe(origin);
  });
});

test(
  "a server whose paths begin like its basePath is reached with the path and without it",
  verifies("SRV-1"),
  async () => {
    const { server, token } = mounted("/v1");
    const url = await listen(server.listener);
    await tryAll(`${url}/v1`, token);
    await tryAll(url, token);
  },
);

describe("a body that other code has read", () => {
  const small = { maxBodyBytes: 2_000, maxJsonDepth: 8 };

  /** Begins a session over Express with a parser of bodies before the server. */
  async function post(parser: Handler, body: string, type = "application/json") {
    const { server, token } = mounted(undefined, small);
    const app = express();
    app.use(parser);
    app.use("/pawl", server.listener);
    const url = await listen(app);
    const headers = { authorization: `Bearer ${token}`, "content-type": type };
    const response = await fetch(`${url}/pawl/v1/sessions`, { method: "POST", headers, body });
    const { error } = (await response.json()) as {
      readonly error?: { readonly code: string; readonly message: string };
    };
    return { status: response.status, code: error?.code, message: error?.message };
  }

  const wanted = JSON.stringify({ agent: "writer", input: "Write «this»." });

  test.each([
    ["express.json()", () => express.json()],
    ["express.text()", () => express.text({ type: "*/*" })],
    ["express.raw()", () => express.raw({ type: "*/*" })],
    ["express.urlencoded(), which leaves JSON alone,", () => express.urlencoded({ extended: true })],
  ])("%s is taken as it was parsed", async (_, parser) => {
    expect(await post(parser(), wanted)).toMatchObject({ status: 201 });
  });

  test("a webhook whose body was parsed is refused, and the log says why", verifies("TIME-5"), async () => {
    const errors: string[] = [];
    const log = ({ error }: { readonly error?: unknown }) => void errors.push(String(error));
    const { server } = mounted("/pawl", {}, { webhooks, log });
    const app = express();
    app.use("/late", express.json());
    app.use("/late/pawl", server.listener);
    app.use("/pawl", server.listener);
    const url = await listen(app);
    expect((await deliver(`${url}/late/pawl/hooks/stripe`)).status).toBe(401);
    expect(errors).toEqual([expect.stringContaining("Mount the server before the code that parses bodies.")]);
    expect((await deliver(`${url}/pawl/hooks/stripe`)).status).toBe(202);
  });

  test("a form that was parsed is refused, as a form is that was not", async () => {
    const form = "application/x-www-form-urlencoded";
    const code = "unsupported_media_type";
    expect(await post(express.urlencoded({ extended: true }), "agent=writer&input=Write", form)).toMatchObject({
      code,
    });
    expect(await post((_request, _response, next) => next?.(), "agent=writer&input=Write", form)).toMatchObject({
      code,
    });
  });

  test("a body that the parser let in and the server's limits do not is refused", async () => {
    const large = JSON.stringify({ agent: "writer", input: "word ".repeat(1_000) });
    expect(await post(express.json(), large)).toMatchObject({ status: 413, code: "too_large" });
    expect(await post(express.text({ type: "*/*" }), large)).toMatchObject({ status: 413, code: "too_large" });
    const deep = `{"agent":"writer","input":${"[".repeat(900)}${"]".repeat(900)}}`;
    expect(await post(express.json(), deep)).toMatchObject({ status: 400, code: "bad_input" });
  });

  test("a body that was inflated counts by its inflated size", async () => {
    const { server, token } = mounted("/pawl", small);
    const app = express();
    app.use(express.json());
    app.use("/pawl", server.listener);
    const url = await listen(app);
    const text = JSON.stringify({ agent: "writer", input: "word ".repeat(1_000) });
    const body = new Uint8Array(
      await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer(),
    );
    const headers = {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "content-encoding": "gzip",
    };
    expect((await fetch(`${url}/pawl/v1/sessions`, { method: "POST", headers, body })).status).toBe(413);
  });

  test("a body that was read and not left in request.body is the program's mistake, not the client's", async () => {
    const drain = ((request: NodeJS.ReadableStream, _response: unknown, next: () => void) => {
      request.on("end", () => next()).resume();
    }) as unknown as Handler;
    expect(await post(drain, wanted)).toMatchObject({ status: 500, code: "bad_configuration" });
    const { server, token } = mounted(undefined);
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const request = new Request("http://localhost/v1/sessions", { method: "POST", headers, body: wanted });
    await request.json();
    expect((await server.fetch(request)).status).toBe(500);
  });
});
