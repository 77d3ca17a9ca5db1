/**
 * An agent as a tool: each call is a separate session. The parent waits for it and holds nothing meanwhile (TOOL-11).
 */

import { aBooleanOrFunction, aFunction, anyValue, checkOptions, type OptionTable } from "../../check-options.js";
import { PawlError } from "../../errors.js";
import type { InputSchema, Tool } from "../../ports/tool.js";
import type { CompiledInput } from "../tools/schema.js";
import type { AgentFamily, ChildAgent, ParentLink } from "./agent-family.js";
import type { CompiledAgent } from "./compiled-agent.js";
import { compileOutput } from "./local-run-options.js";
import type { RunParams } from "./params.js";

const agentMark = Symbol("pawl.agent");

/**
 * How an agent is called as a tool of another one: `agent.asTool(options)`.
 *
 * @example
 * ```ts
 * const researcher = createAgent({ name: "researcher", model: cheapModel, tools: [search] });
 * const editor = createAgent({
 *   name: "editor",
 *   model,
 *   tools: [researcher.asTool({ description: "Researches a question.", budgetShare: 0.3 })],
 * });
 * ```
 */
export type AgentToolOptions<Input> = {
  /** Default: the agent's name. */
  readonly name?: string;
  /** What the agent does and when to ask it, for the model. */
  readonly description: string;
  /** The schema of the input. Default: an object with a string `task`. */
  readonly input?: InputSchema<Input>;
  /** Creates the agent's request from the input. Required with your own `input`. Default: `input.task`. */
  readonly request?: (input: Input) => string;
  /**
   * The shape of the agent's answer: a Standard Schema, or a JSON Schema of an object. The result of the call is then the answer as JSON.
   * An answer that does not match is sent back once, and then the call fails. Default: plain text.
   */
  readonly output?: InputSchema<unknown>;
  /**
   * Returns the params of the agent's run, given the input and the params of the parent's run. Default: none. The model writes the
   * input, so take a tenant or a user from the parent's params instead.
   */
  readonly params?: (
    input: Input,
    parent: {
      /** The params of the parent's run. */
      readonly params: RunParams;
    },
  ) => RunParams;
  /** The share of the parent's remaining token budget that one call may use. Above 0, up to 1. Default: 0.5. */
  readonly budgetShare?: number;
  /**
   * If true, a call starts the agent in the background: it returns at once, and the parent's model goes on. A message tells the
   * model when the agent has ended; the tools `read_agent` and `stop_agent`, which the parent gets with this option, read its state
   * and answer, and stop it. A function decides by the input. Default: false, and the call waits for the answer.
   */
  readonly background?: boolean | ((input: Input) => boolean);
};

/** The agent that a tool calls, and how a call uses it. */
export type AgentOfTool<Handle> = {
  readonly agent: Handle;
  readonly agentName: string;
  readonly budgetShare: number;
  readonly background: (input: unknown) => boolean;
  /** Whether a call may start the agent in the background. */
  readonly hasBackground: boolean;
  readonly request: (input: unknown) => string;
  readonly output?: CompiledInput;
  readonly params?: (input: unknown, parent: { readonly params: RunParams }) => RunParams;
};

const taskSchema = {
  type: "object",
  properties: { task: { type: "string", description: "What is to be done, with all that is needed to do it." } },
  required: ["task"],
  additionalProperties: false,
} as const;

const agentToolRules: OptionTable<AgentToolOptions<never>> = {
  name: anyValue,
  description: anyValue,
  input: anyValue,
  request: aFunction,
  output: anyValue,
  budgetShare: anyValue,
  background: aBooleanOrFunction,
  params: aFunction,
};
const agentToolNames = {
  toolName: "name",
  toolDescription: "description",
  inputSchema: "input",
  prompt: "request",
  outputSchema: "output",
};

/** @throws PawlError `bad_configuration` */
export function createAgentTool<Handle, Input>(
  agent: Handle,
  agentName: string,
  options: AgentToolOptions<Input>,
): Tool {
  checkOptions<object>("asTool()", agentToolRules, options, { otherNames: agentToolNames });
  const { name = agentName, description, input = taskSchema, request, budgetShare = 0.5, background = false } = options;
  if (!(budgetShare > 0 && budgetShare <= 1))
    throw new PawlError(
      "bad_configuration",
      `The budgetShare of the tool "${name}" is ${budgetShare}; it must be more than 0 and at most 1.`,
    );
  if (options.input !== undefined && request === undefined)
    throw new PawlError(
      "bad_configuration",
      `The tool "${name}" has its own input, but no \`request\`. Add a function that creates the agent's request from the input.`,
    );
  const agentOfTool: AgentOfTool<Handle> = {
    agent,
    agentName,
    budgetShare,
    background: (given) => (typeof background === "function" ? background(given as Input) === true : background),
    hasBackground: background !== false,
    request: (given) => (request === undefined ? readTask(given) : request(given as Input)),
    ...(options.params === undefined ? {} : { params: options.params as NonNullable<AgentOfTool<Handle>["params"]> }),
    ...(options.output === undefined
      ? {}
      : { output: compileOutput(options.output, `The option output of the tool "${name}"`) }),
  };
  const tool: Tool = { name, description, input, recover: "rerun", [agentMark]: agentOfTool } as Tool;
  return tool;
}

/** The agent that a tool calls; undefined for an ordinary tool. */
export function findAgentOfTool<Handle>(tool: object): AgentOfTool<Handle> | undefined {
  return agentMark in tool ? (tool[agentMark] as AgentOfTool<Handle>) : undefined;
}

/** Whether a call of the tool may start an agent in the background. */
export function isBackgroundTool(tool: object): boolean {
  return findAgentOfTool(tool)?.hasBackground === true;
}

function readTask(input: unknown): string {
  return typeof input === "object" && input !== null && "task" in input ? String(input.task) : String(input);
}

type SharedDeps = Pick<
  CompiledAgent,
  "store" | "clock" | "makeId" | "leaseMs" | "address" | "runTool" | "runModel" | "rehearsal" | "childObservers"
>;

/** Binds the agent that a tool calls to its parent, and to the store, clock and observers of the parent's process. */
export type BindChild = (link: ParentLink, shared: SharedDeps, output: CompiledInput | undefined) => BoundChild;

export type BoundChild = Omit<ChildAgent, "budgetShare" | "background" | "request" | "output">;

/** Binds the agents that these tools call to this process. */
export function createFamily(
  tools: CompiledAgent["tools"],
  link: ParentLink,
  shared: SharedDeps,
  parent: ParentLink | undefined,
): AgentFamily {
  const children = new Map<string, ChildAgent>();
  for (const [name, { tool }] of tools) {
    const agentOfTool = findAgentOfTool<BindChild>(tool);
    if (agentOfTool === undefined) continue;
    const { agent, agentName: _name, hasBackground: _, ...use } = agentOfTool;
    children.set(name, { ...agent(link, shared, agentOfTool.output), ...use });
  }
  return parent === undefined ? { children } : { children, parent };
}
