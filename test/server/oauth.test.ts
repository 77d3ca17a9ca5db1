/**
 * The server as an OAuth resource: tokens of an issuer, and what clients are told about logging in.
 */
import type { webcrypto } from "node:crypto";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createAgent, createMemoryStore } from "../../src/index.js";
import { authenticateByJwt, type Jwk, type JwtOptions } from "../../src/server/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";
import { startTestServer } from "./rig.js";

const issuer = "https://login.example.org";
const audience = "https://agents.example.org/mcp";

const base64url = (value: object | Uint8Array) =>
  Buffer.from(value instanceof Uint8Array ? value : JSON.stringify(value)).toString("base64url");

type Signer = { readonly jwk: Jwk; readonly sign: (claims?: object, header?: object) => Promise<string> };

/** The RSA keys are short, because long ones take seconds to generate. */
const kinds = {
  RS256: [
    { name: "RSASSA-PKCS1-v1_5", modulusLength: 1_024, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
    { name: "RSASSA-PKCS1-v1_5" },
  ],
  PS256: [
    { name: "RSA-PSS", modulusLength: 1_024, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
    { name: "RSA-PSS", saltLength: 32 },
  ],
  ES256: [
    { name: "ECDSA", namedCurve: "P-256" },
    { name: "ECDSA", hash: "SHA-256" },
  ],
  EdDSA: [{ name: "Ed25519" }, { name: "Ed25519" }],
} as const;

async function createSigner(alg: keyof typeof kinds, kid = "k1"): Promise<Signer> {
  const [algorithm, signing] = kinds[alg];
  const pair = (await crypto.subtle.generateKey(algorithm as never, true, [
    "sign",
    "verify",
  ])) as webcrypto.CryptoKeyPair;
  const { kty, crv, n, e, x, y } = (await crypto.subtle.exportKey("jwk", pair.publicKey)) as {
    readonly [name: string]: unknown;
  };
  const members = Object.entries({ kty, crv, n, e, x, y }).filter(([, value]) => value !== undefined);
  return {
    jwk: { ...Object.fromEntries(members), kid },
    async sign(claims = {}, header = {}) {
      const now = Math.floor(Date.now() / 1_000);
      const all = { iss: issuer, aud: audience, sub: "ada", scope: "read run", exp: now + 60, ...claims };
      const signed = `${base64url({ alg, kid, typ: "at+jwt", ...header })}.${base64url(all)}`;
      const signature = await crypto.subtle.sign(signing as never, pair.privateKey, Buffer.from(signed));
      return `${signed}.${base64url(new Uint8Array(signature))}`;
    },
  };
}

const requestWith = (token: string) =>
  new Request("https://agents.example.org/mcp", { headers: { authorization: `Bearer ${token}` } });

const byKeys = (keys: readonly Jwk[], options: Partial<JwtOptions> = {}) =>
  authenticateByJwt({ issuer, audience, keys, ...options });

/** A key set at an address, and a clock that can be moved. */
async function serveKeys(keys: unknown) {
  const keySet = { keys, status: 200, reads: 0 };
  const http = createHttpServer((_, response) => {
    keySet.reads += 1;
    response
      .writeHead(keySet.status, { "content-type": "application/json" })
      .end(JSON.stringify({ keys: keySet.keys }));
  });
  await new Promise<void>((done) => http.listen(0, "127.0.0.1", done));
  onTestFinished(() => void http.close());
  let skipped = 0;
  const start = Date.now();
  const clock = vi.spyOn(performance, "now").mockImplementation(() => Date.now() - start + skipped);
  onTestFinished(() => clock.mockRestore());
  const jwksUrl = `http://127.0.0.1:${(http.address() as AddressInfo).port}/jwks`;
  const skip = (ms: number) => {
    skipped += ms;
  };
  return { keySet, jwksUrl, skip };
}

describe("tokens of an issuer", () => {
  test.each(["RS256", "PS256", "ES256", "EdDSA"] as const)(
    "signed by %s name their principal",
    verifies("PROT-7#oauth"),
    async (alg) => {
      const { jwk, sign } = await createSigner(alg);
      expect(await byKeys([jwk])(requestWith(await sign()))).toEqual({ id: "ada", scopes: ["read", "run"] });
      const other = await createSigner(alg);
      expect(await byKeys([jwk])(requestWith(await other.sign()))).toBeNull();
    },
  );

  const now = Math.floor(Date.now() / 1_000);
  test.each([
    ["of another issuer", { iss: "https://evil.example.org" }, {}],
    ["of an issuer with a slash more", { iss: `${issuer}/` }, {}],
    ["for another audience", { aud: "https://other.example.org/mcp" }, {}],
    ["for other audiences", { aud: ["a", "b"] }, {}],
    ["without an audience", { aud: undefined }, {}],
    ["that have expired", { exp: now - 120 }, {}],
    ["without an end", { exp: undefined }, {}],
    ["that are not valid yet", { nbf: now + 600 }, {}],
    ["of nobody", { sub: undefined }, {}],
    ["without a signature", {}, { alg: "none" }],
    ["that say they are signed by a secret", {}, { alg: "HS256" }],
    ["that say they are signed in another way", {}, { alg: "RS256" }],
    ["with an extension that must be understood", {}, { crit: ["b64"] }],
    ["that are no access tokens", {}, { typ: "logout+jwt" }],
    ["of an unknown key", {}, { kid: "k2" }],
  ])("%s are refused", verifies("PROT-7#oauth"), async (_what, claims, header) => {
    const { jwk, sign } = await createSigner("ES256");
    expect(await byKeys([jwk])(requestWith(await sign(claims, header)))).toBeNull();
  });

  test.each(["", "a.b", "a.b.c", "a.b.c.d", `${"a".repeat(20_000)}.b.c`, "e30.e30."])(
    "that are malformed are refused: %.20s",
    verifies("PROT-7#oauth"),
    async (token) => {
      expect(await byKeys([])(requestWith(token))).toBeNull();
    },
  );

  test("that were changed are refused", verifies("PROT-7#oauth"), async () => {
    const { jwk, sign } = await createSigner("ES256");
    const [head, , signature] = (await sign()).split(".");
    const claims = base64url({ iss: issuer, aud: audience, sub: "root", scope: "admin", exp: now + 60 });
    expect(await byKeys([jwk])(requestWith(`${head}.${claims}.${signature}`))).toBeNull();
  });

  test("may be read by the author's own function", verifies("PROT-7#oauth"), async () => {
    const { jwk, sign } = await createSigner("ES256");
    const principal = ({ groups }: { readonly [claim: string]: unknown }) =>
      Array.isArray(groups) && groups.includes("staff") ? ({ id: "staff", scopes: ["read"] } as const) : null;
    const authenticate = byKeys([jwk], { principal });
    expect(await authenticate(requestWith(await sign({ groups: ["staff"] })))).toEqual({
      id: "staff",
      scopes: ["read"],
    });
    expect(await authenticate(requestWith(await sign()))).toBeNull();
  });

  test(
    "are checked by a key set at an address, which is read again for a new key",
    verifies("PROT-7#oauth"),
    async () => {
      const [first, second] = [await createSigner("ES256"), await createSigner("ES256", "k2")];
      const { keySet, jwksUrl, skip } = await serveKeys([first.jwk]);
      const authenticate = authenticateByJwt({ issuer, audience, jwksUrl });
      const comesIn = async ({ sign }: Signer) => (await authenticate(requestWith(await sign()))) !== null;
      expect(await Promise.all([comesIn(first), comesIn(first), comesIn(second)])).toEqual([true, true, false]);
      expect(keySet.reads).toBe(1);
      keySet.keys = [first.jwk, second.jwk];
      // Unknown keys do not make the server ask again and again.
      expect(await comesIn(second)).toBe(false);
      expect(keySet.reads).toBe(1);
      skip(61_000);
      expect(await comesIn(second)).toBe(true);
      expect(keySet.reads).toBe(2);
    },
  );

  test(
    "are not refused while the key set cannot be read: the error says so, and the issuer is left alone for a while",
    verifies("PROT-7#oauth"),
    async () => {
      const signer = await createSigner("ES256");
      const { keySet, jwksUrl, skip } = await serveKeys([signer.jwk]);
      const authenticate = authenticateByJwt({ issuer, audience, jwksUrl });
      const ask = async (claims?: object) => authenticate(requestWith(await signer.sign(claims)));
      keySet.status = 502;
      // Tokens that are refused anyway cause no request.
      expect(await ask({ aud: "https://other.example.org/mcp" })).toBeNull();
      expect(keySet.reads).toBe(0);
      const refused = await Promise.allSettled(Array.from({ length: 20 }, () => ask()));
      for (const result of refused)
        expect(result).toMatchObject({
          status: "rejected",
          reason: { code: "keys_unavailable", retryAfterS: 5, message: expect.stringMatching(/status 502.*jwksUrl/) },
        });
      keySet.status = 200;
      await expect(ask()).rejects.toMatchObject({ code: "keys_unavailable" });
      expect(keySet.reads).toBe(1);
      skip(5_001);
      expect(await ask()).toMatchObject({ id: "ada" });
      expect(keySet.reads).toBe(2);
      // Keys that are known are used for up to an hour.
      keySet.status = 502;
      skip(30 * 60_000);
      expect(await ask()).toMatchObject({ id: "ada" });
      expect(await ask()).toMatchObject({ id: "ada" });
      expect(keySet.reads).toBe(3);
      skip(30 * 60_000);
      await expect(ask()).rejects.toMatchObject({ code: "keys_unavailable" });
    },
  );

  test("are not checked by a key set that is too large or no key set", verifies("PROT-7#oauth"), async () => {
    const signer = await createSigner("ES256");
    for (const keys of [[signer.jwk, { pad: "x".repeat(600_000) }], "none"]) {
      const { jwksUrl } = await serveKeys(keys);
      const authenticate = authenticateByJwt({ issuer, audience, jwksUrl });
      await expect(authenticate(requestWith(await signer.sign()))).rejects.toMatchObject({ code: "keys_unavailable" });
    }
  });

  test("import a key once, and use the keys as they were given", verifies("PROT-7#oauth"), async () => {
    const signer = await createSigner("ES256");
    const jwk: { [member: string]: unknown } = { ...signer.jwk };
    const keys = [jwk];
    const authenticate = byKeys(keys);
    jwk.kid = "changed";
    keys.pop();
    const imports = vi.spyOn(crypto.subtle, "importKey");
    onTestFinished(() => imports.mockRestore());
    for (let count = 0; count < 3; count += 1)
      expect(await authenticate(requestWith(await signer.sign()))).toMatchObject({ id: "ada" });
    expect(imports).toHaveBeenCalledTimes(1);
  });

  test("are checked with at most five keys, those with the key's id first", verifies("PROT-7#oauth"), async () => {
    const others = await Promise.all(Array.from({ length: 5 }, (_, index) => createSigner("ES256", `other${index}`)));
    const signer = await createSigner("ES256", "last");
    const unnamed = others.map(({ jwk: { kid: _, ...jwk } }): Jwk => jwk);
    const verify = vi.spyOn(crypto.subtle, "verify");
    onTestFinished(() => verify.mockRestore());
    const named = byKeys([...unnamed, signer.jwk]);
    expect(await named(requestWith(await signer.sign()))).toMatchObject({ id: "ada" });
    expect(verify).toHaveBeenCalledTimes(1);
    const forged = await (await createSigner("ES256")).sign({}, { kid: undefined });
    expect(await byKeys([...others.map(({ jwk }) => jwk), signer.jwk])(requestWith(forged))).toBeNull();
    expect(verify).toHaveBeenCalledTimes(6);
  });

  test.each([
    ["no keys", {}, "`jwksUrl` and `keys`"],
    ["an address that others can change", { jwksUrl: "http://login.example.org/jwks" }, "https://"],
    ["an unknown option", { keys: [], secret: "x" }, "secret"],
    ["no audience", { keys: [], audience: "" }, "`issuer` and `audience`"],
    ["keys that are no objects", { keys: ["k1"] as never }, "JSON Web Keys"],
    ["keys with functions", { keys: [{ kty: "EC", sign() {} }] }, "plain JSON"],
  ])("need proper options: %s", (_what, options, message) => {
    expect(() => authenticateByJwt({ issuer, audience, ...options })).toThrow(message);
  });
});

describe("a server with the option oauth", () => {
  const oauth = { resource: audience, authorizationServers: [issuer] };

  async function serve() {
    const signer = await createSigner("ES256");
    const store = createMemoryStore();
    const agent = createAgent({ name: "a", store, model: createScriptedModel([]) });
    const rig = await startTestServer({ store, agents: [agent], authenticate: byKeys([signer.jwk]), oauth });
    const ask = (path: string, token?: string, method = "GET") =>
      fetch(new URL(path, rig.url), {
        method,
        headers: {
          "content-type": "application/json",
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
        ...(method === "GET" ? {} : { body: "{}" }),
      });
    return { ask, signer, url: rig.url };
  }

  test("tells everybody where to log in", verifies("PROT-7#oauth"), async () => {
    const { ask } = await serve();
    for (const path of ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"])
      expect(await (await ask(path)).json()).toEqual({
        resource: audience,
        authorization_servers: [issuer],
        scopes_supported: ["read", "run", "approve"],
        bearer_methods_supported: ["header"],
      });
  });

  test("names the metadata and the scopes when it refuses", verifies("PROT-7#oauth"), async () => {
    const { ask, signer } = await serve();
    const metadata = 'resource_metadata="https://agents.example.org/.well-known/oauth-protected-resource/mcp"';
    const unknown = await ask("/mcp", undefined, "POST");
    expect(unknown.status).toBe(401);
    expect(unknown.headers.get("www-authenticate")).toBe(`Bearer scope="read run approve", ${metadata}`);
    const weak = await ask("/mcp", await signer.sign({ scope: "read" }), "POST");
    expect(weak.status).toBe(403);
    expect(weak.headers.get("www-authenticate")).toBe(`Bearer error="insufficient_scope", scope="run", ${metadata}`);
    expect((await ask("/v1/sessions", await signer.sign())).status).toBe(200);
  });

  test(
    "has its metadata at the root of the host, also if it is mounted under a path",
    verifies("PROT-7#oauth"),
    async () => {
      const resource = "https://agents.example.org/pawl/mcp";
      const { url } = await startTestServer({
        store: createMemoryStore(),
        agents: [],
        basePath: "/pawl",
        oauth: { resource, authorizationServers: [issuer] },
      });
      const refused = await fetch(new URL("/pawl/v1/sessions", url));
      const named = /resource_metadata="([^"]+)"/.exec(refused.headers.get("www-authenticate") ?? "")?.[1] ?? "";
      expect(named).toBe("https://agents.example.org/.well-known/oauth-protected-resource/pawl/mcp");
      const found = await fetch(new URL(new URL(named).pathname, url));
      expect(found.status).toBe(200);
      expect(await found.json()).toMatchObject({ resource });
    },
  );

  test("answers 503 while it cannot check tokens", verifies("PROT-7#oauth"), async () => {
    const signer = await createSigner("ES256");
    const { keySet, jwksUrl } = await serveKeys([signer.jwk]);
    keySet.status = 500;
    const { url, lines } = await startTestServer({
      store: createMemoryStore(),
      agents: [],
      authenticate: authenticateByJwt({ issuer, audience, jwksUrl }),
      oauth,
    });
    const headers = { authorization: `Bearer ${await signer.sign()}` };
    const refused = await fetch(new URL("/v1/sessions", url), { headers });
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("5");
    expect(refused.headers.get("www-authenticate")).toBeNull();
    expect(await refused.json()).toMatchObject({
      error: { code: "keys_unavailable", message: expect.stringContaining("Retry-After") },
    });
    expect(lines).toContainEqual(
      expect.objectContaining({
        status: 503,
        error: expect.objectContaining({ message: expect.stringContaining(new URL(jwksUrl).host) }),
      }),
    );
  });

  test("has no metadata without it", async () => {
    const store = createMemoryStore();
    const { url } = await startTestServer({ store, agents: [] });
    expect((await fetch(new URL("/.well-known/oauth-protected-resource", url))).status).toBe(404);
  });

  test.each([
    ["no address", { resource: "agents", authorizationServers: [issuer] }, "oauth.resource"],
    ["no issuer", { resource: audience, authorizationServers: [] }, "oauth.authorizationServers"],
    ["a scope with a quote", { ...oauth, scopes: ['a"b'] }, "oauth.scopes"],
    ["an unknown option", { ...oauth, realm: "x" }, "realm"],
  ])("is refused for %s", async (_what, given, message) => {
    await expect(startTestServer({ store: createMemoryStore(), agents: [], oauth: given } as never)).rejects.toThrow(
      message,
    );
  });
});
