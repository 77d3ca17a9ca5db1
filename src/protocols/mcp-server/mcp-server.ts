/**
 * The tools of an MCP server, each of which calls an agent.
 */
import type * as Sdk from "@modelcontextprotocol/server";
import { type Json, PawlError, type RunResult } from "../../index.js";
import { type AgentCall, beginTask, type CallState, callAgent, sendDecisions, toToolResult } from "./call-agent.js";
import type { CalledSession, McpHost, McpTool } from "./host.js";
import {
  formatRequestKey,
  listQuestions,
  parseTaskId,
  readTask,
  type TaskParams,
  type TaskRun,
  taskParams,
  tasksExtension,
} from "./tasks.js";
import { formatTranscript } from "./transcript.js";

export type McpServerSdk = Pick<typeof Sdk, "ProtocolError" | "Server" | "createRequestStateCodec" | "inputRequired">;

/** How long a client may take to send its answers, in seconds. */
const stateSeconds = 7 * 24 * 60 * 60;

/** Signs the state that clients send back with their answers, and binds it to the principal that was asked. */
export function createStateCodec(sdk: McpServerSdk, key: Uint8Array): Sdk.RequestStateCodec<CallState> {
  const bind = (context: Sdk.ServerContext) => context.http?.authInfo?.clientId ?? "";
  return sdk.createRequestStateCodec<CallState>({ key, ttlSeconds: stateSeconds, bind });
}

