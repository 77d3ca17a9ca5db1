/**
 * The tools of an MCP server: each agent is one.
 */
import type * as Sdk from "@modelcontextprotocol/server";
import { PawlError } from "../../index.js";
import { type AgentCall, type CallState, callAgent } from "./call-agent.js";
import type { McpAgent, McpHost } from "./host.js";
import { formatTranscript } from "./transcript.js";

export type McpServerSdk = Pick<typeof Sdk, "ProtocolError" | "Server" | "createRequestStateCodec" | "inputRequired">;

/** How long a client may take to send answers, in seconds. */
const stateSeconds = 7 * 24 * 60 * 60;

/** Signs the state that clients send back with their answers, and binds it to the principal that was asked. */
export function createStateCodec(sdk: McpServerSdk, key: Uint8Array): Sdk.RequestStateCodec<CallState> {
  const bind = (context: Sdk.ServerContext) => context.http?.authInfo?.clientId ?? "";
  return sdk.createRequestStateCodec<CallState>({ key, ttlSeconds: stateSeconds, bind });
}

export function createMcpServer(sdk: McpServerSdk, host: McpHost, codec: Sdk.RequestStateCodec<CallState>): Sdk.Server {
  const server = new sdk.Server(host.info, {
    capabilities: { tools: {}, ...(host.sessions === undefined ? {} : { resources: {}, completions: {} }) },
    requestState: { verify: codec.verify },
  });
  server.setRequestHandler("tools/list", () => ({ tools: host.agents.map(toTool) }));
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const mcpAgent = host.agents.find(({ name }) => name === params.name);
    if (mcpAgent === undefined) throw new PawlError("bad_input", `There is no tool ${params.name}.`);
    const state = context.mcpReq.requestState<CallState>();
    const call: Omit<AgentCall, "session"> = {
      agent: mcpAgent.name,
      prompt: parsePrompt(params.arguments),
      ...readTraceparent(params._meta),
      host,
      context,
      canAsk: host.mayAnswer !== false && supportsElicitation(context.mcpReq.envelope, server.getClientCapabilities()),
      inputRequired: async (forms, next) => {
        const inputRequests = Object.entries(forms).map(([id, form]) => [
          id,
          sdk.inputRequired.elicit(toElicitation(form)),
        ]);
        return sdk.inputRequired({
          inputRequests: Object.fromEntries(inputRequests),
          requestState: await codec.mint(next, context),
        });
      },
    };
    const session = await host.openSession(mcpAgent.name, state?.sessionId ?? readSessionId(params._meta));
    return callAgent({ ...call, session }, state);
  });
  if (host.sessions !== undefined) serveTranscripts(sdk, server, host.sessions);
  return server;
}

const transcriptScheme = "pawl://sessions/";
const transcriptTemplate = `${transcriptScheme}{id}`;
const transcriptType = "text/markdown";
/** JSON-RPC "invalid params", also for sessions that the caller may not read, so that they look like unknown ones. */
const invalidParams = -32_602;

/** Each session is a resource. Clients can complete its id. */
function serveTranscripts(sdk: McpServerSdk, server: Sdk.Server, sessions: NonNullable<McpHost["sessions"]>): void {
  server.setRequestHandler("resources/list", async () => ({
    resources: (await sessions.list("")).map((id) => ({
      uri: `${transcriptScheme}${encodeURIComponent(id)}`,
      name: id,
      mimeType: transcriptType,
    })),
  }));
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [
      {
        uriTemplate: transcriptTemplate,
        name: "session",
        description: "The conversation of a session.",
        mimeType: transcriptType,
      },
    ],
  }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }) => {
    const id = uri.startsWith(transcriptScheme) ? decodeId(uri.slice(transcriptScheme.length)) : null;
    const messages = id === null ? null : await sessions.messages(id);
    if (messages === null) throw new sdk.ProtocolError(invalidParams, "There is no such resource.");
    return { contents: [{ uri, mimeType: transcriptType, text: formatTranscript(messages) }] };
  });
  server.setRequestHandler("completion/complete", async ({ params: { ref, argument } }) => {
    const isOurs = ref.type === "ref/resource" && ref.uri === transcriptTemplate && argument.name === "id";
    return { completion: { values: isOurs ? [...(await sessions.list(argument.value))] : [] } };
  });
}

function decodeId(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

// The cast is safe: the forms have plain fields only.
function toElicitation(form: object): Parameters<typeof Sdk.inputRequired.elicit>[0] {
  return { mode: "form", ...form } as Parameters<typeof Sdk.inputRequired.elicit>[0];
}

function toTool({ name, description }: McpAgent) {
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

function parsePrompt(input: { readonly [key: string]: unknown } = {}): string {
  const { prompt } = input;
  if (typeof prompt === "string" && prompt !== "") return prompt;
  throw new PawlError("bad_input", "The argument prompt is missing: a string that says what the agent should do.");
}

/** Since the protocol of 2026, each request contains the client's capabilities. Before, the client sent them once. */
function supportsElicitation(
  envelope: object | undefined,
  clientCapabilities: Sdk.ClientCapabilities | undefined,
): boolean {
  const capabilities =
    (envelope as { readonly [key: string]: unknown } | undefined)?.[capabilitiesKey] ?? clientCapabilities;
  return (capabilities as Sdk.ClientCapabilities | undefined)?.elicitation !== undefined;
}

const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

function readTraceparent(meta: { readonly [key: string]: unknown } | undefined): Pick<AgentCall, "traceparent"> {
  const traceparent = meta?.traceparent;
  return typeof traceparent === "string" ? { traceparent } : {};
}

/** A client may continue a session that an earlier result named. */
function readSessionId(meta: { readonly [key: string]: unknown } | undefined): string | undefined {
  const id = meta?.["pawl/sessionId"];
  return typeof id === "string" && id !== "" ? id : undefined;
}
