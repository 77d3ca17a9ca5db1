/**
 * Who asks, and what they may do.
 *
 * 1. There is no server without authentication (SEC-1). Ids are never authority (SEC-3).
 * 2. A token is compared by its SHA-256, in constant time.
 */
import type { ClientRunOptions, SessionInfo } from "../index.js";
import { sha256 } from "../platform/hash.js";

/** What a principal may be allowed to do. */
export const scopes = Object.freeze(["read", "run", "approve", "prompt", "admin"] as const);

/** One of `scopes`. */
export type Scope = (typeof scopes)[number];

/** Who asks. `id` is what the log records; it names a person or an account. */
export type Principal = {
  /** The id of the person or account. */
  readonly id: string;
  /** What it may do. */
  readonly scopes: readonly Scope[];
};

/** Says who sent a request; null if nobody is known. */
export type Authenticate = (request: Request) => Principal | null | Promise<Principal | null>;

/** What a principal asks to do: the name of the route. */
export type Action = string;

/** The session that a request is about. */
export type AskedSession = {
  /** The id of the session. */
  readonly id: string;
  /** What it is bound to; null if it does not exist yet. */
  readonly info: SessionInfo | null;
};

/** What a request that begins a session or a run asks for. Other requests leave it empty. */
export type AskedRun = {
  /** The agent that is to have the new session. */
  readonly agent?: string;
  /** The run options of the client, all of them among the server's `clientOptions`. Their values were not checked yet. */
  readonly options?: ClientRunOptions;
};

/** Says whether a principal may do what it asks. */
export type May = (
  principal: Principal,
  action: Action,
  session: AskedSession | null,
  run: AskedRun,
) => boolean | Promise<boolean>;

/** The fewest characters of a token: 128 bits in base64url. */
const minTokenCharacters = 22;

/** A random token of 256 bits, for `createServer({ token })`. */
export function createToken(): string {
  return randomBase64url(32);
}

/** Random bytes as base64url. */
export function randomBase64url(bytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  return btoa(String.fromCharCode(...random))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

export function isToken(token: unknown): token is string {
  return typeof token === "string" && token.length >= minTokenCharacters && /^[\x21-\x7e]+$/.test(token);
}

/** Everyone who has the token. */
export const tokenPrincipal: Principal = Object.freeze({ id: "token", scopes });

/** Everyone who has the token may do everything. */
export function createTokenAuthentication(token: string): Authenticate {
  const expected = sha256(token);
  return (request) => {
    const given = /^Bearer ([\x21-\x7e]{1,4096})$/i.exec(request.headers.get("authorization") ?? "")?.[1];
    return given !== undefined && isEqualInConstantTime(sha256(given), expected) ? tokenPrincipal : null;
  };
}

/** The id that a principal's own name for something gives: the same each time, and no two principals share one. */
export function deriveId({ id }: Principal, name: string): string {
  return sha256(JSON.stringify([id, name])).slice(0, 32);
}

/** Takes the same time wherever two texts of one length differ. */
export function isEqualInConstantTime(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let index = 0; index < a.length; index += 1) difference |= a.charCodeAt(index) ^ b.charCodeAt(index);
  return difference === 0;
}

/**
 * The default of `may`: the scope is enough for what is about no session; a session may be used by the principal that began it, and
 * by principals with the scope `admin`.
 */
export function isOwnSession({ id, scopes: given }: Principal, session: AskedSession | null): boolean {
  return session === null || given.includes("admin") || session.info?.principal === id;
}
