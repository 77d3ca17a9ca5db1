/**
 * A login by a person who is not at this machine: the login page leads back to a server of the program, days later perhaps, and to
 * another process than the one that began the login.
 *
 * 1. What is needed to finish the login is stored with the credentials. Each server has at most one login in progress, whose page every
 *    call that needs it shows.
 * 2. A login in progress ends `waitMs` after the last call that has shown its page, as does the question of that call. The next call that
 *    needs a login begins another one.
 * 3. The state of the login names the MCP server, and contains a secret that only the login page gets.
 */
import { randomBytes } from "node:crypto";
import type * as Sdk from "@modelcontextprotocol/client";
import { canonicalJson } from "../../../core/data/json.js";
import type { Json } from "../../../core/data/message.js";
import { PawlError } from "../../../errors.js";
import type { McpStoredLogin } from "./credentials.js";

/** The state of a login in progress. */
export type LoginMemory = {
  verifier: string;
  registered: Sdk.StoredOAuthClientInformation | undefined;
  discovered: Sdk.OAuthDiscoveryState | undefined;
};

/** The page on which a person can log in. */
export type LoginPage = {
  readonly page: string;
  /** When the login is given up, in epoch milliseconds. Absent: never. */
  readonly expiresAt?: number;
};

/** A login in progress, as it is stored. */
export type PendingLogin = LoginPage & {
  readonly state: string;
  readonly redirectUrl: string;
  /** The scopes that were requested; null: the default ones. */
  readonly scope: string | null;
  readonly memory: LoginMemory;
};

const secretBytes = 24;

export function createState(url: string): string {
  return `${randomBytes(secretBytes).toString("base64url")}.${Buffer.from(url).toString("base64url")}`;
}

/** The address of the MCP server in a state; null if the text is not a state. */
export function parseState(state: string): string | null {
  const url = Buffer.from(state.split(".")[1] ?? "", "base64url").toString();
  return URL.canParse(url) ? url : null;
}

export function readPendingLogin({ pending }: McpStoredLogin): PendingLogin | null {
  const { state, page } = Object(pending) as { readonly state?: unknown; readonly page?: unknown };
  return typeof state === "string" && typeof page === "string" ? (pending as unknown as PendingLogin) : null;
}

/** As JSON: the MCP library's records may have members that are undefined. */
export function toStoredPending(pending: PendingLogin): Json {
  return JSON.parse(JSON.stringify(pending)) as Json;
}

export function isExpired({ expiresAt }: LoginPage): boolean {
  return expiresAt !== undefined && expiresAt <= Date.now();
}

/** Whether people who need this login can use the page of the pending one. */
export function canShare(pending: PendingLogin, redirectUrl: string, scope: string | undefined): boolean {
  if (isExpired(pending)) return false;
  return canonicalJson([pending.redirectUrl, pending.scope]) === canonicalJson([redirectUrl, scope ?? null]);
}

const pages = new WeakMap<object, LoginPage>();

/** The error for a call that cannot continue without a login on this page. */
export function createLoginPageError(url: string, loginPage: LoginPage): PawlError {
  const error = new PawlError("login_needed", `The MCP server at ${url} requires a login: ${loginPage.page}`);
  pages.set(error, loginPage);
  return error;
}

/**
 * The error for a model whose request cannot ask for a login: without the page, because whoever has it chooses the account of all
 * sessions. Other errors are returned as they are.
 */
export function hideLoginPage(error: unknown, server: string): unknown {
  if (findLoginPage(error) === null) return error;
  return new PawlError(
    "login_needed",
    `The MCP server "${server}" requires a login. Call one of its other tools, which asks for it.`,
  );
}

/** The page of the login that a failed request needs; null if it failed for another reason. The MCP library wraps errors. */
export function findLoginPage(error: unknown): LoginPage | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const found = pages.get(cause);
    if (found !== undefined) return found;
  }
  return null;
}
