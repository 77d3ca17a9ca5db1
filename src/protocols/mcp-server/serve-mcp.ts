/**
 * Agents as tools of an MCP server, over standard input and output.
 */
import { randomBytes } from "node:crypto";
import type * as Sdk from "@modelcontextprotocol/server";
import type * as Stdio from "@modelcontextprotocol/server/stdio";
import { PawlError } from "../../index.js";
import { importInstalledPackage } from "../../models/index.js";
import { type AgentCall, type CallState, callAgent } from "./call-agent.js";
import type { McpAgent, McpHost } from "./host.js";

export type McpSdk = {
  readonly server: Pick<typeof Sdk, "Server" | "createRequestStateCodec" | "inputRequired">;
  readonly stdio: Pick<typeof Stdio, "serveStdio" | "StdioServerTransport">;
};

export const mcpPackage = "@modelcontextprotocol/server";

/**
 * @param install the command that installs the package here
 * @throws PawlError `missing_package`
 */
export async function importMcpSdk(install = `npm install ${mcpPackage}`): Promise<McpSdk> {
  const server = (await importInstalledPackage(mcpPackage)) as McpSdk["server"] | undefined;
  const stdio = (await importInstalledPackage(`${mcpPackage}/stdio`)) as McpSdk["stdio"] | undefined;
  if (server !== undefined && stdio !== undefined) return { server, stdio };
  const message = `An MCP server needs the package ${mcpPackage}, which is not installed. Install it: ${install}`;
  throw new PawlError("missing_package", message);
}

/** How long a client may take to bring answers; seconds. */
const stateSeconds = 7 * 24 * 60 * 60;

/** Serves until the client leaves. */
export async function serveMcp(sdk: McpSdk, host: McpHost, signal: AbortSignal): Promise<void> {
  const codec = sdk.server.createRequestStateCodec<CallState>({ key: randomBytes(32), ttlSeconds: stateSeconds });
  const transport = new sdk.stdio.StdioServerTransport();
  const closed = new Promise<void>((resolve) => {
    process.stdin.once("end", resolve);
    process.stdin.once("close", resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });
  const handle = sdk.stdio.serveStdio(() => serverOf(sdk, host, codec), { transport, onerror: host.report });
  await closed;
  await handle.close();
}

function serverOf(sdk: McpSdk, host: McpHost, codec: Sdk.RequestStateCodec<CallState>): Sdk.Server {
  const server = new sdk.server.Server(host.info, {
    capabilities: { tools: {} },
    requestState: { verify: codec.verify },
  });
  server.setRequestHandler("tools/list", () => ({ tools: host.agents.map(toolOf) }));
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const found = host.agents.find(({ name }) => name === params.name);
    if (found === undefined) throw new PawlError("bad_input", `There is no tool ${params.name}.`);
    const state = context.mcpReq.requestState<CallState>();
    const call: Omit<AgentCall, "session"> = {
      agent: found.name,
      prompt: promptOf(params.arguments),
      host,
      context,
      canAsk: canAsk(context.mcpReq.envelope, server.getClientCapabilities()),
      inputRequired: async (forms, next) => {
        const asks = Object.entries(forms).map(([id, form]) => [id, sdk.server.inputRequired.elicit(elicited(form))]);
        return sdk.server.inputRequired({
          inputRequests: Object.fromEntries(asks),
          requestState: await codec.mint(next, context),
        });
      },
    };
    const sessionId = state?.sessionId ?? sessionIdOf(params._meta) ?? host.makeId();
    return callAgent({ ...call, session: found.agent.session(sessionId) }, state);
  });
  return server;
}

// The cast holds: the forms have plain fields only.
function elicited(form: object): Parameters<typeof Sdk.inputRequired.elicit>[0] {
  return { mode: "form", ...form } as Parameters<typeof Sdk.inputRequired.elicit>[0];
}

function toolOf({ name, description }: McpAgent) {
  return {
    name,
    description,
    inputSchema: {
      type: "object" as const,
      properties: { prompt: { type: "string", minLength: 1, description: "What the agent should do." } },
      required: ["prompt"],
      additionalProperties: false,
    },
  };
}

function promptOf(input: { readonly [key: string]: unknown } = {}): string {
  const { prompt } = input;
  if (typeof prompt === "string" && prompt !== "") return prompt;
  throw new PawlError("bad_input", "The argument prompt is missing: a text that says what the agent should do.");
}

/** Since the protocol of 2026 each request says what the client can do. Before, the client said it once. */
function canAsk(envelope: object | undefined, once: Sdk.ClientCapabilities | undefined): boolean {
  const said = (envelope as { readonly [key: string]: unknown } | undefined)?.[capabilitiesKey] ?? once;
  return (said as Sdk.ClientCapabilities | undefined)?.elicitation !== undefined;
}

const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

/** A client may go on with a session that an earlier result named. */
function sessionIdOf(meta: { readonly [key: string]: unknown } | undefined): string | undefined {
  const id = meta?.["pawl/sessionId"];
  return typeof id === "string" && id !== "" ? id : undefined;
}
