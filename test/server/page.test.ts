/**
 * How a page in a browser is let in: the code of its link, the cookie, and the second half.
 */
import { createHmac } from "node:crypto";
import { request as httpRequest } from "node:http";
import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../../src/index.js";
import { createServer, createToken, type Principal } from "../../src/server/index.js";
import { verifies } from "../verifies.js";
import { type Rig, startServer, withServer } from "./rig.js";

/** What a page sends: `fetch` in Node may not set some of these headers. */
function asPage({ url }: Rig, path: string, headers: Record<string, string>, body?: unknown) {
  return new Promise<{ status: number; cookies: readonly string[]; text: string }>((resolve, reject) => {
    const { hostname, port, origin } = new URL(url);
    const sent = {
      origin,
      "sec-fetch-site": "same-origin",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    };
    const method = body === undefined ? "GET" : "POST";
    const asking = httpRequest({ hostname, port, path, method, headers: sent }, (response) => {
      let text = "";
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, cookies: response.headers["set-cookie"] ?? [], text }),
      );
    });
    asking.on("error", reject);
    asking.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function enter(rig: Rig, principal?: Principal) {
  const code = rig.server.createStartCode(principal);
  const answer = await asPage(rig, "/v1/ui/session", {}, { code });
  expect(answer.status).toBe(200);
  const [cookie = ""] = answer.cookies;
  return { code, cookie, pair: cookie.split(";")[0] ?? "", half: JSON.parse(answer.text).half as string };
}

/** The proof that a page expects of its server. */
function proofFor(rig: Rig, key: string, nonce: string): string {
  return createHmac("sha256", key)
    .update(`${new URL(rig.url).host}\0${nonce}`)
    .digest("hex");
}

const nonce = "0123456789abcdef";

describe("a server", () => {
  test(
    "of a new start knows no page of the one before, although token and secret are the same",
    verifies("SEC-2#page"),
    async () => {
      const store = createMemoryStore();
      const token = createToken();
      const secret = createToken();
      const one = createServer({ store, agents: [], token, secret, pageAccess: "start" });
      const url = "http://localhost";
      const given = await one.fetch(
        new Request(`${url}/v1/ui/session`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ code: one.createStartCode() }),
        }),
      );
      const { half } = (await given.json()) as { readonly half: string };
      const headers = { cookie: given.headers.get("set-cookie")?.split(";")[0] ?? "", "x-pawl-page": half };
      const status = async (server: ReturnType<typeof createServer>) =>
        (await server.fetch(new Request(`${url}/v1/sessions`, { headers }))).status;
      expect(await status(one)).toBe(200);
      await one.close();
      // What a program on the port of the dead server was sent is worth nothing to the next one.
      for (const options of [{ secret, pageAccess: "start" as const }, {}]) {
        const next = createServer({ store, agents: [], token, ...options });
        expect(await status(next)).toBe(401);
        await next.close();
      }
      expect(() => createServer({ store, agents: [], token, pageAccess: "always" } as never)).toThrow(
        expect.objectContaining({ code: "bad_configuration" }),
      );
    },
  );

  test(
    "proves itself to its pages, and to whoever has its key, for the host that was asked",
    verifies("SEC-2#page"),
    async () => {
      const secret = createToken();
      await withServer({ secret }, async (rig) => {
        const { pair, half } = await enter(rig);
        const ask = async (headers: Record<string, string>) =>
          JSON.parse((await asPage(rig, `/v1/ui/proof?nonce=${nonce}`, headers)).text);
        const key = createHmac("sha256", secret).update("server proof\0").digest("hex");
        expect(await ask({ cookie: pair })).toEqual({
          page: proofFor(rig, half, nonce),
          server: proofFor(rig, key, nonce),
        });
        expect(await ask({})).toMatchObject({ page: null });
        expect(await ask({ cookie: `${pair}x` })).toMatchObject({ page: null });
        // Somebody who passes the question on asks for another port.
        expect((await asPage(rig, `/v1/ui/proof?nonce=${nonce}`, { cookie: pair, host: "localhost:1" })).status).toBe(
          403,
        );
        expect((await asPage(rig, "/v1/ui/proof?nonce=short", {})).status).toBe(400);
      });
      await withServer({}, async (rig) => {
        expect((await rig.ask("GET", `/v1/ui/proof?nonce=${nonce}`)).json).toEqual({ page: null, server: null });
      });
    },
  );
});

