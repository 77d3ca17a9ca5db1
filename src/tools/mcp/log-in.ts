/**
 * `logInToMcpServer`: logs in before any call.
 */
import { anObject, aSignal, checkOptions, nonEmptyString, type OptionTable } from "../../check-options.js";
import { importSdk } from "./import-sdk.js";
import { logIn, type McpLogin } from "./login/login.js";
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
