/**
 * `authenticateByJwt`: derives principals from access tokens that an authorization server issued as signed JWTs (RFC 9068).
 *
 * 1. A token is accepted only if its signature, issuer, audience and times are valid, so tokens for another service are rejected.
 * 2. Only asymmetric algorithms are accepted. Otherwise a public key could be used as an HMAC secret.
 * 3. The key set is refreshed every ten minutes, and for an unknown key at most once a minute. If the refresh fails, the cached keys
 *    are used for up to an hour. Meanwhile a token that no cached key can verify gets 503, not 401, and the server retries the issuer
 *    after five seconds at the earliest.
 */
import { getErrorMessage } from "../core/data/error-message.js";
import { isObject } from "../core/data/is-object.js";
import { isSafeForSecrets } from "../platform/loopback.js";
import { readBounded } from "../platform/read-bounded.js";
import { fromBase64url } from "./base64url.js";
import { checkOptionNames, createConfigurationError } from "./option-checks.js";
import { type Authenticate, type Principal, type Scope, scopes } from "./principal.js";
import { ServerError } from "./server-error.js";

/** The claims of a token whose signature, issuer, audience and times are valid. */
export type JwtClaims = { readonly [claim: string]: unknown };

/** A public key as a JSON Web Key (RFC 7517). */
export type Jwk = {
  /** The type of the key: `RSA`, `EC` or `OKP`. */
  readonly kty?: string;
  readonly [member: string]: unknown;
};

/** Options of `authenticateByJwt`: which tokens are accepted, and how they map to principals. */
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
   * Maps the claims to a principal, or to null to reject the request. Default: the id is `sub`, and the scopes are those in the claim
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
/** Tolerated clock difference between the issuer and this server, in seconds. */
const clockSkewS = 60;

/**
 * Creates the `authenticate` of a server that accepts an issuer's access tokens: `Authorization: Bearer JWT`. While the key set cannot
 * be read, requests get 503 `keys_unavailable`.
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
      "authenticateByJwt() needs the options `issuer` and `audience`, as non-empty strings.",
    );
  if (typeof principal !== "function")
    throw createConfigurationError("The option `principal` of authenticateByJwt() must be a function.");
  const keys = createKeySource(options);
  return async (request) => {
    const token = /^Bearer ([\w.-]+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
    if (token === undefined || token.length > maxTokenCharacters) return null;
    const parsed = parseToken(token);
    if (parsed === null) return null;
    const { claims } = parsed;
    // Check the claims first, so that foreign tokens do not trigger requests for keys.
    if (claims.iss !== issuer || !hasAudience(claims.aud, audience) || !isCurrent(claims, Date.now() / 1_000))
      return null;
    return (await isSigned(parsed, keys)) ? principal(claims) : null;
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

/** Rejects tokens without an expiry. */
function isCurrent({ exp, nbf }: JwtClaims, now: number): boolean {
  if (typeof exp !== "number" || exp + clockSkewS <= now) return false;
  return nbf === undefined || (typeof nbf === "number" && nbf - clockSkewS <= now);
}

type ParsedToken = {
  readonly algorithm: Algorithm;
  readonly kid: string | undefined;
  readonly claims: JwtClaims;
  readonly signed: Uint8Array<ArrayBuffer>;
  readonly signature: Uint8Array<ArrayBuffer>;
};

/** Null if the token is malformed, or of an unsupported kind. */
function parseToken(token: string): ParsedToken | null {
  const [head = "", body = "", tail = "", ...more] = token.split(".");
  const header = parsePart(head);
  const claims = parsePart(body);
  const signature = decodeBase64url(tail);
  if (header === null || claims === null || signature === null || more.length > 0) return null;
  const { alg, kid, crit, typ } = header;
  const algorithm = typeof alg === "string" ? algorithms.get(alg) : undefined;
  // Critical extensions are not supported, and ID tokens are not access tokens.
  if (algorithm === undefined || crit !== undefined || !isAccessToken(typ)) return null;
  const signed = new TextEncoder().encode(`${head}.${body}`);
  return { algorithm, kid: typeof kid === "string" ? kid : undefined, claims, signed, signature };
}

/** Whether a known key signed the token. @throws ServerError `keys_unavailable` */
async function isSigned({ algorithm, kid, signed, signature }: ParsedToken, keys: KeySource): Promise<boolean> {
  for (const key of await keys(algorithm, kid)) {
    const imported = await importKey(key, algorithm);
    if (imported !== null && (await crypto.subtle.verify(algorithm.verify, imported, signature, signed))) return true;
  }
  return false;
}

function isAccessToken(typ: unknown): boolean {
  return typ === undefined || (typeof typ === "string" && /^(?:application\/)?(?:at\+)?jwt$/i.test(typ));
}

