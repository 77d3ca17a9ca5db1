/**
 * Formats an MCP server as one line, or as JSON for programs.
 */

import type { ResolvedServer } from "./resolve-servers.js";
import { formatServerTarget } from "./servers-file.js";

/** The result may contain control characters. */
export function formatServer({ name, transport, sandbox, path, off }: ResolvedServer): string {
  const targetText = transport === null ? "" : `  ${formatServerTarget(transport, sandbox)}`;
  return `mcp  ${name}${targetText}  (${path})${off === null ? "" : `  off: ${off}`}`;
}

export function toServerRecord({ name, scope, path, transport, sandbox, off }: ResolvedServer) {
  return {
    name,
    scope,
    path,
    ...(transport === null ? {} : { server: formatServerTarget(transport, sandbox) }),
    ...(off === null ? { on: true } : { on: false, why: off }),
  };
}
