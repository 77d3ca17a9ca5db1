/**
 * Agents as tools of an MCP server over HTTP. Each request has its own server, so any process can handle the next one.
 *
 * Over HTTP, clients of the 2025 protocol cannot be asked questions, because requests share no state. The result of such a call
 * says that the run is waiting, and where to answer.
 */
import type * as Sdk from "@modelcontextprotocol/server";
import { PawlError } from "../../index.js";
import { importInstalledPackage } from "../../models/index.js";
import type { McpHost } from "./host.js";
import { createMcpServer, createStateCodec, type McpServerSdk } from "./mcp-server.js";
import { mcpPackage } from "./serve-mcp.js";

/** Handles a request whose body has been read. The `host` is specific to the caller. */
export type McpHttp = (request: Request, body: unknown, caller: string, host: McpHost) => Promise<Response>;

type HttpSdk = McpServerSdk & Pick<typeof Sdk, "createMcpHandler">;

/** The package also reports requests that it refuses: mistakes of clients, to which it responds with a status below 500. */
const clientMistake = /^(?:Rejected \S+ request|Invalid Request:|Unsupported Media Type:|Not Acceptable:)/;

/**
 * @param key signs the state that clients send back with their answers: at least 32 bytes, the same in all processes
 * @param report called with errors that cannot be part of a response
 * @throws PawlError `missing_package`
 */
export async function createMcpHttp(key: Uint8Array, report: (error: unknown) => void): Promise<McpHttp> {
  const sdk = (await importInstalledPackage(mcpPackage)) as HttpSdk | undefined;
  if (sdk === undefined)
    throw new PawlError(
      "missing_package",
      `MCP needs the package ${mcpPackage}, which is not installed. Install it: npm install ${mcpPackage}`,
    );
  const codec = createStateCodec(sdk, key);
  const factory = ({ authInfo }: Sdk.McpRequestContext) => {
    const { host } = (authInfo?.extra ?? {}) as { readonly host?: McpHost };
    if (host === undefined)
      throw new PawlError("internal", "An MCP request has no host. This is a bug in Pawl; please report it.");
    return createMcpServer(sdk, host, codec);
  };
  const handler = sdk.createMcpHandler(factory, {
    onerror(error) {
      if (!clientMistake.test(error.message)) report(error);
    },
  });
  return (request, parsedBody, caller, host) =>
    handler.fetch(request, {
      parsedBody,
      authInfo: { token: "", clientId: caller, scopes: [], extra: { host } },
    });
}
