/**
 * A remote agent as a durable tool. A call sends a message, which begins a task, and follows the task until it is over: in any process,
 * and without one while nothing is due. The agent is untrusted: calls need approval unless the user trusts it.
 */
import { getErrorMessage } from "../../core/data/error-message.js";
import type { ToolOutput } from "../../core/data/message.js";
import { sha256 } from "../../platform/hash.js";
import type { StepContext, Tool, ToolContext } from "../../ports/tool.js";
import { followTask } from "../mcp/follow-task.js";
import { createBoundedFetch } from "./bounded-fetch.js";
import { fetchCard } from "./card.js";
import { importSdk } from "./import-sdk.js";
import { type A2aAgentOptions, type A2aInput, checkA2aOptions } from "./options.js";
import { createRemoteTasks, firstIntervalMs, type RemoteCall, type Started, startTask } from "./remote-tasks.js";

const inputSchema = {
  type: "object",
  properties: {
    message: {
      type: "string",
      minLength: 1,
      maxLength: 100_000,
      description: "The request, with everything that the agent needs to know. It remembers no other call.",
    },
  },
  required: ["message"],
  additionalProperties: false,
} as const;

/** How often a message is sent whose response was lost. */
const maxSends = 3;

/**
 * Returns a remote agent as a tool: it sends the agent a message, and returns what the agent's task produces. A task may take days; a
 * process that dies meanwhile ends nothing. The agent's questions are put to people, like those of other tools.
 *
 * @throws PawlError `bad_configuration`, `missing_package`
 * @throws Error if the agent's card cannot be read
 *
 * @example
 * ```ts
 * import { connectA2aAgent } from "pawl/tools/a2a";
 *
 * const billing = await connectA2aAgent({ name: "billing", url: "https://billing.example.org", resend: true });
 * const agent = createAgent({ model, tools: [billing] });
 * ```
 */
export async function connectA2aAgent(options: A2aAgentOptions): Promise<Tool<A2aInput, ToolOutput>> {
  checkA2aOptions(options);
  const { name, trust = "ask" } = options;
  const peer = `The A2A agent "${name}"`;
  const sdk = await importSdk();
  const fetchImpl = createBoundedFetch(options);
  const { description, card } = await fetchCard(sdk, options, fetchImpl).catch((error: unknown) => {
    const reason = getErrorMessage(error);
    throw new Error(`${peer} could not be connected: ${reason}.`, { cause: error });
  });
  const factory = new sdk.client.ClientFactory({
    transports: [new sdk.client.JsonRpcTransportFactory({ fetchImpl })],
  });
  const client = await factory.createFromAgentCard(card);
  return {
    name,
    description: options.description ?? description,
    input: inputSchema,
    durable: true,
    needsApproval: trust === "ask",
    execute: ({ message }, context) => {
      const callId = sha256(JSON.stringify([context.sessionId, context.idempotencyKey]));
      return callAgent({ peer, sdk, client, callId }, options, message, context);
    },
  };
}

async function callAgent(
  call: RemoteCall,
  { resend = false, taskTimeoutMs = Number.POSITIVE_INFINITY, answerTimeoutMs }: A2aAgentOptions,
  message: string,
  context: ToolContext,
): Promise<ToolOutput> {
  const { peer } = call;
  const startedAt = performance.now();
  context.signal.throwIfAborted();
  // An abort does not end the request: the id of the task would be lost, and the task could not be cancelled.
  const send = async ({ signal }: StepContext): Promise<unknown> => startTask(call, message, signal);
  const started = (await context.step("send", send, {
    cleanup: true,
    ...(resend ? { retry: { attempts: maxSends } } : { once: true }),
  })) as Started;
  if (started.type === "output") return started.output;
  const deadline = started.startedAt + taskTimeoutMs;
  const tasks = createRemoteTasks(call, deadline);
  const task = { taskId: started.taskId, intervalMs: firstIntervalMs };
  const questionTimeoutMs = limitToDeadline(answerTimeoutMs, deadline);
  return followTask({ peer, tasks, answerTimeoutMs: questionTimeoutMs, startedAt, context }, task, 0);
}

/** No poll sees the deadline while a person is asked, so a question expires at the deadline. */
function limitToDeadline(answerTimeoutMs: number | undefined, deadline: number): number | undefined {
  if (deadline === Number.POSITIVE_INFINITY) return answerTimeoutMs;
  return Math.min(answerTimeoutMs ?? Number.POSITIVE_INFINITY, Math.max(1, deadline - Date.now()));
}
