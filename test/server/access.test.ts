/**
 * Who may do what over HTTP: tokens, origins, scopes, sessions of others, and limits.
 */
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore } from "../../src/index.js";
import { createServer, createToken, type Principal } from "../../src/server/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createDeferred } from "../support/agents.js";
import { verifies } from "../verifies.js";
import { pay, type Rig, startTestServer, withServer } from "./rig.js";

/** A request with any headers, `Host` included. */
function rawStatus({ url, token }: Rig, headers: Record<string, string>, path = "/v1/sessions", method = "GET") {
  return new Promise<number>((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const all = { authorization: `Bearer ${token}`, ...headers };
    httpRequest({ hostname, port, path, method, headers: all }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on("error", reject)
      .end();
  });
}

describe("authentication", () => {
  test("a server without it is not made, and a short token is none", verifies("SEC-1#token"), () => {
    const store = createMemoryStore();
    const refused = expect.objectContaining({ code: "bad_configuration" });
    expect(() => createServer({ store, agents: [] })).toThrow(refused);
    expect(() => createServer({ store, agents: [], token: "short" })).toThrow(refused);
    expect(() => createServer({ store, agents: [], token: createToken(), unknwn: 1 } as never)).toThrow(refused);
    expect(createToken()).toMatch(/^[\w-]{43}$/);
  });

  test("every route but health and readiness needs the token", verifies("SEC-1#token"), async () => {
    await withServer({}, async (rig) => {
      const { paths } = (await rig.ask("GET", "/openapi.json")).json;
      const routes = Object.entries(paths).flatMap(([path, methods]) =>
        Object.keys(methods as object).map((method) => [method.toUpperCase(), path.replace(/\{\w+\}/g, "x")] as const),
      );
      expect(routes.length).toBeGreaterThan(20);
      for (const [method, path] of routes) {
        const isOpen = path === "/health" || path === "/ready";
        // Whoever has the code of a start link needs no token, and a server proves itself before it is sent one.
        if (path === "/v1/ui/session" || path === "/v1/ui/proof") continue;
        // Clients that have no token yet learn where to log in, and this server has nothing to say about that.
        if (path.startsWith("/.well-known/")) {
          expect(await rawStatus(rig, { authorization: "" }, path, method)).toBe(404);
          continue;
        }
        for (const authorization of ["", "Bearer wrong", `Basic ${rig.token}`, `Bearer ${rig.token}x`])
          expect(await rawStatus(rig, { authorization }, path, method), `${method} ${path}`).toBe(isOpen ? 200 : 401);
        expect(await rawStatus(rig, { authorization: "" }, `${path}?token=${rig.token}`, method)).not.toBe(201);
      }
    });
  });
});

describe("origins", () => {
  test("another Host or Origin is refused on every route", verifies("SEC-2#requests"), async () => {
    await withServer({}, async (rig) => {
      const { host, port } = new URL(rig.url);
      const wrong = [
        { host: "evil.example" },
        { host: `evil.example:${port}` },
        { host: `localhost:${Number(port) + 1}` },
        { host: `127.0.0.1.evil.example:${port}` },
        { origin: "https://evil.example" },
        { origin: "null" },
        { origin: `http://127.0.0.1:${Number(port) + 1}` },
        { "sec-fetch-site": "cross-site" },
        { "sec-fetch-site": "same-site" },
      ];
      for (const headers of wrong)
        for (const path of ["/v1/sessions", "/health", "/nowhere"])
          expect(await rawStatus(rig, headers, path), JSON.stringify(headers)).toBe(403);
      const right = [{ host }, { host: `localhost:${port}` }, { origin: rig.url, "sec-fetch-site": "same-origin" }];
      for (const headers of right) expect(await rawStatus(rig, headers), JSON.stringify(headers)).toBe(200);
    });
  });

  test("a page of another origin may ask only if the server names the origin", verifies("SEC-2#requests"), async () => {
    await withServer({ origins: ["https://chat.example"] }, async ({ ask }) => {
      const named = await ask("GET", "/v1/sessions", undefined, { origin: "https://chat.example" });
      expect(named.headers.get("access-control-allow-origin")).toBe("https://chat.example");
      expect(named.headers.get("access-control-allow-credentials")).toBeNull();
      const other = await ask("GET", "/v1/sessions", undefined, { origin: "https://other.example" });
      expect(other.status).toBe(403);
      expect(other.headers.get("access-control-allow-origin")).toBeNull();
    });
  });

  test("a change needs JSON, whatever else is sent", verifies("SEC-2#requests"), async () => {
    await withServer({}, async ({ ask }) => {
      const body = JSON.stringify({ agent: "a", input: "x" });
      for (const type of [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonp",
        "application/json+x",
      ]) {
        const refused = await ask("POST", "/v1/sessions", body, { "content-type": type });
        expect(refused, type).toMatchObject({ status: 415, json: { error: { code: "unsupported_media_type" } } });
      }
      const taken = await ask("POST", "/v1/sessions", body, { "content-type": "Application/JSON; charset=utf-8" });
      expect(taken.status).toBe(201);
    });
  });
});

const people: { readonly [token: string]: Principal } = {
  ada: { id: "ada", scopes: ["read", "run"] },
  bob: { id: "bob", scopes: ["read", "run", "approve"] },
  eve: { id: "eve", scopes: ["read", "run", "approve"] },
  root: { id: "root", scopes: ["read", "run", "approve", "prompt", "admin"] },
};

const authenticate = (request: Request) => people[request.headers.get("authorization")?.slice(7) ?? ""] ?? null;
const as = (name: string) => ({ authorization: `Bearer ${name}` });

describe("sessions of others", () => {
  test("are answered like those that there are not, byte for byte", verifies("SEC-3#server"), async () => {
    await withServer({ authenticate }, async ({ ask, store }) => {
      const made = await ask("POST", "/v1/sessions", { agent: "a", input: "Mine." }, as("ada"));
      const { sessionId, runId } = made.json;
      const agent = createAgent({ name: "a", store, model: createScriptedModel([{ text: "Done." }]) });
      const path = `/v1/sessions/${sessionId}`;
      const never = "/v1/sessions/AAAAAAAAAAAAAAAAAAAAAA";
      const ways = [
        ["GET", ""],
        ["GET", `/runs/${runId}`],
        ["GET", "/messages"],
        ["GET", "/events"],
        ["GET", "/stream"],
        ["GET", "/trace"],
        ["POST", "/runs", { input: "x" }],
        ["POST", "/steer", { input: "x" }],
        ["POST", "/abort", {}],
        ["POST", "/answers", { callKey: "r/1/1", decision: { type: "approve" }, inputHash: "0" }],
        ["POST", "/results", { callKey: "r/1/1", output: "x" }],
        ["POST", "/fork", {}],
        ["POST", "/replay", {}],
      ] as const;
      const comparable = ({ status, json }: { status: number; json: unknown }, id: string) =>
        JSON.stringify({ status, json: { ...(json as object), requestId: "" } })
          .replaceAll(id, "ID")
          .replace(/"requestId":"[^"]*"/, "");
      for (const round of ["in the inbox", "begun"]) {
        for (const [method, rest, body] of ways) {
          const theirs = await ask(method, `${path}${rest}`, body, as("eve"));
          const none = await ask(method, `${never}${rest}`, body, as("eve"));
          expect(comparable(theirs, sessionId), `${method} ${rest}, ${round}`).toBe(
            comparable(none, "AAAAAAAAAAAAAAAAAAAAAA"),
          );
          expect(theirs.status).toBe(404);
        }
        expect((await ask("GET", "/v1/sessions", undefined, as("eve"))).json.sessions).toEqual([]);
        expect((await ask("GET", "/v1/sessions", undefined, as("ada"))).json.sessions).toHaveLength(1);
        expect((await ask("GET", path, undefined, as("ada"))).status).toBe(200);
        expect((await ask("GET", path, undefined, as("root"))).status).toBe(200);
        if (round === "in the inbox") await agent.session(sessionId).resume();
      }
      expect((await agent.session(sessionId).state()).status).toBe("completed");
    });
  });

  test("a scope that does not exist is refused, and the log says which is meant", async () => {
    const authenticate = () => ({ id: "ada", scopes: ["read", "aprove"] as unknown as Principal["scopes"] });
    const rig = await startTestServer({ authenticate });
    expect((await rig.ask("GET", "/v1/sessions")).status).toBe(500);
    expect(rig.lines.at(-1)?.error).toMatchObject({
      code: "bad_configuration",
      message: expect.stringContaining('no scope "aprove". Do you mean approve? The scopes are read, run, approve,'),
    });
    expect(() => rig.server.createStartCode(authenticate())).toThrow('no scope "aprove"');
  });

  test("scopes are apart: who asks need not be who allows", verifies("SEC-3#server"), async () => {
    const store = createMemoryStore();
    const model = createScriptedModel([{ calls: [{ name: "pay" }] }, { text: "Paid." }]);
    const agent = createAgent({ name: "payer", store, model, tools: [pay] });
    const may = (_principal: Principal, _action: string) => true;
    await withServer({ store, agents: [agent], authenticate, may }, async ({ ask }) => {
      const { sessionId, runId } = (await ask("POST", "/v1/sessions", { agent: "payer", input: "Pay." }, as("ada")))
        .json;
      const path = `/v1/sessions/${sessionId}`;
      await ask("GET", `${path}/runs/${runId}?wait=30`, undefined, as("ada"));
      const { approvals } = (await ask("GET", "/v1/approvals", undefined, as("bob"))).json;
      const { callKey, inputHash } = approvals[0];
      const body = { callKey, inputHash, decision: { type: "approve" }, by: "ada" };
      expect((await ask("GET", "/v1/approvals", undefined, as("ada"))).status).toBe(403);
      const { by: _, ...answer } = body;
      expect((await ask("POST", `${path}/answers`, answer, as("ada"))).status).toBe(403);
      // Who answers is the principal, whatever the body says.
      expect((await ask("POST", `${path}/answers`, body, as("bob"))).json.error.code).toBe("bad_input");
      const given = await ask("POST", `${path}/answers`, answer, as("bob"));
      expect(given.json).toMatchObject({ counted: "first", answer: { by: "bob" } });
      expect((await ask("DELETE", path, undefined, as("bob"))).status).toBe(403);
      expect((await ask("GET", `${path}/entries`, undefined, as("bob"))).status).toBe(403);
      expect((await ask("GET", `${path}/entries`, undefined, as("root"))).status).toBe(200);
      const own = { agent: "payer", input: "x", sessionId: "chosen" };
      expect((await ask("POST", "/v1/sessions", own, as("ada"))).status).toBe(403);
      expect((await ask("POST", "/v1/sessions", own, as("root"))).status).toBe(201);
      expect((await ask("POST", "/v1/sessions", own, as("root"))).json.error.code).toBe("session_busy");
    });
  });
});

describe("limits", () => {
  test("a body that is too large, too deep or no JSON is refused while it arrives", verifies("SEC-4"), async () => {
    await withServer({ limits: { maxBodyBytes: 20_000 } }, async (rig) => {
      const send = (body: string) => rig.ask("POST", "/v1/sessions", body, { "content-type": "application/json" });
      const code = async (body: string) => (await send(body)).json.error.code;
      expect(await code(JSON.stringify({ agent: "a", input: "x".repeat(20_000) }))).toBe("too_large");
      expect(await code(`{"agent":"a","input":${"[".repeat(5_000)}${"]".repeat(5_000)}}`)).toBe("bad_input");
      expect(await code("{")).toBe("bad_input");
      expect(await code('{"agent":"a","input":"x","unknwn":1}')).toBe("bad_input");
      expect(await code('{"agent":"a"}')).toBe("bad_input");
      expect(await code('{"agent":1,"input":"x"}')).toBe("bad_input");
      expect(await code('{"agent":"a","input":"x","options":{"by":"me"}}')).toBe("bad_input");
      expect(await chunkedStatus(rig, 200_000)).toBe(413);
    });
  });

  test("changes in a minute, streams, and pages have a most", verifies("SEC-4"), async () => {
    const limits = { changesPerMinute: 3, streamsPerPrincipal: 2, maxPage: 1 };
    await withServer({ limits }, async ({ ask, url, token }) => {
      const statuses: number[] = [];
      for (let index = 0; index < 5; index += 1)
        statuses.push((await ask("POST", "/v1/sessions", { agent: "a", input: "x" })).status);
      expect(statuses).toEqual([201, 201, 201, 429, 429]);
      const refused = await ask("POST", "/v1/sessions", { agent: "a", input: "x" });
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
      const { sessions } = (await ask("GET", "/v1/sessions?limit=500")).json;
      expect(sessions).toHaveLength(1);
      const path = `${url}/v1/sessions/${sessions[0].sessionId}/stream`;
      const left = new AbortController();
      const open = () => fetch(path, { headers: { authorization: `Bearer ${token}` }, signal: left.signal });
      expect((await Promise.all([open(), open()])).map(({ status }) => status)).toEqual([200, 200]);
      expect((await open()).status).toBe(429);
      left.abort();
      expect((await ask("GET", "/v1/sessions?limit=501")).status).toBe(400);
      expect((await ask("GET", "/v1/sessions?unknwn=1")).status).toBe(400);
    });
  });

  test("requests that wait for a result have a most, for each principal", verifies("SEC-4"), async () => {
    const goOn = createDeferred();
    async function* deltas() {
      await goOn.promise;
      yield { kind: "text-delta", id: "t", text: "Done." } as const;
      yield { kind: "done", finishReason: { unified: "stop" }, usage: {} } as const;
    }
    const model = createScriptedModel([{ deltas: deltas() as never }]);
    const store = createMemoryStore();
    const agents = [createAgent({ name: "a", store, model })];
    const authenticate = (request: Request) => {
      const id = request.headers.get("x-user");
      return id === null ? null : { id, scopes: ["read", "run", "admin"] as const };
    };
    await withServer({ store, agents, authenticate, limits: { waitsPerPrincipal: 2 } }, async ({ ask, url }) => {
      const as = (id: string) => ({ "x-user": id });
      const { sessionId, runId } = (await ask("POST", "/v1/sessions", { agent: "a", input: "x" }, as("ada"))).json;
      const path = `/v1/sessions/${sessionId}/runs/${runId}`;
      const left = new AbortController();
      const wait = () => fetch(`${url}${path}?wait=60`, { headers: as("ada"), signal: left.signal });
      // Two of three wait; the third is told so, and asks without waiting, or as somebody else.
      const three = [wait(), wait(), wait()];
      const refused = await Promise.race(three);
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "5"]);
      expect(await refused.json()).toMatchObject({
        error: { code: "too_many", message: expect.stringContaining("at most 2 may wait") },
      });
      expect((await ask("GET", path, undefined, as("ada"))).status).toBe(202);
      expect((await ask("GET", `${path}?wait=1`, undefined, as("bob"))).status).toBe(202);
      // Who leaves gives its place back.
      left.abort();
      await Promise.allSettled(three);
      const again = async () => (await ask("GET", `${path}?wait=1`, undefined, as("ada"))).status;
      await expect.poll(again).toBe(202);
      const last = [1, 2].map(() => ask("GET", `${path}?wait=60`, undefined, as("ada")));
      goOn.resolve();
      expect((await Promise.all(last)).map(({ status }) => status)).toEqual([200, 200]);
      expect((await ask("GET", `${path}?wait=60`, undefined, as("ada"))).status).toBe(200);
    });
  });

  test("an address that there is not, and a method that it does not take, are said so", async () => {
    await withServer({ basePath: "/pawl" }, async ({ ask }) => {
      expect((await ask("GET", "/pawls/v1/sessions")).status).toBe(404);
      expect((await ask("GET", "/pawl/v1/sessions")).status).toBe(200);
      expect((await ask("GET", "/pawl/nowhere")).status).toBe(404);
      expect((await ask("DELETE", "/pawl/v1/sessions")).status).toBe(405);
      expect((await ask("GET", "/pawl/v1/sessions/%E0%A4%A")).status).toBe(404);
    });
  });
});

/** Sends a body in chunks, without a length, until the server answers. */
function chunkedStatus({ url, token }: Rig, bytes: number): Promise<number> {
  const { hostname, port, host } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(
        `POST /v1/sessions HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
      );
      for (let sent = 0; sent < bytes; sent += 1_000) socket.write(`3e8\r\n${" ".repeat(1_000)}\r\n`);
    });
    socket.once("data", (data) => {
      resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(data.toString())?.[1]));
      socket.destroy();
    });
    socket.on("error", reject);
  });
}
