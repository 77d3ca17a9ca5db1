/**
 * MCP over HTTP with the client of its package, unmodified, and the protocols of 2025 and 2026.
 */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Agent, createAgent, createMemoryStore, type Store } from "../../src/index.js";
import { traceSession } from "../../src/inspect.js";
import { createToken, type Principal } from "../../src/server/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { connectMcpServer } from "../../src/tools/mcp/index.js";
import { createGateTool } from "../support/agents.js";
import { createPayTool } from "../support/pay-tool.js";
import { verifies } from "../verifies.js";
import { type Rig, startProxy, startServer, startTestServer } from "./rig.js";

type Answer = { readonly action: "accept" | "decline" | "cancel"; readonly content?: Record<string, string> };

async function clientOf(
  url: string,
  token: string,
  mode: "auto" | "legacy",
  answer?: (form: { readonly message: string }) => Answer | Promise<Answer>,
  moreHeaders: Record<string, string> = {},
) {
  const capabilities = answer === undefined ? {} : { elicitation: { form: {} } };
  const client = new Client({ name: "test", version: "0" }, { capabilities, versionNegotiation: { mode } });
  if (answer !== undefined) client.setRequestHandler("elicitation/create", ({ params }) => answer(params));
  const headers = { authorization: `Bearer ${token}`, ...moreHeaders };
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", url), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

function payer(store: Store, paid: unknown[]): Agent {
  const pay = createPayTool(paid);
  const model = createScriptedModel(({ messages }) =>
    messages.at(-1)?.role === "user" ? { calls: [{ name: "pay", input: { cents: 5 } }] } : { text: "It is paid." },
  );
  return createAgent({ name: "payer", store, model, tools: [pay] });
}

const called = (prompt: string, sessionId?: string) => ({
  name: "payer",
  arguments: { prompt },
  ...(sessionId === undefined ? {} : { _meta: { "pawl/sessionId": sessionId } }),
});

function rigWith(paid: unknown[], options: Partial<Parameters<typeof startTestServer>[0]> = {}) {
  const store = createMemoryStore();
  return startTestServer({ store, agents: [payer(store, paid)], ...options });
}

describe.each(["auto", "legacy"] as const)("an MCP client over HTTP, protocol negotiation %s", (mode) => {
  test("calls an agent, and goes on in its session", verifies("PROT-4#http"), async () => {
    const store = createMemoryStore();
    const model = createScriptedModel(({ messages }) => ({ text: `Answer ${messages.length}.` }));
    const agent = createAgent({ name: "payer", store, model });
    const { url, token, lines } = await startTestServer({ store, agents: [agent] });
    const client = await clientOf(url, token, mode);
    expect((await client.listTools()).tools).toMatchObject([{ name: "payer", inputSchema: { required: ["prompt"] } }]);
    const first = await client.callTool(called("Go."));
    expect(first).toMatchObject({ isError: false, content: [{ text: "Answer 1." }], _meta: { "pawl/reason": "stop" } });
    const sessionId = first._meta?.["pawl/sessionId"] as string;
    const second = await client.callTool(called("Go on.", sessionId));
    expect(second).toMatchObject({ content: [{ text: "Answer 3." }], _meta: { "pawl/sessionId": sessionId } });
    const [listed] = await store.list();
    expect(listed?.info).toMatchObject({ principal: "token" });
    expect(lines.some(({ action, status }) => action === "mcp" && status === 200)).toBe(true);
  });

  test("tells how a run goes on", verifies("PROT-4#http"), async () => {
    const store = createMemoryStore();
    const gate = createGateTool();
    const model = createScriptedModel([{ text: "I begin.", calls: [{ name: "gate" }] }, { text: "Done." }]);
    const agent = createAgent({ name: "payer", store, model, tools: [gate.tool] });
    const { url, token } = await startTestServer({ store, agents: [agent] });
    const client = await clientOf(url, token, mode);
    const told: (string | undefined)[] = [];
    const result = client.callTool(called("Go."), {
      onprogress: ({ message }) => {
        told.push(message);
        gate.open("opened");
      },
    });
    expect(await result).toMatchObject({ content: [{ text: "Done." }] });
    expect(told.join("\n")).toContain("I begin.");
  });

  test("may not use a session of somebody else", verifies("PROT-4#http", "SEC-3#server"), async () => {
    const people: { readonly [token: string]: Principal } = {
      ada: { id: "ada", scopes: ["read", "run"] },
      eve: { id: "eve", scopes: ["read", "run"] },
      bob: { id: "bob", scopes: ["read"] },
    };
    const authenticate = (request: Request) => people[request.headers.get("authorization")?.slice(7) ?? ""] ?? null;
    const store = createMemoryStore();
    const agent = createAgent({ name: "payer", store, model: createScriptedModel(() => ({ text: "Done." })) });
    const { url } = await startTestServer({ store, agents: [agent], authenticate });
    const mine = await (await clientOf(url, "ada", mode)).callTool(called("Go."));
    const sessionId = mine._meta?.["pawl/sessionId"] as string;
    const { seq } = (await store.describe(sessionId)) ?? { seq: 0 };
    await expect((await clientOf(url, "eve", mode)).callTool(called("Go.", sessionId))).rejects.toThrow("no session");
    expect((await store.describe(sessionId))?.seq).toBe(seq);
    await expect(clientOf(url, "bob", mode)).rejects.toThrow();
    await expect(clientOf(url, "nobody", mode)).rejects.toThrow();
  });
});

describe.each(["auto", "legacy"] as const)("the trace of a call, protocol negotiation %s", (mode) => {
  const own = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const ofHeader = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;

  /** The span that the run of a call belongs to. */
  async function traceCall(
    meta: object,
    options: Pick<Parameters<typeof startTestServer>[0], "traceparent"> = {},
    headers: Record<string, string> = {},
  ) {
    const store = createMemoryStore();
    const agent = createAgent({ name: "payer", store, model: createScriptedModel(() => ({ text: "Done." })) });
    const { url, token } = await startTestServer({ store, agents: [agent], ...options });
    const client = await clientOf(url, token, mode, undefined, headers);
    const { _meta } = await client.callTool({ ...called("Go."), _meta: { ...meta } });
    const [started] = await traceSession(store, _meta?.["pawl/sessionId"] as string);
    return started?.type === "run_started" ? started.traceparent : null;
  }

  test("is the one that its message names, before that of the header", verifies("PROT-7#trace"), async () => {
    expect(await traceCall({ traceparent: own })).toBe(own);
    expect(await traceCall({}, {}, { traceparent: ofHeader })).toBe(ofHeader);
    expect(await traceCall({ traceparent: own }, {}, { traceparent: ofHeader })).toBe(own);
    expect(await traceCall({ traceparent: 7 }, {}, { traceparent: ofHeader })).toBe(ofHeader);
    expect(await traceCall({ traceparent: "garbage" })).toBeUndefined();
  });

  test("is none, or the host's, if the server is told so", verifies("PROT-7#trace"), async () => {
    expect(await traceCall({ traceparent: own }, { traceparent: false })).toBeUndefined();
    expect(await traceCall({ traceparent: own }, { traceparent: () => ofHeader })).toBe(ofHeader);
    expect(await traceCall({ traceparent: own }, { traceparent: () => undefined })).toBeUndefined();
  });
});

test("an agent that calls an agent over MCP shares its trace with it", verifies("PROT-7#trace"), async () => {
  const store = createMemoryStore();
  const served = createAgent({ name: "payer", store, model: createScriptedModel(() => ({ text: "It is paid." })) });
  const { url, token } = await startTestServer({ store, agents: [served] });
  const headers = { authorization: `Bearer ${token}` };
  const transport = { type: "http", url: new URL("/mcp", url).href, headers } as const;
  const server = await connectMcpServer({ name: "s", transport, trust: "all", trace: true });
  onTestFinished(server.close);
  const model = createScriptedModel([{ calls: [{ name: "s_payer", input: { prompt: "Pay." } }] }, { text: "Done." }]);
  const caller = createAgent({ model, tools: [...server.tools], store: createMemoryStore() });
  const { sessionId } = await caller.run("Go");
  const [asked] = await traceSession(caller.options.store as Store, sessionId);
  const [{ sessionId: servedId = "" } = {}] = await store.list();
  const [answered] = await traceSession(store, servedId);
  expect(answered?.type).toBe("run_started");
  expect(answered?.traceId).toBe(asked?.traceId);
});

describe("an approval over HTTP", () => {
  test("is a form, and may edit the input", verifies("PROT-4#http"), async () => {
    const paid: unknown[] = [];
    const { url, token } = await rigWith(paid);
    const forms: string[] = [];
    const answers: Answer[] = [
      { action: "accept", content: { decision: "deny", note: "Not now." } },
      { action: "accept", content: { decision: "allow", editedInput: '{"cents":7}' } },
      { action: "accept", content: { decision: "allow" } },
    ];
    const client = await clientOf(url, token, "auto", ({ message }) => {
      forms.push(message);
      return answers.shift() ?? { action: "cancel" };
    });
    for (let index = 0; index < 3; index += 1)
      expect(await client.callTool(called("Pay."))).toMatchObject({ content: [{ text: "It is paid." }] });
    expect(paid).toEqual([{ cents: 7 }, { cents: 5 }]);
    expect(forms[0]).toContain('pay {"cents":5}');
  });

  test(
    "is answered in another process with the same secret, and in none without it",
    verifies("PROT-4#http"),
    async () => {
      const paid: unknown[] = [];
      const store = createMemoryStore();
      const secret = createToken();
      const token = createToken();
      const authenticate = (request: Request): Principal | null =>
        request.headers.get("authorization") === `Bearer ${token}`
          ? { id: "ada", scopes: ["read", "run", "approve"] }
          : null;
      const serve = (own: string) => startServer({ store, agents: [payer(store, paid)], authenticate, secret: own });
      for (const isSame of [true, false]) {
        let current: Rig = await serve(secret);
        const gateway = await startProxy(() => current.url);
        const client = await clientOf(gateway.url, token, "auto", async () => {
          // The process that asked is gone by the time the person answers.
          await current.close();
          current = await serve(isSame ? secret : createToken());
          return { action: "accept", content: { decision: "allow" } };
        });
        const result = client.callTool(called("Pay."));
        if (isSame) expect(await result).toMatchObject({ isError: false, content: [{ text: "It is paid." }] });
        else await expect(result).rejects.toThrow();
        await current.close();
        await gateway.close();
      }
      expect(paid).toEqual([{ cents: 5 }]);
    },
  );

  test(
    "is not asked of those who may not approve, nor of a client of 2025: both are told where",
    verifies("PROT-4#http"),
    async () => {
      const paid: unknown[] = [];
      const authenticate = (request: Request): Principal => ({
        id: "ada",
        scopes: request.headers.get("authorization") === "Bearer all" ? ["read", "run", "approve"] : ["read", "run"],
      });
      const { url, ask } = await rigWith(paid, { authenticate });
      let asked = 0;
      const answer = (): Answer => {
        asked += 1;
        return { action: "accept", content: { decision: "allow" } };
      };
      for (const [token, mode] of [
        ["some", "auto"],
        ["all", "legacy"],
      ] as const) {
        const client = await clientOf(url, token, mode, answer);
        const result = await client.callTool(called("Pay."));
        const sessionId = result._meta?.["pawl/sessionId"];
        expect(result).toMatchObject({
          isError: true,
          content: [{ text: expect.stringContaining(`/v1/sessions/${sessionId}/answers`) }],
          _meta: { "pawl/reason": "awaiting_human" },
        });
      }
      expect(asked).toBe(0);
      const waiting = await ask("GET", "/v1/approvals", undefined, { authorization: "Bearer all" });
      expect(waiting.json.approvals).toHaveLength(2);
    },
  );
});

/** A call that is under way: its tool runs. */
async function calling(mode: "auto" | "legacy", options: Parameters<Client["callTool"]>[1] = {}) {
  const store = createMemoryStore();
  const gate = createGateTool();
  const model = createScriptedModel([{ text: "I begin.", calls: [{ name: "gate" }] }, { text: "Done." }]);
  const agent = createAgent({ name: "payer", store, model, tools: [gate.tool] });
  const rig = await startServer({ store, agents: [agent] });
  onTestFinished(rig.close);
  const client = await clientOf(rig.url, rig.token, mode);
  const result = client.callTool(called("Go."), options);
  result.catch(() => {});
  await gate.started;
  const [{ sessionId } = { sessionId: "" }] = await store.list();
  return { store, rig, result, sessionId };
}

test("a client of 2026 that cancels its call aborts the run", verifies("PROT-4#http"), async () => {
  const stop = new AbortController();
  const { store, result, sessionId } = await calling("auto", { signal: stop.signal });
  stop.abort();
  await expect(result).rejects.toThrow();
  await expect.poll(async () => (await store.describe(sessionId))?.status).toBe("aborted");
});

describe.each(["auto", "legacy"] as const)("a server that leaves, protocol negotiation %s", (mode) => {
  test.each([
    ["alone", {}],
    ["with progress", { onprogress: () => {} }],
  ])(
    "answers a call %s: the run goes on, and where its result is",
    verifies("PROT-4#http", "SRV-5"),
    async (_, options) => {
      const { store, rig, result, sessionId } = await calling(mode, options);
      const [, { _meta: meta, ...answer }] = await Promise.all([rig.close(), result]);
      expect(answer).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(`the run continues.* GET /v1/sessions/${sessionId}/runs/[\\w-]{22}`) }],
      });
      expect(meta).toMatchObject({ "pawl/sessionId": sessionId, "pawl/reason": "connection_ended" });
      const log = await store.read(sessionId);
      expect(log.map(({ event }) => event.type)).not.toContain("abort_requested");
    },
  );
});

