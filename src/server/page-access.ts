/**
 * Access for a browser page: a one-time start code, a cookie, and a second half (SEC-2).
 *
 * 1. The code is in the fragment of a link, which no server or log receives. It is valid once, for ten minutes, in the process that
 *    created it.
 * 2. The page exchanges the code for a cookie that no script can read, and a second half that it stores and sends in a header. Both
 *    are required: cookies ignore ports, so the browser also sends the cookie to other servers on this machine, and with requests of
 *    their pages.
 * 3. Both are signed and not stored, so each process with the same keys accepts them. By default, the keys are new for each start of
 *    a server. So credentials that were sent to a program on a dead server's port are worthless for the next server.
 * 4. Before a page sends its half, the server must prove that it knows the half, because any local program may listen on a free port.
 */
import { hmacSha256, sha256 } from "../platform/hash.js";
import { fromBase64url, toBase64url } from "./base64url.js";
import type { Keys } from "./keys.js";
import { isEqualInConstantTime, type Principal, randomBase64url, type Scope, scopes } from "./principal.js";

export type PageAccess = {
  /** Creates a code that lets one page act as a principal. */
  readonly createCode: (principal: Principal) => string;
  /** Returns the principal of a code; null if the code is unknown, used or expired. The code stays valid. */
  readonly peekCode: (code: string, now: number) => Principal | null;
  /** Exchanges a code for a ticket; null if the code is unknown, used or expired. */
  readonly redeemCode: (code: string, now: number) => PageTicket | null;
  /** Returns the principal of a request with both halves; null if one of them is missing, invalid or expired. */
  readonly authenticate: (request: Request, now: number) => Principal | null;
  /**
   * Proves to the page with the request's cookie that this server knows its second half; null without a valid cookie. The proof
   * includes the requested host, so that it cannot be relayed to another server.
   */
  readonly prove: (request: Request, nonce: string, now: number) => string | null;
};

export type PageTicket = {
  readonly cookie: string;
  readonly half: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
};

/** The header that carries the second half. */
export const halfHeader = "x-pawl-page";

const codeMs = 10 * 60_000;
/** A working day: 8 hours. */
const ticketMs = 8 * 60 * 60_000;
/** The maximum number of unused codes. Beyond it, the oldest is dropped. */
const maxPendingCodes = 100;

export function createPageAccess(keys: Keys): PageAccess {
  const codes: { readonly hash: string; readonly principal: Principal; readonly until: number }[] = [];

  function claimCode(code: string, now: number): Principal | null {
    const given = sha256(code);
    const index = codes.findIndex(({ hash }) => isEqualInConstantTime(hash, given));
    const [one] = index === -1 ? [] : codes.splice(index, 1);
    return one !== undefined && one.until > now ? one.principal : null;
  }

  /** The payload of the cookie, if its signature is valid. */
  function readSignedPayload(request: Request): string | null {
    const cookie = readCookie(request);
    if (cookie === null || cookie.length > 4_096) return null;
    const [payload = "", mac = ""] = cookie.split(".");
    return isEqualInConstantTime(mac, keys.sign("page cookie", payload)) ? payload : null;
  }

  return {
    createCode({ id, scopes: grantedScopes }) {
      const code = randomBase64url(32);
      if (codes.length === maxPendingCodes) codes.shift();
      codes.push({ hash: sha256(code), principal: { id, scopes: [...grantedScopes] }, until: Date.now() + codeMs });
      return code;
    },
    peekCode(code, now) {
      const given = sha256(code);
      const one = codes.find(({ hash }) => isEqualInConstantTime(hash, given));
      return one !== undefined && one.until > now ? one.principal : null;
    },
    redeemCode(code, now) {
      const principal = claimCode(code, now);
      if (principal === null) return null;
      const expiresAt = now + ticketMs;
      const claims = { id: principal.id, scopes: principal.scopes, until: expiresAt, nonce: randomBase64url(12) };
      const payload = toBase64url(new TextEncoder().encode(JSON.stringify(claims)));
      const cookie = `${payload}.${keys.sign("page cookie", payload)}`;
      return { cookie, half: keys.sign("page half", payload), expiresAt };
    },
    authenticate(request, now) {
      const half = request.headers.get(halfHeader);
      const payload = readSignedPayload(request);
      if (half === null || payload === null || half.length > 100) return null;
      return isEqualInConstantTime(half, keys.sign("page half", payload)) ? parsePrincipal(payload, now) : null;
    },
    prove(request, nonce, now) {
      const payload = readSignedPayload(request);
      if (payload === null || parsePrincipal(payload, now) === null) return null;
      return hmacSha256(keys.sign("page half", payload), `${getHost(request)}\0${nonce}`);
    },
  };
}

/** The cast is safe, because the payload has a valid signature. */
function parsePrincipal(payload: string, now: number): Principal | null {
  const claims = JSON.parse(new TextDecoder().decode(fromBase64url(payload))) as {
    readonly id: string;
    readonly scopes: readonly Scope[];
    readonly until: number;
  };
  return claims.until > now ? { id: claims.id, scopes: scopes.filter((scope) => claims.scopes.includes(scope)) } : null;
}

/** Over TLS, the browser binds the cookie to this host. Its name includes the port, because cookies ignore ports. */
function cookieName(request: Request): string {
  const [, port = ""] = /:(\d+)$/.exec(getHost(request)) ?? [];
  return `${new URL(request.url).protocol === "https:" ? "__Host-" : ""}pawl${port === "" ? "" : `_${port}`}`;
}

/** The requested host and port. The server has already checked that they are its own. */
export function getHost(request: Request): string {
  return (request.headers.get("host") ?? new URL(request.url).host).toLowerCase();
}

function readCookie(request: Request): string | null {
  const name = cookieName(request);
  const matches = (request.headers.get("cookie") ?? "")
    .slice(0, 16_384)
    .split(";")
    .map((one) => one.trim())
    // A page on another port may have set a cookie with the same name, so duplicates are rejected.
    .filter((one) => one.startsWith(`${name}=`));
  return matches.length === 1 ? (matches[0]?.slice(name.length + 1) ?? null) : null;
}

export function formatSetCookie(request: Request, { cookie, expiresAt }: PageTicket, now: number): string {
  const secure = new URL(request.url).protocol === "https:" ? "; Secure" : "";
  const seconds = Math.floor((expiresAt - now) / 1_000);
  return `${cookieName(request)}=${cookie}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}${secure}`;
}