describe("a page", () => {
  test("is let in by a code, once, and needs both halves", verifies("SEC-2#page"), async () => {
    await withServer({}, async (rig) => {
      const { port } = new URL(rig.url);
      const { code, cookie, pair, half } = await enter(rig);
      expect(cookie).toContain(`pawl_${port}=`);
      for (const word of ["HttpOnly", "SameSite=Strict", "Path=/"]) expect(cookie).toContain(word);
      expect(cookie).not.toContain("Domain");
      const both = { cookie: pair, "x-pawl-page": half };
      expect((await asPage(rig, "/v1/sessions", both)).status).toBe(200);
      const begun = await asPage(rig, "/v1/sessions", both, { agent: "a", input: "x" });
      expect(begun.status).toBe(201);
      expect(begun.text).not.toContain(half);

      const again = await asPage(rig, "/v1/ui/session", {}, { code });
      expect(again).toMatchObject({ status: 401, cookies: [] });
      const other = await enter(rig);
      const refused: readonly Record<string, string>[] = [
        { cookie: pair },
        { "x-pawl-page": half },
        { cookie: pair, "x-pawl-page": other.half },
        { cookie: pair, "x-pawl-page": `${half}x` },
        { cookie: `${pair}x`, "x-pawl-page": half },
        { cookie: pair.replace(/=./, "=A"), "x-pawl-page": half },
        { cookie: pair.replace(`pawl_${port}`, "pawl_1"), "x-pawl-page": half },
        // A page of another port may have set one more.
        { cookie: `${pair}; ${other.pair}`, "x-pawl-page": half },
        { cookie: "pawl=x.y", "x-pawl-page": "" },
      ];
      for (const headers of refused)
        expect((await asPage(rig, "/v1/sessions", headers)).status, JSON.stringify(headers)).toBe(401);
    });
  });

  test("of another port of this machine is refused, with whatever it has", verifies("SEC-2#page"), async () => {
    await withServer({}, async (rig) => {
      const { pair, half } = await enter(rig);
      const { port } = new URL(rig.url);
      const both = { cookie: pair, "x-pawl-page": half };
      const others: readonly Record<string, string>[] = [
        { origin: `http://127.0.0.1:${Number(port) + 1}`, "sec-fetch-site": "same-site" },
        { origin: rig.url, "sec-fetch-site": "same-site" },
        { origin: `http://127.0.0.1:${Number(port) + 1}`, "sec-fetch-site": "same-origin" },
        { origin: "https://evil.example", "sec-fetch-site": "cross-site" },
        { host: `evil.example:${port}` },
      ];
      for (const headers of others) {
        expect((await asPage(rig, "/v1/sessions", { ...both, ...headers })).status).toBe(403);
        const posted = await asPage(rig, "/v1/sessions", { ...both, ...headers }, { agent: "a", input: "x" });
        expect(posted.status).toBe(403);
        expect((await asPage(rig, "/v1/ui/session", headers, { code: "x" })).status).toBe(403);
      }
      // Another site can make a browser send text, with its cookie.
      const text = { ...both, "content-type": "text/plain" };
      expect((await asPage(rig, "/v1/sessions", text, { agent: "a", input: "x" })).status).toBe(415);
      expect((await rig.ask("GET", "/v1/sessions")).json.sessions).toEqual([]);
    });
  });

  test("acts as its principal, with no more scopes", verifies("SEC-2#page", "SEC-3#server"), async () => {
    const authenticate = () => null;
    await withServer({ authenticate }, async (rig) => {
      const { pair, half } = await enter(rig, { id: "ada", scopes: ["read"] });
      const both = { cookie: pair, "x-pawl-page": half };
      expect((await asPage(rig, "/v1/sessions", both)).status).toBe(200);
      expect((await asPage(rig, "/v1/sessions", both, { agent: "a", input: "x" })).status).toBe(403);
      expect((await asPage(rig, "/metrics", both)).status).toBe(403);
      const refused = expect.objectContaining({ code: "bad_configuration" });
      expect(() => rig.server.createStartCode()).toThrow(refused);
      expect(() => rig.server.createStartCode({ id: "", scopes: [] })).toThrow(refused);
    });
  });

  test("is known to every server with the same secret, and to no other", verifies("SEC-2#page"), async () => {
    const store = createMemoryStore();
    const secret = createToken();
    const one = await startServer({ store, secret });
    const { pair, half } = await enter(one);
    const ask = async (server: ReturnType<typeof createServer>) => {
      const headers = { host: new URL(one.url).host, cookie: pair, "x-pawl-page": half };
      return (await server.fetch(new Request(`${one.url}/v1/sessions`, { headers }))).status;
    };
    await one.close();
    const same = createServer({ store, agents: [], token: createToken(), secret });
    const other = createServer({ store, agents: [], token: createToken() });
    expect(await ask(same)).toBe(200);
    expect(await ask(other)).toBe(401);
    for (const server of [same, other]) await server.close();
    const short = () => createServer({ store, agents: [], token: createToken(), secret: "x".repeat(31) });
    expect(short).toThrow(expect.objectContaining({ code: "bad_configuration" }));
  });

  test("that acts as somebody is asked before a link makes it act as another", verifies("SEC-2#page"), async () => {
    await withServer({}, async (rig) => {
      const ada = await enter(rig, { id: "ada", scopes: ["read"] });
      const both = { cookie: ada.pair, "x-pawl-page": ada.half };
      const code = rig.server.createStartCode({ id: "eve", scopes: ["read"] });
      const asked = await asPage(rig, "/v1/ui/session", both, { code });
      expect(asked).toMatchObject({ status: 202, cookies: [] });
      expect(JSON.parse(asked.text)).toEqual({ from: "ada", to: "eve" });
      expect(await asPage(rig, "/v1/ui/session", both, { code, replace: true })).toMatchObject({ status: 200 });
      const again = rig.server.createStartCode({ id: "ada", scopes: ["read", "run"] });
      expect(await asPage(rig, "/v1/ui/session", both, { code: again })).toMatchObject({ status: 200 });
    });
  });

  test("over TLS has a cookie that is kept to the host", verifies("SEC-2#page"), async () => {
    const hosts = ["pawl.example"];
    const server = createServer({ store: createMemoryStore(), agents: [], token: createToken(), hosts });
    const body = JSON.stringify({ code: server.createStartCode() });
    const headers = { "content-type": "application/json" };
    const answer = await server.fetch(
      new Request("https://pawl.example/v1/ui/session", { method: "POST", headers, body }),
    );
    expect(answer.headers.get("set-cookie")).toMatch(
      /^__Host-pawl=[\w.-]+; HttpOnly; SameSite=Strict; Path=\/; Max-Age=28800; Secure$/,
    );
    await server.close();
  });
});

