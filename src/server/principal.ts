/**
 * Principals and their permissions.
 *
 * 1. There is no server without authentication (SEC-1). Ids never grant access (SEC-3).
 * 2. A token is compared by its SHA-256, in constant time.
 */
import type { ClientRunOptions, RunParams, SessionInfo } from "../index.js";
import { sha256 } from "../platform/hash.js";
import { toBase64url } from "./base64url.js";

/** The possible scopes of a principal. */
export const scopes = Object.freeze([
  "read",
  "run",
  "approve",
  "prompt",
  "schedule",
  "signal",
  "tick",
  "admin",
] as const);

/** One of `scopes`. */
export type Scope = (typeof scopes)[number];

/** The sender of a request. Its `id` is recorded in the log. */
export type Principal = {
  /** The id of the person or account. */
  readonly id: string;
  /** The scopes of the principal. */
  readonly scopes: readonly Scope[];
};

/** Identifies the sender of a request. Returns null if the sender is unknown. */
export type Authenticate = (request: Request) => Principal | null | Promise<Principal | null>;

/** The action of a request: the name of its route. */
export type Action = string;

/** The session that a request is about. */
export type AskedSession = {
  /** The id of the session. */
  readonly id: string;
  /** The info of the session; null if it does not exist yet. */
  readonly info: SessionInfo | null;
};

/** The agent and options that a request to begin a session or a run asks for. Empty for other requests. */
export type AskedRun = {
  /** The agent of the new session. */
  readonly agent?: string;
  /** The client's run options, all of which are among the server's `clientOptions`. Their values are not checked yet. */
  readonly options?: ClientRunOptions;
};

/** Decides whether a principal may perform an action. */
export type May = (
  principal: Principal,
  action: Action,
  session: AskedSession | null,
  run: AskedRun,
) => boolean | Promise<boolean>;

/** A request that starts a run. */
export type RunRequest = {
  /** The sender of the request. */
  readonly principal: Principal;
  /** The session's agent; absent if the request does not name the agent of its session. */
  readonly agent?: string;
  /** The request, whose body has been read. */
  readonly request: Request;
};

/** Returns the params of a run, or undefined to set none. */
export type ChooseParams = (run: RunRequest) => RunParams | undefined | Promise<RunParams | undefined>;

/** The minimum length of a token in characters: 128 bits in base64url. */
const minTokenCharacters = 22;

/** Creates a random token of 256 bits, for `createServer({ token })`. */
export function createToken(): string {
  return randomBase64url(32);
}

/** Creates random bytes, encoded as base64url. */
export function randomBase64url(bytes: number): string {
  return toBase64url(crypto.getRandomValues(new Uint8Array(bytes)));
}

export function isToken(token: unknown): token is string {
  return typeof token === "string" && token.length >= minTokenCharacters && /^[\x21-\x7e]+$/.test(token);
}

/** The principal of every client with the token. */
export const tokenPrincipal: Principal = Object.freeze({ id: "token", scopes });

/** Authenticates every client with the token as the same principal, which has all scopes. */
export function createTokenAuthentication(token: string): Authenticate {
  const expected = sha256(token);
  return (request) => {
    const given = /^Bearer ([\x21-\x7e]{1,4096})$/i.exec(request.headers.get("authorization") ?? "")?.[1];
    return given !== undefined && isEqualInConstantTime(sha256(given), expected) ? tokenPrincipal : null;
  };
}

/** Derives an id from a name that a principal chose. The same name gives the same id, but a different one for each principal. */
export function deriveId({ id }: Pick<Principal, "id">, name: string): string {
  return sha256(JSON.stringify([id, name])).slice(0, 32);
}

/** Compares two strings in constant time: the time does not depend on where they differ. */
export function isEqualInConstantTime(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let index = 0; index < a.length; index += 1) difference |= a.charCodeAt(index) ^ b.charCodeAt(index);
  return difference === 0;
}

/**
 * The default of `may`. An action without a session needs only the scope. A session may be used by the principal that began it, and
 * by principals with the scope `admin`.
 */
export function isOwnSession({ id, scopes: grantedScopes }: Principal, session: AskedSession | null): boolean {
  return session === null || grantedScopes.includes("admin") || session.info?.principal === id;
}