test("what is no JSON-RPC, and another method, are refused", async () => {
  const { ask } = await rigWith([]);
  for (const body of ["[]", "{}", "1", "null", '{"jsonrpc":"2.0","id":1,"method":"nothing"}']) {
    const { status } = await ask("POST", "/mcp", body, { "content-type": "application/json" });
    expect(status, body).toBeLessThan(500);
  }
  expect((await ask("GET", "/mcp")).status).toBe(405);
  expect((await ask("DELETE", "/mcp")).status).toBe(405);
});

test("an error of the server is logged, and the client learns no internals", verifies("SEC-3#server"), async () => {
  const store = createMemoryStore();
  const failure = new Error("connect ECONNREFUSED postgres://pawl:hunter2@10.0.0.7");
  let isDown = false;
  const fail = () => Promise.reject(failure);
  const failing = new Proxy(store, {
    get: (target, name, receiver) =>
      isDown && ["list", "describe", "post"].includes(String(name)) ? fail : Reflect.get(target, name, receiver),
  });
  const { url, token, lines } = await startTestServer({ store: failing, agents: [payer(store, [])] });
  const client = await clientOf(url, token, "auto");
  isDown = true;
  const template = { type: "ref/resource", uri: "pawl://sessions/{id}" } as const;
  const requests = [
    () => client.callTool(called("Go.")),
    () => client.callTool(called("Go.", "s1")),
    () => client.listResources(),
    () => client.readResource({ uri: "pawl://sessions/s1" }),
    () => client.complete({ ref: template, argument: { name: "id", value: "" } }),
  ];
  for (const request of requests) {
    const before = lines.length;
    await expect(request()).rejects.toThrow("an error in the server");
    const failures = lines.slice(before).filter(({ error }) => error !== undefined);
    expect(failures).toMatchObject([{ action: "mcp", principal: "token", status: 500, error: failure }]);
    expect(failures[0]?.requestId).not.toBe("");
  }
  isDown = false;
  const secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
  const refused = await client.callTool({ ...called("Go."), name: secret }).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: -32_602, message: expect.stringContaining("There is no tool") });
  expect(String(refused)).not.toContain(secret);
});