describe("the inspector", () => {
  const asDocument = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };

  test("is an empty page that runs nothing but its own script", verifies("SEC-18#page"), async () => {
    await withServer({ ui: true, basePath: "/pawl" }, async ({ url }) => {
      const page = await fetch(`${url}/pawl/`);
      expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(page.headers.get("content-security-policy")).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; " +
          "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types service-worker",
      );
      for (const header of ["x-content-type-options", "referrer-policy"]) expect(page.headers.has(header)).toBe(true);
      const text = await page.text();
      const named = [...text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path);
      expect(named).toHaveLength(2);
      for (const path of named) {
        const file = await fetch(`${url}${path}`);
        expect(file.status).toBe(200);
        expect(file.headers.get("cache-control")).toContain("immutable");
      }
      expect((await fetch(`${url}/pawl`)).status).toBe(200);
      expect((await fetch(`${url}/pawl/ui/other.js`)).status).toBe(404);
    });
  });

  test("may be linked to from anywhere, and nothing else may", verifies("SEC-2#requests"), async () => {
    await withServer({ ui: true }, async (rig) => {
      expect((await asPage(rig, "/", { ...asDocument, origin: rig.url })).status).toBe(200);
      const framed = { ...asDocument, "sec-fetch-dest": "iframe", origin: rig.url };
      expect((await asPage(rig, "/", framed)).status).toBe(403);
      expect((await asPage(rig, "/v1/sessions", { ...asDocument, origin: rig.url })).status).toBe(403);
    });
  });

  test("is there only if it was asked for", async () => {
    await withServer({}, async ({ url }) => {
      expect((await fetch(`${url}/`)).status).toBe(404);
    });
  });

  test("gets another start link from whoever has the token, and from nobody else", verifies("SEC-2#page"), async () => {
    await withServer({ ui: true }, async (rig) => {
      const { status, json } = await rig.ask("POST", "/v1/ui/codes", {});
      expect(status).toBe(201);
      const entered = await asPage(rig, "/v1/ui/session", {}, { code: json.code });
      expect(entered.status).toBe(200);
      expect((await asPage(rig, "/v1/ui/codes", {}, {})).status).toBe(401);
    });
  });
});