export function createMcpServer(sdk: McpServerSdk, host: McpHost, codec: Sdk.RequestStateCodec<CallState>): Sdk.Server {
  const server = new sdk.Server(host.info, {
    capabilities: {
      tools: {},
      extensions: { [tasksExtension]: {} },
      ...(host.sessions === undefined ? {} : { resources: {}, completions: {} }),
    },
    requestState: { verify: codec.verify },
  });
  const canAsk = ({ mcpReq }: Sdk.ServerContext) =>
    host.mayAnswer !== false && supportsElicitation(mcpReq.envelope, server.getClientCapabilities());
  const carrier = createCarrier(host);
  const guard: Guard = (handler) => guardHandler(sdk, host, handler);
  server.setRequestHandler("tools/list", () => ({ tools: host.tools.map(toListedTool) }));
  const callTool = async ({ params }: Sdk.CallToolRequest, context: Sdk.ServerContext) => {
    const tool = host.tools.find(({ name }) => name === params.name);
    if (tool === undefined)
      throw new sdk.ProtocolError(
        invalidParams,
        `There is no tool ${host.redaction?.text(params.name) ?? params.name}.`,
      );
    const state = context.mcpReq.requestState<CallState>();
    const { agent = tool.name } = tool;
    const call: Omit<AgentCall, "session"> = {
      agent,
      // With a state, the run has its request already, and the input may no longer be valid.
      prompt: state === undefined ? await createPrompt(tool, params.arguments) : "",
      ...readTraceparent(params._meta),
      host,
      context,
      canAsk: canAsk(context),
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
    const session = await host.openSession(agent, state?.sessionId ?? readSessionId(params._meta));
    if (state !== undefined || !declaresTasks(context.mcpReq.envelope)) return callAgent({ ...call, session }, state);
    const task = await beginTask({ ...call, session });
    carrier.carryOn(session);
    // The package forwards results of any type.
    return task as unknown as Sdk.CallToolResult;
  };
  server.setRequestHandler("tools/call", guard(callTool));
  serveTasks(sdk, server, host, { carrier, canAsk, guard });
  if (host.sessions !== undefined) serveTranscripts(sdk, server, host.sessions, guard);
  return server;
}

type Guard = <Args extends readonly unknown[], Result>(
  handler: (...args: Args) => Promise<Result>,
) => (...args: Args) => Promise<Result>;

/** The package sends the message of any thrown error to the client, so handlers may throw only protocol errors. */
function guardHandler<Args extends readonly unknown[], Result>(
  sdk: McpServerSdk,
  host: McpHost,
  handler: (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  return async (...args) => {
    try {
      return await handler(...args);
    } catch (error) {
      if (error instanceof sdk.ProtocolError) throw error;
      throw new sdk.ProtocolError(internalError, host.explainError(error));
    }
  };
}

/** Keeps the sessions of tasks driven. */
type Carrier = {
  /** Drives the session in the background. */
  readonly carryOn: (session: CalledSession) => void;
  /** The reason why no process drives the session, as far as this process knows; null if there is none. */
  readonly findProblem: (session: CalledSession) => string | null;
};

function createCarrier(host: McpHost): Carrier {
  const carriedIds = new Set<string>();
  const problems = new Map<string, string>();
  async function drive(session: CalledSession): Promise<void> {
    const problem = await host.carryOn(session).catch((error: unknown) => {
      host.report(error);
      return "The run cannot be continued here.";
    });
    carriedIds.delete(session.id);
    if (problem === null) problems.delete(session.id);
    else problems.set(session.id, problem);
  }
  return {
    carryOn(session) {
      if (carriedIds.has(session.id)) return;
      carriedIds.add(session.id);
      void drive(session);
    },
    findProblem: ({ id }) => problems.get(id) ?? null,
  };
}

type TaskServing = {
  readonly carrier: Carrier;
  readonly canAsk: (context: Sdk.ServerContext) => boolean;
  readonly guard: Guard;
};

/** Registers the handlers that poll, answer and cancel a task. */
function serveTasks(
  sdk: McpServerSdk,
  server: Sdk.Server,
  host: McpHost,
  { carrier, canAsk, guard }: TaskServing,
): void {
  const by = host.by === undefined ? {} : { by: host.by };
  const noTask = () => new sdk.ProtocolError(invalidParams, "There is no such task.");

  /** @throws ProtocolError if the client does not declare the extension, or may not use the session of the task */
  async function openTask(
    taskId: string,
    { mcpReq }: Sdk.ServerContext,
  ): Promise<{ readonly run: TaskRun; readonly session: CalledSession }> {
    if (!declaresTasks(mcpReq.envelope))
      throw new sdk.ProtocolError(
        missingCapability,
        "This request needs the tasks extension, which the client has not declared.",
        {
          requiredCapabilities: { extensions: { [tasksExtension]: {} } },
        },
      );
    const run = parseTaskId(taskId);
    const session = run === null ? null : await host.findSession(run.sessionId);
    if (run === null || session === null) throw noTask();
    return { run, session };
  }

  const getTask = async ({ taskId }: TaskParams, context: Sdk.ServerContext) => {
    const { run, session } = await openTask(taskId, context);
    const toResult = (result: RunResult) => toToolResult(result, { session, host });
    const task = await readTask({ session, run, host, canAsk: canAsk(context), toElicitation, toResult });
    if (task === null) throw noTask();
    // It is possible that no process is driving the session, for example after a restart.
    if (task.status === "working") carrier.carryOn(session);
    const problem = task.status === "working" ? carrier.findProblem(session) : null;
    const message = problem ?? task.statusMessage;
    return { ...task, ...(message === undefined ? {} : { statusMessage: host.redaction?.text(message) ?? message }) };
  };
  const updateTask = async ({ taskId }: TaskParams, context: Sdk.ServerContext) => {
    const { run, session } = await openTask(taskId, context);
    const waiting = await listQuestions(session, run.runId);
    if (waiting === null) throw noTask();
    if (canAsk(context)) {
      // The package takes the responses out of the parameters of every request.
      const responses = context.mcpReq.inputResponses ?? {};
      await sendDecisions({ session, host }, waiting, responses, formatRequestKey, new Set());
    }
    carrier.carryOn(session);
    return {};
  };
  const cancelTask = async ({ taskId }: TaskParams, context: Sdk.ServerContext) => {
    const { run, session } = await openTask(taskId, context);
    if ((await listQuestions(session, run.runId)) === null) throw noTask();
    await session.abort({ runId: run.runId, note: "cancelled by the MCP client", ...by });
    carrier.carryOn(session);
    return {};
  };
  server.setRequestHandler("tasks/get", { params: taskParams }, guard(getTask));
  server.setRequestHandler("tasks/update", { params: taskParams }, guard(updateTask));
  server.setRequestHandler("tasks/cancel", { params: taskParams }, guard(cancelTask));
}

const transcriptScheme = "pawl://sessions/";
const transcriptTemplate = `${transcriptScheme}{id}`;
const transcriptType = "text/markdown";
/** JSON-RPC "invalid params", also for sessions that the caller may not read, so that they look like unknown ones. */
const invalidParams = -32_602;
const missingCapability = -32_021;
const internalError = -32_603;

/** Serves each session as a resource. Clients can complete its id. */
function serveTranscripts(
  sdk: McpServerSdk,
  server: Sdk.Server,
  sessions: NonNullable<McpHost["sessions"]>,
  guard: Guard,
): void {
  const listResources = async () => ({
    resources: (await sessions.list("")).map((id) => ({
      uri: `${transcriptScheme}${encodeURIComponent(id)}`,
      name: id,
      mimeType: transcriptType,
    })),
  });
  server.setRequestHandler("resources/list", guard(listResources));
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
  const readResource = async ({ params: { uri } }: Sdk.ReadResourceRequest) => {
    const id = uri.startsWith(transcriptScheme) ? decodeId(uri.slice(transcriptScheme.length)) : null;
    const messages = id === null ? null : await sessions.messages(id);
    if (messages === null) throw new sdk.ProtocolError(invalidParams, "There is no such resource.", { uri });
    return { contents: [{ uri, mimeType: transcriptType, text: formatTranscript(messages) }] };
  };
  const complete = async ({ params: { ref, argument } }: Sdk.CompleteRequest) => {
    const isOurs = ref.type === "ref/resource" && ref.uri === transcriptTemplate && argument.name === "id";
    return { completion: { values: isOurs ? [...(await sessions.list(argument.value))] : [] } };
  };
  server.setRequestHandler("resources/read", guard(readResource));
  server.setRequestHandler("completion/complete", guard(complete));
}

function decodeId(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

// The cast is safe: forms have only plain fields.
function toElicitation(form: object): Parameters<typeof Sdk.inputRequired.elicit>[0] {
  return { mode: "form", ...form } as Parameters<typeof Sdk.inputRequired.elicit>[0];
}

const promptSchema = {
  properties: { prompt: { type: "string", minLength: 1, description: "What the agent should do." } },
  required: ["prompt"],
  additionalProperties: false,
};

function toListedTool({ name, description, input }: McpTool) {
  return { name, description, inputSchema: { ...(input?.inputSchema ?? promptSchema), type: "object" as const } };
}

/** @throws PawlError `bad_input` */
async function createPrompt({ input }: McpTool, args: { readonly [key: string]: unknown } = {}): Promise<string> {
  // The package has parsed the arguments from JSON.
  if (input !== undefined) return input.createRequest(args as { readonly [key: string]: Json });
  const { prompt } = args;
  if (typeof prompt === "string" && prompt !== "") return prompt;
  throw new PawlError(
    "bad_input",
    "The argument `prompt` must be a non-empty string that says what the agent should do.",
  );
}

/** In the 2026 protocol, each request contains the client's capabilities. Earlier, clients sent them once. */
function supportsElicitation(
  envelope: object | undefined,
  clientCapabilities: Sdk.ClientCapabilities | undefined,
): boolean {
  const capabilities =
    (envelope as { readonly [key: string]: unknown } | undefined)?.[capabilitiesKey] ?? clientCapabilities;
  return (capabilities as Sdk.ClientCapabilities | undefined)?.elicitation !== undefined;
}

/** Clients of the 2026 protocol declare their extensions in each request. */
function declaresTasks(envelope: object | undefined): boolean {
  const capabilities = (envelope as { readonly [key: string]: unknown } | undefined)?.[capabilitiesKey];
  const { extensions } = Object(capabilities) as { readonly extensions?: { readonly [name: string]: unknown } };
  return extensions?.[tasksExtension] !== undefined;
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
