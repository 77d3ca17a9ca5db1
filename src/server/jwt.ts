/**
 * `authenticateByJwt`: derives principals from the access tokens of an authorization server, which are signed JWTs (RFC 9068).
 *
 * 1. A token is accepted only if its signature, issuer, audience and times are valid, so tokens for another service are refused.
 * 2. Only asymmetric algorithms are accepted. Otherwise a public key could be used as an HMAC secret.
 * 3. The key set is refreshed every ten minutes, and for an unknown key at most once a minute. If that fails, the cached keys are
 *    used for up to an hour.
 */
import { isSafeForSecrets } from "../platform/loopback.js";
import { fromBase64url } from "./base64url.js";
import { checkOptionNames, createConfigurationError } from "./option-checks.js";
import { type Authenticate, type Principal, type Scope, scopes } from "./principal.js";

/** The claims of a token whose signature, issuer, audience and times are valid. */
export type JwtClaims = { readonly [claim: string]: unknown };

/** A public key as a JSON Web Key (RFC 7517). */
export type Jwk = {
  /** The type of the key: `RSA`, `EC` or `OKP`. */
  readonly kty?: string;
  readonly [member: string]: unknown;
};

/** Which tokens are accepted, and for which principals. */
export type JwtOptions = {
  /** The issuer's identifier. It must equal the `iss` claim. */
  readonly issuer: string;
  /** The issuer's name for this server. The `aud` claim must contain it. */
  readonly audience: string;
  /** The address of the issuer's key set (JWKS). */
  readonly jwksUrl?: string;
  /** Public keys, instead of `jwksUrl`. */
  readonly keys?: readonly Jwk[];
  /**
   * Maps the claims to a principal; null refuses the request. Default: the id is `sub`, and the scopes are those in the claim
   * `scope` that Pawl knows (`read`, `run`, …).
   */
  readonly principal?: (claims: JwtClaims) => Principal | null | Promise<Principal | null>;
};

const optionNames: ReadonlySet<string> = new Set(["issuer", "audience", "jwksUrl", "keys", "principal"]);

type Algorithm = {
  readonly kty: string;
  readonly crv?: string;
  readonly import: { readonly name: string; readonly hash?: string; readonly namedCurve?: string };
  readonly verify: { readonly name: string; readonly hash?: string; readonly saltLength?: number };
};

const rsa = (hash: string): Algorithm => {
  const name = "RSASSA-PKCS1-v1_5";
  return { kty: "RSA", import: { name, hash }, verify: { name } };
};
const pss = (hash: string, saltLength: number): Algorithm => {
  const name = "RSA-PSS";
  return { kty: "RSA", import: { name, hash }, verify: { name, saltLength } };
};
const ecdsa = (crv: string, hash: string): Algorithm => {
  const name = "ECDSA";
  return { kty: "EC", crv, import: { name, namedCurve: crv }, verify: { name, hash } };
};
const ed25519: Algorithm = { kty: "OKP", crv: "Ed25519", import: { name: "Ed25519" }, verify: { name: "Ed25519" } };

const algorithms: ReadonlyMap<string, Algorithm> = new Map([
  ["RS256", rsa("SHA-256")],
  ["RS384", rsa("SHA-384")],
  ["RS512", rsa("SHA-512")],
  ["PS256", pss("SHA-256", 32)],
  ["PS384", pss("SHA-384", 48)],
  ["PS512", pss("SHA-512", 64)],
  ["ES256", ecdsa("P-256", "SHA-256")],
  ["ES384", ecdsa("P-384", "SHA-384")],
  ["EdDSA", ed25519],
  ["Ed25519", ed25519],
]);

const maxTokenCharacters = 16_384;
/** Tolerated clock difference between the issuer and this server. */
const clockSkewS = 60;

/**
 * Returns an `authenticate` for a server that accepts an issuer's access tokens: `Authorization: Bearer JWT`.
 * @throws PawlError `bad_configuration`
 *
 * @example
 * ```ts
 * const server = createServer({
 *   store,
 *   agents: [agent],
 *   authenticate: authenticateByJwt({
 *     issuer: "https://login.example.org",
 *     audience: "https://agents.example.org/mcp",
 *     jwksUrl: "https://login.example.org/jwks.json",
 *   }),
 *   oauth: { resource: "https://agents.example.org/mcp", authorizationServers: ["https://login.example.org"] },
 * });
 * ```
 */
