/**
 * `logInToMcpServer` logs in before any call. `finishMcpLogin` completes a login that a call has asked for.
 */
import { anObject, aSignal, checkOptions, nonEmptyString, type OptionTable } from "../../check-options.js";
import { PawlError } from "../../errors.js";
import { importSdk } from "./import-sdk.js";
import type { McpLogin } from "./login/contract.js";
import { finishRemoteLogin, logIn } from "./login/login.js";
import { checkLogin } from "./login/login-options.js";

/** The options of `logInToMcpServer`. */
export type McpLogInOptions = {
  /** The address of the server. */
  readonly url: string;
  /** How to log in, and where the login is stored. */
  readonly login: McpLogin;
  /** Aborts the login, also while it waits for another process to log in to this server. Default: aborted after ten minutes. */
  readonly signal?: AbortSignal;
};

const rules: OptionTable<McpLogInOptions> = { url: nonEmptyString, login: anObject, signal: aSignal };
const maxWaitMs = 600_000;

/**
 * Logs in to an MCP server over HTTP, and replaces a login that exists. `login.show` gets the address of the login page.
 *
 * @throws PawlError `bad_configuration`, `missing_package`, `login_needed` if the login has no `show`
 * @throws Error if the login is refused or takes too long, or if a server cannot be reached
 *
 * @example
 * ```ts
 * import { fileCredentials, logInToMcpServer } from "pawl/tools/mcp";
 *
 * const credentials = fileCredentials("/srv/agent/mcp-logins.json");
 * await logInToMcpServer({
 *   url: "https://mcp.example.org/mcp",
 *   login: { as: "person", credentials, show: (page) => console.log(`Log in: ${page.href}`) },
 * });
 * ```
 */
export async function logInToMcpServer(options: McpLogInOptions): Promise<void> {
  checkOptions("logInToMcpServer()", rules, options);
  const { url, login, signal = AbortSignal.timeout(maxWaitMs) } = options;
  checkLogin(url, login);
  await logIn(await importSdk(), url, login, signal);
}

/** The options of `finishMcpLogin`. */
export type FinishMcpLoginOptions = {
  /** The same login as in the transport of the server, with `redirectUrl`. */
  readonly login: Extract<McpLogin, { readonly as: "person" }>;
  /** The address of the request to `redirectUrl`, with its query. */
  readonly callback: string;
  /** Aborts the attempt. Default: aborted after a minute. */
  readonly signal?: AbortSignal;
};

/** A login that is complete. */
export type FinishedMcpLogin = {
  /** The address of the MCP server. */
  readonly url: string;
  /** The login page, which is the `url` of the questions that can now be answered. */
  readonly page: string;
};

const finishRules: OptionTable<FinishMcpLoginOptions> = { login: anObject, callback: nonEmptyString, signal: aSignal };
const maxFinishMs = 60_000;

/**
 * Completes a login that a call has asked for, in the route of your server at `login.redirectUrl`. Any process that shares the
 * credentials can do it.
 *
 * @throws PawlError `bad_configuration`, `missing_package`, `bad_input` if the redirect does not belong to a login in progress,
 * `login_needed` if that login has expired (`login.waitMs`)
 * @throws Error if the login is refused, or if the authorization server cannot be reached
 *
 * @example
 * ```ts
 * import { fileCredentials, finishMcpLogin } from "pawl/tools/mcp";
 *
 * const credentials = fileCredentials("/srv/agent/mcp-logins.json");
 * const login = { as: "person", credentials, redirectUrl: "https://agents.example.org/mcp-login" } as const;
 * const { page } = await finishMcpLogin({ login, callback: "/mcp-login?code=…&state=…" });
 * console.log(`The questions about ${page} can be answered now.`);
 * ```
 */
export async function finishMcpLogin(options: FinishMcpLoginOptions): Promise<FinishedMcpLogin> {
  checkOptions("finishMcpLogin()", finishRules, options);
  const { login, callback, signal = AbortSignal.timeout(maxFinishMs) } = options;
  if (login.redirectUrl === undefined)
    throw new PawlError("bad_configuration", "finishMcpLogin() needs a login with `redirectUrl`.");
  const query = callback.indexOf("?");
  const parameters = new URLSearchParams(query < 0 ? "" : callback.slice(query));
  return finishRemoteLogin(await importSdk(), login, parameters, signal);
}
