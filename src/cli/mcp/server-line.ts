/**
 * An MCP server in one line, and for programs.
 */
import { shownServer } from "./servers-file.js";
import type { ServerInForce } from "./servers-in-force.js";

/** It may have control characters. */
export function serverLine({ name, transport, path, off }: ServerInForce): string {
  const what = transport === null ? "" : `  ${shownServer(transport)}`;
  return `mcp  ${name}${what}  (${path})${off === null ? "" : `  off: ${off}`}`;
}

export function serverRecord({ name, scope, path, transport, off }: ServerInForce) {
  return {
    name,
    scope,
    path,
    ...(transport === null ? {} : { server: shownServer(transport) }),
    ...(off === null ? { on: true } : { on: false, why: off }),
  };
}