describe("sessions as resources", () => {
  const people = new Map([
    ["Bearer ada", { id: "ada", scopes: ["read", "run"] as const }],
    ["Bearer bob", { id: "bob", scopes: ["read", "run"] as const }],
    ["Bearer eve", { id: "eve", scopes: ["run"] as const }],
  ]);

  async function serve() {
    const store = createMemoryStore();
    const model = createScriptedModel(({ messages }) =>
      messages.at(-1)?.role === "tool"
        ? { text: "# No heading\nDone." }
        : { calls: [{ name: "pay", input: { cents: 5 } }] },
    );
    const pay = { ...createPayTool([]), needsApproval: false };
    const agent = createAgent({ name: "payer", store, model, tools: [pay] });
    const authenticate = (request: Request) => people.get(request.headers.get("authorization") ?? "") ?? null;
    const { url } = await startTestServer({ store, agents: [agent], authenticate });
    return async (name: string) => await clientOf(url, name, "auto");
  }

  test("are read by those who may read them, as quoted text", verifies("PROT-7#resources"), async () => {
    const connect = await serve();
    const ada = await connect("ada");
    const result = await ada.callTool(called("My key is sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789."));
    const id = result._meta?.["pawl/sessionId"] as string;
    const uri = `pawl://sessions/${id}`;
    expect((await ada.listResources()).resources).toEqual([{ uri, name: id, mimeType: "text/markdown" }]);
    const { contents } = await ada.readResource({ uri });
    const [content] = contents;
    const text = content !== undefined && "text" in content ? content.text : "";
    expect(text).toContain("## User\n\n> My key is");
    expect(text).not.toContain("sk-ant-api03");
    expect(text).toContain('> Calls pay: {"cents":5}');
    expect(text).toContain("> # No heading\n> Done.");
    const ref = { type: "ref/resource", uri: "pawl://sessions/{id}" } as const;
    const completed = await ada.complete({ ref, argument: { name: "id", value: id.slice(0, 3) } });
    expect(completed.completion.values).toEqual([id]);
  });

  test(
    "are not there for others, nor without the scope read",
    verifies("PROT-7#resources", "SEC-3#server"),
    async () => {
      const connect = await serve();
      const ada = await connect("ada");
      const uri = `pawl://sessions/${(await ada.callTool(called("Pay.")))._meta?.["pawl/sessionId"]}`;
      const bob = await connect("bob");
      expect((await bob.listResources()).resources).toEqual([]);
      for (const address of [uri, "pawl://sessions/none", "pawl://sessions/%", "file:///etc/passwd"])
        await expect(bob.readResource({ uri: address })).rejects.toThrow("There is no such resource.");
      const eve = await connect("eve");
      expect(eve.getServerCapabilities()?.resources).toBeUndefined();
    },
  );
});

