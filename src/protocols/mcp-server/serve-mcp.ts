/**
 * Agents as tools of an MCP server, over standard input and output.
 */
import { randomBytes } from "node:crypto";
import type * as Stdio from "@modelcontextprotocol/server/stdio";
import { PawlError } from "../../index.js";
import { importInstalledPackage } from "../../models/index.js";
import type { McpHost } from "./host.js";
import { createMcpServer, createStateCodec, type McpServerSdk } from "./mcp-server.js";

export type McpSdk = {
  readonly server: McpServerSdk;
  readonly stdio: Pick<typeof Stdio, "serveStdio" | "StdioServerTransport">;
};

export const mcpPackage = "@modelcontextprotocol/server";

/**
 * @param install the command that installs the package for this program
 * @throws PawlError `missing_package`
 */
export async function importMcpSdk(install = `npm install ${mcpPackage}`): Promise<McpSdk> {
  const server = (await importInstalledPackage(mcpPackage)) as McpSdk["server"] | undefined;
  const stdio = (await importInstalledPackage(`${mcpPackage}/stdio`)) as McpSdk["stdio"] | undefined;
  if (server !== undefined && stdio !== undefined) return { server, stdio };
  const message = `An MCP server needs the package ${mcpPackage}, which is not installed. Install it: ${install}`;
  throw new PawlError("missing_package", message);
}

/** Serves until the client disconnects or the signal is aborted. */
export async function serveMcp(sdk: McpSdk, host: McpHost, signal: AbortSignal): Promise<void> {
  const codec = createStateCodec(sdk.server, randomBytes(32));
  const transport = new sdk.stdio.StdioServerTransport();
  const disconnected = new Promise<void>((resolve) => {
    process.stdin.once("end", resolve);
    process.stdin.once("close", resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });
  const handle = sdk.stdio.serveStdio(() => createMcpServer(sdk.server, host, codec), {
    transport,
    onerror: host.report,
  });
  await disconnected;
  await handle.close();
}