function parsePart(part: string): JwtClaims | null {
  const bytes = decodeBase64url(part);
  if (bytes === null) return null;
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return isObject(value) ? value : null;
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

/** A key of the issuer. Importing a key takes longer than verifying a signature, so each is imported once for an algorithm. */
type KnownKey = { readonly jwk: Jwk; readonly imported: Map<Algorithm, Promise<VerifyKey | null>> };

type VerifyKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** Null if the key is invalid, or is not for this algorithm. */
function importKey({ jwk, imported }: KnownKey, algorithm: Algorithm): Promise<VerifyKey | null> {
  const earlier = imported.get(algorithm);
  if (earlier !== undefined) return earlier;
  const importing = crypto.subtle.importKey("jwk", jwk, algorithm.import, false, ["verify"]).catch(() => null);
  imported.set(algorithm, importing);
  return importing;
}

/** Returns the keys that may have signed a token. Rejects with a ServerError `keys_unavailable`. */
type KeySource = (algorithm: Algorithm, kid: string | undefined) => Promise<readonly KnownKey[]>;

function createKeySource({ jwksUrl, keys }: JwtOptions): KeySource {
  if ((jwksUrl === undefined) === (keys === undefined))
    throw createConfigurationError("authenticateByJwt() needs exactly one of the options `jwksUrl` and `keys`.");
  if (keys === undefined) return createRemoteKeys(checkUrl(jwksUrl ?? ""));
  const known = copyKeys(keys);
  return async (algorithm, kid) => findMatchingKeys(known, algorithm, kid);
}

/** Copies the keys, so that later changes to the array do not affect the server. */
function copyKeys(keys: readonly Jwk[]): readonly KnownKey[] {
  if (!Array.isArray(keys) || !keys.every((key) => typeof key === "object" && key !== null))
    throw createConfigurationError("The option `keys` of authenticateByJwt() must be an array of JSON Web Keys.");
  try {
    return keys.map((key) => toKnownKey(structuredClone(key)));
  } catch {
    throw createConfigurationError("The option `keys` of authenticateByJwt() must contain plain JSON.");
  }
}

function toKnownKey(jwk: Jwk): KnownKey {
  return { jwk, imported: new Map() };
}

function checkUrl(url: string): URL {
  if (isSafeForSecrets(url)) return new URL(url);
  throw createConfigurationError(`Invalid jwksUrl ${JSON.stringify(url)}: use an address that begins with https://.`);
}

/** The maximum number of keys that are tried for a signature, so that a forged token costs little. */
const maxTriedKeys = 5;

/**
 * The keys that may have signed a token. Keys with the token's `kid` come first. A key without a `kid` matches any token, and a token
 * without one matches any key.
 */
function findMatchingKeys(
  keys: readonly KnownKey[],
  { kty, crv }: Algorithm,
  kid: string | undefined,
): readonly KnownKey[] {
  const matching = keys.filter(
    ({ jwk }) =>
      jwk.kty === kty &&
      (crv === undefined || jwk.crv === crv) &&
      (jwk.use === undefined || jwk.use === "sig") &&
      (kid === undefined || jwk.kid === undefined || jwk.kid === kid),
  );
  const isNamed = ({ jwk }: KnownKey) => kid !== undefined && jwk.kid === kid;
  return [...matching.filter(isNamed), ...matching.filter((key) => !isNamed(key))].slice(0, maxTriedKeys);
}

const freshMs = 600_000;
const staleMs = 3_600_000;
const retryMs = 60_000;
const retryAfterFailureMs = 5_000;
const fetchTimeoutMs = 10_000;
const maxKeySetBytes = 512 * 1024;
const maxKeys = 100;

function createRemoteKeys(url: URL): KeySource {
  let known: readonly KnownKey[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  /** Why the last attempt failed; null if it succeeded. */
  let failure: { readonly error: unknown } | null = null;
  let reading: Promise<void> | null = null;
  const read = async () => {
    try {
      known = await fetchKeys(url);
      readAt = performance.now();
      failure = null;
    } catch (error) {
      failure = { error };
    }
    // The time counts from the end of the attempt, so that a slow issuer is not asked again at once.
    triedAt = performance.now();
    reading = null;
  };
  const findKnown = (algorithm: Algorithm, kid: string | undefined) =>
    performance.now() - readAt < staleMs ? findMatchingKeys(known, algorithm, kid) : [];
  return async (algorithm, kid) => {
    const now = performance.now();
    const hasKey = findKnown(algorithm, kid).length > 0;
    const isWanted = !hasKey || now - readAt >= freshMs;
    const mayTry = now - triedAt >= (failure === null ? retryMs : retryAfterFailureMs);
    const isFirst = isWanted && reading === null && mayTry;
    if (isFirst) reading = read();
    // Cached keys are used without waiting if another request already waits, or if the issuer fails.
    if (!hasKey || (isFirst && failure === null)) await reading;
    const found = findKnown(algorithm, kid);
    if (found.length === 0 && failure !== null) throw createUnavailableError(url, failure.error);
    return found;
  };
}

function createUnavailableError({ origin, pathname }: URL, cause: unknown): ServerError {
  const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const why = getErrorMessage(reason).replace(/[.]?$/, ".");
  return new ServerError(
    "keys_unavailable",
    `The key set at ${origin}${pathname} cannot be read: ${why} Check the option \`jwksUrl\` of authenticateByJwt(), and whether this server can reach the issuer.`,
    { retryAfterS: retryAfterFailureMs / 1_000, cause },
  );
}

/** @throws Error if the key set cannot be read */
async function fetchKeys(url: URL): Promise<readonly KnownKey[]> {
  const response = await fetch(url, { signal: AbortSignal.timeout(fetchTimeoutMs), redirect: "error" });
  if (!response.ok) {
    void response.body?.cancel().catch(() => {});
    throw new Error(`The issuer responded with status ${response.status}.`);
  }
  const bytes = await readBounded(response.body, maxKeySetBytes);
  if (bytes === null) throw new Error(`The response has more than ${maxKeySetBytes} bytes.`);
  const { keys } = Object(JSON.parse(new TextDecoder().decode(bytes))) as { readonly keys?: unknown };
  if (!Array.isArray(keys)) throw new Error("The response has no array of keys.");
  return keys.slice(0, maxKeys).map((key) => toKnownKey(Object(key) as Jwk));
}
