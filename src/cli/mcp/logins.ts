/**
 * Logins to MCP servers at addresses: one file next to the sessions, which tools never write and which only its owner can read.
 */
import { join } from "node:path";
import { fileCredentials, type McpCredentials, type McpLogin, type McpTransport } from "../../tools/mcp/index.js";
import { resolveHome } from "../files/session-store.js";

export function openLogins(): McpCredentials {
  return fileCredentials(join(resolveHome(process.env), "mcp-logins.json"));
}

/** A login that only an earlier `pawl mcp login` can have made: a conversation opens no page. */
export function storedLogin(name: string): McpLogin {
  return { as: "person", credentials: openLogins(), howToLogIn: `Log in: pawl mcp login ${name}` };
}

/** Whether the server can want a login. An author who gives it a header of their own logs in by that. */
export function canLogIn(transport: McpTransport): transport is Extract<McpTransport, { readonly type: "http" }> {
  if (transport.type !== "http" || !URL.canParse(transport.url)) return false;
  const { protocol, hostname } = new URL(transport.url);
  const hasOwn = Object.keys(transport.headers ?? {}).some((name) => name.toLowerCase() === "authorization");
  return !hasOwn && (protocol === "https:" || /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname));
}

export async function isLoggedIn(transport: McpTransport): Promise<boolean> {
  return canLogIn(transport) && (await openLogins().read(transport.url)).tokens !== undefined;
}