export function authenticateByJwt(options: JwtOptions): Authenticate {
  checkOptionNames("authenticateByJwt()", options, optionNames);
  const { issuer, audience, principal = defaultPrincipal } = options;
  if (![issuer, audience].every((one) => typeof one === "string" && one !== ""))
    throw createConfigurationError(
      "authenticateByJwt() needs the options issuer and audience, which must be non-empty strings.",
    );
  if (typeof principal !== "function")
    throw createConfigurationError("The option principal of authenticateByJwt() must be a function.");
  const keys = createKeySource(options);
  return async (request) => {
    const token = /^Bearer ([\w.-]+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
    if (token === undefined || token.length > maxTokenCharacters) return null;
    const claims = await verify(token, keys);
    if (claims === null || claims.iss !== issuer || !hasAudience(claims.aud, audience)) return null;
    return isCurrent(claims, Date.now() / 1_000) ? principal(claims) : null;
  };
}

function defaultPrincipal({ sub, scope }: JwtClaims): Principal | null {
  if (typeof sub !== "string" || sub === "") return null;
  const given = typeof scope === "string" ? scope.split(" ") : [];
  return { id: sub, scopes: scopes.filter((one): one is Scope => given.includes(one)) };
}

function hasAudience(aud: unknown, audience: string): boolean {
  return aud === audience || (Array.isArray(aud) && aud.includes(audience));
}

/** Tokens without an expiry are refused. */
function isCurrent({ exp, nbf }: JwtClaims, now: number): boolean {
  if (typeof exp !== "number" || exp + clockSkewS <= now) return false;
  return nbf === undefined || (typeof nbf === "number" && nbf - clockSkewS <= now);
}

/** Returns the claims if a known key signed them; otherwise null. */
async function verify(token: string, keys: KeySource): Promise<JwtClaims | null> {
  const [head = "", body = "", signature = "", ...more] = token.split(".");
  const header = parsePart(head);
  const claims = parsePart(body);
  if (header === null || claims === null || more.length > 0) return null;
  const { alg, kid, crit, typ } = header;
  const algorithm = typeof alg === "string" ? algorithms.get(alg) : undefined;
  // Critical extensions are not supported, and ID tokens are not access tokens.
  if (algorithm === undefined || crit !== undefined || !isAccessToken(typ)) return null;
  const signed = new TextEncoder().encode(`${head}.${body}`);
  const bytes = decodeBase64url(signature);
  if (bytes === null) return null;
  for (const key of await keys(algorithm, typeof kid === "string" ? kid : undefined)) {
    const imported = await crypto.subtle.importKey("jwk", key, algorithm.import, false, ["verify"]).catch(() => null);
    if (imported !== null && (await crypto.subtle.verify(algorithm.verify, imported, bytes, signed))) return claims;
  }
  return null;
}

function isAccessToken(typ: unknown): boolean {
  return typ === undefined || (typeof typ === "string" && /^(?:application\/)?(?:at\+)?jwt$/i.test(typ));
}

function parsePart(part: string): JwtClaims | null {
  const bytes = decodeBase64url(part);
  if (bytes === null) return null;
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JwtClaims) : null;
  } catch {
    return null;
  }
}

function decodeBase64url(text: string): Uint8Array<ArrayBuffer> | null {
  if (text === "" || !/^[\w-]*$/.test(text)) return null;
  try {
    return fromBase64url(text);
  } catch {
    return null;
  }
}

/** Returns the keys that may have signed a token. */
type KeySource = (algorithm: Algorithm, kid: string | undefined) => Promise<readonly Jwk[]>;

function createKeySource({ jwksUrl, keys }: JwtOptions): KeySource {
  if ((jwksUrl === undefined) === (keys === undefined))
    throw createConfigurationError("authenticateByJwt() needs exactly one of the options jwksUrl and keys.");
  if (keys !== undefined && !Array.isArray(keys))
    throw createConfigurationError("The option keys of authenticateByJwt() must be an array.");
  if (keys !== undefined) return async (algorithm, kid) => findMatchingKeys(keys, algorithm, kid);
  return createRemoteKeys(checkUrl(jwksUrl ?? ""));
}

function checkUrl(url: string): URL {
  if (isSafeForSecrets(url)) return new URL(url);
  throw createConfigurationError(`Invalid jwksUrl ${JSON.stringify(url)}: use an address that begins with https://.`);
}

/** A key without a `kid` matches any token, and a token without one matches any key. */
function findMatchingKeys(keys: readonly Jwk[], { kty, crv }: Algorithm, kid: string | undefined): readonly Jwk[] {
  return keys.filter(
    (key) =>
      key.kty === kty &&
      (crv === undefined || key.crv === crv) &&
      (key.use === undefined || key.use === "sig") &&
      (kid === undefined || key.kid === undefined || key.kid === kid),
  );
}

const freshMs = 600_000;
const staleMs = 3_600_000;
const retryMs = 60_000;
const fetchTimeoutMs = 10_000;
const maxKeySetBytes = 512 * 1024;
const maxKeys = 100;

function createRemoteKeys(url: URL): KeySource {
  let known: readonly Jwk[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | null = null;
  const read = async () => {
    triedAt = performance.now();
    known = await fetchKeys(url);
    readAt = performance.now();
  };
  const refresh = () => {
    reading ??= read()
      .catch(() => {})
      .finally(() => {
        reading = null;
      });
    return reading;
  };
  return async (algorithm, kid) => {
    const now = performance.now();
    const mayTry = now - triedAt >= retryMs;
    const found = now - readAt < staleMs ? findMatchingKeys(known, algorithm, kid) : [];
    if (reading !== null && found.length === 0) await reading;
    else if (mayTry && (found.length === 0 || now - readAt >= freshMs)) await refresh();
    return performance.now() - readAt < staleMs ? findMatchingKeys(known, algorithm, kid) : [];
  };
}

/** @throws Error if the key set cannot be read */
async function fetchKeys(url: URL): Promise<readonly Jwk[]> {
  const response = await fetch(url, { signal: AbortSignal.timeout(fetchTimeoutMs), redirect: "error" });
  if (!response.ok) throw new Error(`The key set responded with status ${response.status}.`);
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).length;
    if (bytes > maxKeySetBytes) throw new Error("The key set is too large.");
    chunks.push(new Uint8Array(chunk as Uint8Array));
  }
  const { keys } = Object(JSON.parse(await new Blob(chunks).text())) as { readonly keys?: unknown };
  if (!Array.isArray(keys)) throw new Error("The key set has no keys.");
  return keys.slice(0, maxKeys).map((key) => Object(key) as Jwk);
}
