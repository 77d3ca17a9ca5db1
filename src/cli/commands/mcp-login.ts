/**
 * `pawl mcp login` and `logout`: log in to an MCP server that is reached over HTTP.
 */
import { PawlError } from "../../index.js";
import { logInToMcpServer, type McpLogin } from "../../tools/mcp/index.js";
import { exitCodes } from "../exit.js";
import { canLogIn, openLogins } from "../mcp/logins.js";
import { resolveServers } from "../mcp/resolve-servers.js";
import { expandVariables } from "../mcp/servers-file.js";
import { explainFailure } from "../mcp/start-servers.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize } from "../terminal/text.js";
import { type McpServersOptions, requireServer, resolveFolders } from "./mcp-servers.js";

export type McpLogInOptions = McpServersOptions & {
  /** The local port that the browser is redirected to. */
  readonly port?: number;
  readonly scope?: string;
};

/** Prints the login page's address, and waits until the person has logged in. */
export async function login(name: string, options: McpLogInOptions, terminal: Terminal): Promise<number> {
  const transport = getTransport(name, options);
  const { port, scope } = options;
  const login: McpLogin = {
    as: "person",
    credentials: openLogins(),
    ...(port === undefined ? {} : { port }),
    ...(scope === undefined ? {} : { scope }),
    show(page) {
      terminal.err("Open this page in a browser on this machine and log in:\n");
      terminal.err(`${sanitize(page.href)}\n`);
      terminal.status(`… ${sanitize(name)}: waiting for you to log in`);
    },
  };
  try {
    await logInToMcpServer({ url: transport.url, login });
    terminal.status(null);
  } catch (error) {
    terminal.status(null);
    const why = terminal.redaction.text(explainFailure(error, name, transport));
    if (options.json === true) terminal.json({ name, ok: false, error: why });
    else terminal.err(`✗ ${sanitize(why)}\n`);
    return exitCodes.failed;
  }
  if (options.json === true) terminal.json({ name, ok: true });
  else terminal.out(`${sanitize(`Logged in to ${name}.`)}\n`);
  return exitCodes.done;
}

export async function logout(name: string, options: McpServersOptions, terminal: Terminal): Promise<number> {
  const { url } = getTransport(name, options);
  const logins = openLogins();
  const wasLoggedIn = Object.keys(await logins.read(url)).length > 0;
  await logins.write(url, {});
  if (options.json === true) terminal.json({ name, wasLoggedIn });
  else terminal.out(`${sanitize(wasLoggedIn ? `Logged out of ${name}.` : `There was no login to ${name}.`)}\n`);
  return exitCodes.done;
}

function getTransport(name: string, options: McpServersOptions) {
  const { transport, off } = requireServer(name, resolveServers(resolveFolders(options)));
  if (transport === null || off !== null)
    throw new PawlError("bad_configuration", `The MCP server ${name} is off: ${off}.`);
  const filled = expandVariables(name, transport, process.env);
  if (canLogIn(filled)) return filled;
  throw new PawlError(
    "bad_input",
    filled.type === "stdio"
      ? `The MCP server ${name} is a local program, so there is nothing to log in to. Pass its credentials with: pawl mcp add --env`
      : `Cannot log in to ${name}: its address must begin with https://, and it must not have its own Authorization header.`,
  );
}
