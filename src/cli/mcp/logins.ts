/**
 * Logins to MCP servers, stored in one file next to the sessions. Tools never write it, and only its owner can read it.
 */
import { join } from "node:path";
import { fileCredentials, type McpCredentials, type McpLogin, type McpTransport } from "../../tools/mcp/index.js";
import { canLogInTo } from "../../tools/mcp/login/login-options.js";
import { resolveHome } from "../files/store-location.js";

export function openLogins(): McpCredentials {
  return fileCredentials(join(resolveHome(process.env), "mcp-logins.json"));
}

/** Uses the login that `pawl mcp login` has stored. A conversation never opens a login page by itself. */
export function storedLogin(name: string): McpLogin {
  return { as: "person", credentials: openLogins(), howToLogIn: `Log in: pawl mcp login ${name}` };
}

/** Whether Pawl may log in to the server. A configured Authorization header takes precedence over a login. */
export function canLogIn(transport: McpTransport): transport is Extract<McpTransport, { readonly type: "http" }> {
  if (transport.type !== "http") return false;
  const hasOwnHeader = Object.keys(transport.headers ?? {}).some((name) => name.toLowerCase() === "authorization");
  return !hasOwnHeader && canLogInTo(transport.url);
}

export async function isLoggedIn(transport: McpTransport): Promise<boolean> {
  return canLogIn(transport) && (await openLogins().read(transport.url)).tokens !== undefined;
}
