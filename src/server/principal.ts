/**
 * Who asks, and what they may do.
 *
 * 1. There is no server without authentication (SEC-1). Ids are never authority (SEC-3).
 * 2. A token is compared by its SHA-256, in constant time.
 */
import type { SessionInfo } from "../index.js";

export const scopes = Object.freeze(["read", "run", "approve", "prompt", "admin"] as const);

export type Scope = (typeof scopes)[number];

/** Who asks. `id` is what the log records; it names a person or an account. */
export type Principal = { readonly id: string; readonly scopes: readonly Scope[] };

export type Authenticate = (request: Request) => Principal | null | Promise<Principal | null>;

/** What a principal asks to do: the name of the route. */
export type Action = string;

export type AskedSession = { readonly id: string; readonly info: SessionInfo | null };

export type May = (principal: Principal, action: Action, session: AskedSession | null) => boolean | Promise<boolean>;

/** The fewest characters of a token: 128 bits in base64url. */
const shortestToken = 22;

/** A random token of 256 bits, for `createServer({ token })`. */
export function createToken(): string {
  return randomText(32);
}

/** Random bytes as base64url. */
export function randomText(bytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  return btoa(String.fromCharCode(...random))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

export function isToken(token: unknown): token is string {
  return typeof token === "string" && token.length >= shortestToken && /^[\x21-\x7e]+$/.test(token);
}

/** Whoever has the token may do everything. */
export function byToken(token: string): Authenticate {
  const expected = hash(token);
  const principal: Principal = Object.freeze({ id: "token", scopes });
  return async (request) => {
    const given = /^Bearer ([\x21-\x7e]{1,4096})$/i.exec(request.headers.get("authorization") ?? "")?.[1];
    if (given === undefined) return null;
    return areEqual(await hash(given), await expected) ? principal : null;
  };
}

async function hash(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

/** The id that a principal's own name for something gives: the same each time, and no two principals share one. */
export async function idFor({ id }: Principal, name: string): Promise<string> {
  const digest = await hash(JSON.stringify([id, name]));
  return [...digest.subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length;
  for (let index = 0; index < a.length; index += 1) difference |= (a[index] ?? 0) ^ (b[index] ?? 0);
  return difference === 0;
}

/**
 * The default of `may`: the scope is enough for what is about no session; a session may be used by whoever began it, and
 * by principals with the scope `admin`.
 */
export function ownSessions({ id, scopes: given }: Principal, session: AskedSession | null): boolean {
  return session === null || given.includes("admin") || session.info?.principal === id;
}
