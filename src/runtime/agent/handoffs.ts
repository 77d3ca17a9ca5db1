/**
 * The handoffs of an agent: tools with which its model passes the session on to another agent.
 */
import { aFunction, anyValue, aString, checkOptions, nonEmptyString, type OptionTable } from "../../check-options.js";
import type { Json, Message } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import type { RunData } from "../../ports/context.js";
import type { SessionData } from "../../ports/session-data.js";
import type { StepView } from "../../ports/stop-condition.js";
import type { AnyTool, InputSchema, Tool } from "../../ports/tool.js";

/** An agent that a session can be handed over to, as returned by `createAgent`. */
export type HandoffAgent = {
  /** The options of the agent. Only the name is read. */
  readonly options: {
    /** The name of the agent. */
    readonly name?: string;
  };
};

/**
 * An agent that a session can be handed over to, with a description for the model.
 *
 * @example
 * ```ts
 * const billing = createAgent({ name: "billing", model, tools, systemPrompt: "You answer questions about invoices.", store });
 * const reception = createAgent({
 *   name: "reception",
 *   model,
 *   handoffs: [{ name: "billing", description: "Questions about invoices and refunds.", agent: () => billing }],
 *   store,
 * });
 * ```
 */
export type Handoff = {
  /** The name of the agent that takes over: its option `name`. */
  readonly name: string;
  /** Tells the model what the agent is for, and when to hand over to it. */
  readonly description: string;
  /** Returns the agent. Called when the agent is first needed, so that agents can hand over to each other. */
  readonly agent: () => HandoffAgent;
  /** Whether a person is asked first. Default: false. */
  readonly needsApproval?: Tool["needsApproval"];
  /** The name of the tool. Default: `transfer_to_` and the agent's name. */
  readonly toolName?: string;
  /**
   * What the agent sees of the conversation. Default: "all". "text": calls and their results as text, for providers that accept calls only
   * together with their tools. "last_turn": the input of this run and what came after it. Or a function that returns messages: it may omit
   * some, shorten them, and put others in front, but must not change their order. Its time limit is 10 s. If it fails, or returns messages
   * that no provider accepts, the run fails: `hook_failed`.
   */
  readonly filter?: "all" | "text" | "last_turn" | ((view: HandoffView) => HandoffMessages | Promise<HandoffMessages>);
  /**
   * Whether the model is offered the handoff in this step. Called before each step; must be synchronous. If it
   * throws, or returns anything but true or false, the handoff is not offered, and events and traces report it.
   * Default: always.
   */
  readonly when?: (view: StepView) => boolean;
  /** The schema of the call's input, which stays in the conversation. Default: an object with a string `message`. */
  readonly input?: InputSchema<unknown>;
};

type HandoffMessages = readonly Message[];
export type HandoffFilter = NonNullable<Handoff["filter"]>;

/** The argument of a filter. Frozen. */
export type HandoffView = {
  /** The conversation, including the results of the step that hands over; never a system prompt. */
  readonly messages: readonly Message[];
  /** The input of the call. */
  readonly input: Json;
  /** The agent that hands over. */
  readonly from: string;
  /** The agent that takes over. */
  readonly to: string;
  /** Facts of the run. */
  readonly run: RunData;
  /** The session's data. */
  readonly data: SessionData;
};

const handoffRules: OptionTable<Handoff> = {
  name: nonEmptyString,
  description: aString,
  agent: aFunction,
  filter: {
    accepts: (value) => typeof value === "function" || filterNames.has(value),
    expected: '"all", "text", "last_turn" or a function',
  },
  when: aFunction,
  needsApproval: anyValue,
  toolName: nonEmptyString,
  input: anyValue,
};
const otherNames = {
  isEnabled: "when",
  inputFilter: "filter",
  toolDescription: "description",
  toolNameOverride: "toolName",
  inputSchema: "input",
  to: "agent",
};

const filterNames: ReadonlySet<unknown> = new Set(["all", "text", "last_turn"]);

const messageSchema = {
  type: "object",
  properties: { message: { type: "string", description: "What the next agent should know or do first." } },
  additionalProperties: false,
} as const;

const handoffMark = Symbol("pawl.handoff");

/** Creates the tools of these handoffs. @throws PawlError `bad_configuration` */
export function createHandoffTools(handoffs: readonly Handoff[]): readonly AnyTool[] {
  return handoffs.map((handoff, index): AnyTool => {
    if (isAgent(handoff)) throw agentInsteadOfHandoffError(index, handoff);
    checkOptions(`handoffs[${index}]`, handoffRules, handoff, { otherNames });
    for (const required of ["name", "description", "agent"] as const)
      if (handoff[required] === undefined)
        throw new PawlError(
          "bad_configuration",
          `handoffs[${index}] has no ${required}. A handoff has a name, a description, and a function that returns the agent.`,
        );
    const { name, description, toolName = toToolName(name), input = messageSchema, needsApproval } = handoff;
    const handoffOfTool: HandoffOfTool = { to: name, filter: handoff.filter, when: handoff.when };
    const tool = { name: toolName, description, input, recover: "rerun", [handoffMark]: handoffOfTool } as const;
    return needsApproval === undefined ? tool : { ...tool, needsApproval };
  });
}

/** Whether a value is one of this package's agents instead of a handoff: other libraries accept agents here. */
function isAgent(value: unknown): value is HandoffAgent {
  return typeof value === "object" && value !== null && "options" in value && "run" in value;
}

function agentInsteadOfHandoffError(index: number, { options: { name } }: HandoffAgent): PawlError {
  const named = name === undefined ? '"…"' : JSON.stringify(name);
  return new PawlError(
    "bad_configuration",
    `handoffs[${index}] is an agent. A handoff describes the agent, and returns it when it is needed: { name: ${named}, description: "When to hand over to it.", agent: () => agent }.`,
  );
}

/** A tool name that every provider accepts. */
function toToolName(agentName: string): string {
  return `transfer_to_${agentName.replace(/[^a-zA-Z0-9_-]/g, "_")}`.slice(0, 64);
}

type HandoffOfTool = { readonly to: string } & { readonly [Option in "filter" | "when"]: Handoff[Option] | undefined };

/** The handoff that a tool performs; undefined for any other tool. */
export function findHandoff(tool: object): HandoffOfTool | undefined {
  return handoffMark in tool ? (tool[handoffMark] as HandoffOfTool) : undefined;
}

/** A handoff with a condition. */
export type ConditionalHandoff = { readonly toolName: string; readonly when: NonNullable<Handoff["when"]> };

/** The conditional handoffs among these tools; null if there are none. */
export function listConditionalHandoffs(
  tools: ReadonlyMap<string, { readonly tool: object }>,
): readonly ConditionalHandoff[] | null {
  const found: ConditionalHandoff[] = [];
  for (const [toolName, { tool }] of tools) {
    const when = findHandoff(tool)?.when;
    if (when !== undefined) found.push({ toolName, when });
  }
  return found.length === 0 ? null : found;
}