test(
  "a batch counts as many changes as it has messages, and has no effect beyond the limit",
  verifies("SEC-4"),
  async () => {
    const { ask, store } = await rigWith([], { limits: { changesPerMinute: 3 } });
    const call = (id: number) => ({ jsonrpc: "2.0", id, method: "tools/call", params: called("Go.") });
    const headers = { accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-03-26" };
    const send = (count: number) =>
      ask(
        "POST",
        "/mcp",
        Array.from({ length: count }, (_, id) => call(id)),
        headers,
      );
    expect((await send(4)).json.error.code).toBe("too_many");
    expect(await store.list()).toEqual([]);
    expect((await send(2)).status).toBe(200);
    expect(await store.list()).toHaveLength(2);
    expect((await send(2)).status).toBe(429);
    expect((await send(1)).status).toBe(200);
  },
);

test("a request that MCP refuses is no failure of the server", verifies("PROT-4#http"), async () => {
  const { ask, lines } = await rigWith([]);
  const accept = "application/json, text/event-stream";
  const many = Array.from({ length: 101 }, (_, id) => ({ jsonrpc: "2.0", id, method: "tasks/get" }));
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  for (const [body, headers] of [
    [{}, { accept }],
    [many, { accept }],
    [ping, { accept, "mcp-protocol-version": "2026-07-28" }],
    [ping, { accept: "application/json" }],
  ] as const)
    expect((await ask("POST", "/mcp", body, headers)).status).toBeLessThan(500);
  expect(lines.filter(({ status, error }) => status >= 500 || error !== undefined)).toEqual([]);
});
