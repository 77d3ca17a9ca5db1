/**
 * How a page in a browser is let in: a start code for once, a cookie, and a second half (SEC-2).
 *
 * 1. The code stands in the fragment of a link, which no server and no log gets. It is good once, for ten minutes, in the
 *    process that made it.
 * 2. In return the page gets a cookie that no script reads, and a second half that it keeps and sends in a header. Both are
 *    needed: a cookie has no port, so the browser sends it to other servers on this machine, and with requests of their pages.
 * 3. Both are signed. Nothing is kept of them, so each process with the same secret knows them.
 */
import { sha256 } from "../platform/hash.js";
import { fromBase64url, toBase64url } from "./base64url.js";
import { isSameText, type Principal, randomText, type Scope, scopes } from "./principal.js";
import type { Keys } from "./secret.js";

export type PageAccess = {
  /** Makes a code that lets one page act as a principal. */
  readonly createCode: (principal: Principal) => string;
  /** Null if the code is unknown, used or too old. */
  readonly exchange: (code: string, now: number) => PageTicket | null;
  /** The principal of a request with both halves; null if one of them is missing, wrong or too old. */
  readonly principalOf: (request: Request, now: number) => Principal | null;
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
const ticketMs = 24 * 60 * 60_000;
/** Codes that wait to be used. The oldest gives way. */
const mostCodes = 100;

export function createPageAccess(keys: Keys): PageAccess {
  const codes: { readonly hash: string; readonly principal: Principal; readonly until: number }[] = [];

  function take(code: string, now: number): Principal | null {
    const given = sha256(code);
    const at = codes.findIndex(({ hash }) => isSameText(hash, given));
    const [one] = at === -1 ? [] : codes.splice(at, 1);
    return one !== undefined && one.until > now ? one.principal : null;
  }

  return {
    createCode({ id, scopes: given }) {
      const code = randomText(32);
      if (codes.length === mostCodes) codes.shift();
      codes.push({ hash: sha256(code), principal: { id, scopes: [...given] }, until: Date.now() + codeMs });
      return code;
    },
    exchange(code, now) {
      const principal = take(code, now);
      if (principal === null) return null;
      const expiresAt = now + ticketMs;
      const said = { id: principal.id, scopes: principal.scopes, until: expiresAt, nonce: randomText(12) };
      const payload = toBase64url(new TextEncoder().encode(JSON.stringify(said)));
      const cookie = `${payload}.${keys.sign("page cookie", payload)}`;
      return { cookie, half: keys.sign("page half", payload), expiresAt };
    },
    principalOf(request, now) {
      const half = request.headers.get(halfHeader);
      const cookie = cookieIn(request);
      if (half === null || cookie === null || half.length > 100 || cookie.length > 4_096) return null;
      const [payload = "", mac = ""] = cookie.split(".");
      const isCookie = isSameText(mac, keys.sign("page cookie", payload));
      const isHalf = isSameText(half, keys.sign("page half", payload));
      return isCookie && isHalf ? principalIn(payload, now) : null;
    },
  };
}

/** The payload was signed here, so it has this shape. */
function principalIn(payload: string, now: number): Principal | null {
  const said = JSON.parse(new TextDecoder().decode(fromBase64url(payload))) as {
    readonly id: string;
    readonly scopes: readonly Scope[];
    readonly until: number;
  };
  return said.until > now ? { id: said.id, scopes: scopes.filter((scope) => said.scopes.includes(scope)) } : null;
}

/** Over TLS the browser keeps the cookie to this host. Its name has the port, because cookies have none. */
function cookieName(request: Request): string {
  const { protocol, host } = new URL(request.url);
  const [, port = ""] = /:(\d+)$/.exec(request.headers.get("host") ?? host) ?? [];
  return `${protocol === "https:" ? "__Host-" : ""}pawl${port === "" ? "" : `_${port}`}`;
}

function cookieIn(request: Request): string | null {
  const name = cookieName(request);
  const found = (request.headers.get("cookie") ?? "")
    .slice(0, 16_384)
    .split(";")
    .map((one) => one.trim())
    // A page of another port may have set one of the same name: two are none.
    .filter((one) => one.startsWith(`${name}=`));
  return found.length === 1 ? (found[0]?.slice(name.length + 1) ?? null) : null;
}

export function setCookie(request: Request, { cookie, expiresAt }: PageTicket, now: number): string {
  const secure = new URL(request.url).protocol === "https:" ? "; Secure" : "";
  const seconds = Math.floor((expiresAt - now) / 1_000);
  return `${cookieName(request)}=${cookie}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}${secure}`;
}
