/**
 * How a page in a browser is let in: a start code for once, a cookie, and a second half (SEC-2).
 *
 * 1. The code stands in the fragment of a link, which no server and no log gets. It is good once, for ten minutes, in the
 *    process that made it.
 * 2. In return the page gets a cookie that no script reads, and a second half that it keeps and sends in a header. Both are
 *    needed: a cookie has no port, so the browser sends it to other servers on this machine, and with requests of their pages.
 * 3. Both are signed. Nothing is kept of them, so each process with the same keys knows them. By default the keys are those of
 *    one start of a server. So what a program on the port of a dead server was sent is worth nothing to the next server.
 * 4. Before a page sends its half, it has the server prove that it knows the half: anybody may listen on a port that is free.
 */
import { hmacSha256, sha256 } from "../platform/hash.js";
import { fromBase64url, toBase64url } from "./base64url.js";
import type { Keys } from "./keys.js";
import { isEqualInConstantTime, type Principal, randomBase64url, type Scope, scopes } from "./principal.js";

export type PageAccess = {
  /** Makes a code that lets one page act as a principal. */
  readonly createCode: (principal: Principal) => string;
  /** The principal that a code lets a page act as; null if the code is unknown, used or too old. The code stays good. */
  readonly peekCode: (code: string, now: number) => Principal | null;
  /** Null if the code is unknown, used or too old. */
  readonly redeemCode: (code: string, now: number) => PageTicket | null;
  /** The principal of a request with both halves; null if one of them is missing, wrong or too old. */
  readonly authenticate: (request: Request, now: number) => Principal | null;
  /**
   * Proves to the page whose cookie a request has that this server knows its second half; null without a valid cookie. The
   * proof names the host that was asked, so that nobody can pass the question on to a server elsewhere.
   */
  readonly prove: (request: Request, nonce: string, now: number) => string | null;
};

export type PageTicket = {
  readonly cookie: string;
  readonly half: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
};

/** The header with the second half. */
export const halfHeader = "x-pawl-page";

const codeMs = 10 * 60_000;
/** A working day. */
const ticketMs = 8 * 60 * 60_000;
/** Codes that wait to be used. The oldest gives way. */
const maxPendingCodes = 100;

export function createPageAccess(keys: Keys): PageAccess {
  const codes: { readonly hash: string; readonly principal: Principal; readonly until: number }[] = [];

  function claimCode(code: string, now: number): Principal | null {
    const given = sha256(code);
    const index = codes.findIndex(({ hash }) => isEqualInConstantTime(hash, given));
    const [one] = index === -1 ? [] : codes.splice(index, 1);
    return one !== undefined && one.until > now ? one.principal : null;
  }

  /** What the cookie says, if it was signed here. */
  function readSignedPayload(request: Request): string | null {
    const cookie = readCookie(request);
    if (cookie === null || cookie.length > 4_096) return null;
    const [payload = "", mac = ""] = cookie.split(".");
    return isEqualInConstantTime(mac, keys.sign("page cookie", payload)) ? payload : null;
  }

  return {
    createCode({ id, scopes: given }) {
      const code = randomBase64url(32);
      if (codes.length === maxPendingCodes) codes.shift();
      codes.push({ hash: sha256(code), principal: { id, scopes: [...given] }, until: Date.now() + codeMs });
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

/** The payload was signed here, so it has this shape. */
function parsePrincipal(payload: string, now: number): Principal | null {
  const claims = JSON.parse(new TextDecoder().decode(fromBase64url(payload))) as {
    readonly id: string;
    readonly scopes: readonly Scope[];
    readonly until: number;
  };
  return claims.until > now ? { id: claims.id, scopes: scopes.filter((scope) => claims.scopes.includes(scope)) } : null;
}

/** Over TLS the browser keeps the cookie to this host. Its name has the port, because cookies have none. */
function cookieName(request: Request): string {
  const [, port = ""] = /:(\d+)$/.exec(getHost(request)) ?? [];
  return `${new URL(request.url).protocol === "https:" ? "__Host-" : ""}pawl${port === "" ? "" : `_${port}`}`;
}

/** The host and port that the client asked. The server has checked that they are its own. */
export function getHost(request: Request): string {
  return (request.headers.get("host") ?? new URL(request.url).host).toLowerCase();
}

function readCookie(request: Request): string | null {
  const name = cookieName(request);
  const matches = (request.headers.get("cookie") ?? "")
    .slice(0, 16_384)
    .split(";")
    .map((one) => one.trim())
    // A page of another port may have set one of the same name: two are none.
    .filter((one) => one.startsWith(`${name}=`));
  return matches.length === 1 ? (matches[0]?.slice(name.length + 1) ?? null) : null;
}

export function formatSetCookie(request: Request, { cookie, expiresAt }: PageTicket, now: number): string {
  const secure = new URL(request.url).protocol === "https:" ? "; Secure" : "";
  const seconds = Math.floor((expiresAt - now) / 1_000);
  return `${cookieName(request)}=${cookie}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}${secure}`;
}
