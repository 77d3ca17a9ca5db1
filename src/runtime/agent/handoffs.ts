/**
 * The handoffs of an agent: for each, a tool by which its model passes the session on to another agent.
 */
import { aFunction, anyValue, aString, checkOptions, nonEmptyString, type OptionTable } from "../../check-options.js";
import type { Json, Message } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import type { RunData } from "../../ports/context.js";
import type { SessionData } from "../../ports/session-data.js";
import type { StepView } from "../../ports/stop-condition.js";
import type { AnyTool, InputSchema, Tool } from "../../ports/tool.js";

/** An agent that a session can be handed over to, as `createAgent` gives it. */
export type HandoffAgent = {
  /** The options of the agent, of which the name is read. */
  readonly options: {
    /** The name of the agent. */
    readonly name?: string;
  };
};

/**
 * An agent that a session can be handed over to, alone or with a description and a filter.
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
  /** Gives the agent. It is called when the agent is first needed, so that agents can hand over to each other. */
  readonly agent: () => HandoffAgent;
  /** Whether a person is asked first. Default: false. */
  readonly needsApproval?: Tool["needsApproval"];
  /** The name of the tool. Default: `transfer_to_` and the agent's name. */
  readonly toolName?: string;
  /**
   * What the agent is shown of the conversation. "all" (default); "text": calls and their results as text, for providers
   * that take calls only together with their tools; "last_turn": the input of this run and what came after it. Or a
   * function that returns messages: it may leave some out, shorten them, and put others in front, and may not change
   * their order. It has 10 s. If it fails, or returns messages that no provider takes, the run fails: `hook_failed`.
   */
  readonly filter?: "all" | "text" | "last_turn" | ((view: HandoffView) => HandoffMessages | Promise<HandoffMessages>);
  /**
   * Whether the model is offered the handoff in this step. It is called before each step and must answer at once. If it
   * throws, or returns something else than true or false, the handoff is not offered, and events and traces say so.
   * Default: always.
   */
  readonly when?: (view: StepView) => boolean;
  /** The schema of the call's input, which stays in the conversation. Default: an object with a text `message`. */
  readonly input?: InputSchema<unknown>;
};

type HandoffMessages = readonly Message[];
export type HandoffFilter = NonNullable<Handoff["filter"]>;

/** What a filter sees. Frozen. */
export type HandoffView = {
  /** The conversation, with the results of the step that hands over; never a system prompt. */
  readonly messages: readonly Message[];
  /** The input of the call. */
  readonly input: Json;
  /** The agent that hands over, and the one that takes over. */
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

/** The tools of these handoffs. @throws PawlError `bad_configuration` */
export function createHandoffTools(handoffs: readonly Handoff[]): readonly AnyTool[] {
  return handoffs.map((handoff, index): AnyTool => {
    if (isAgent(handoff)) throw agentInsteadOfHandoffError(index, handoff);
    checkOptions(`handoffs[${index}]`, handoffRules, handoff, { otherNames });
    for (const required of ["name", "description", "agent"] as const)
      if (handoff[required] === undefined)
        throw new PawlError(
          "bad_configuration",
          `handoffs[${index}] has no ${required}. A handoff has a name, a description, and a function that gives the agent.`,
        );
    const { name, description, toolName = toToolName(name), input = messageSchema, needsApproval } = handoff;
    const handoffOfTool: HandoffOfTool = { to: name, filter: handoff.filter, when: handoff.when };
    const tool = { name: toolName, description, input, recover: "rerun", [handoffMark]: handoffOfTool } as const;
    return needsApproval === undefined ? tool : { ...tool, needsApproval };
  });
}

/** An agent of this package, given where a handoff belongs: other libraries take agents there. */
function isAgent(value: unknown): value is HandoffAgent {
  return typeof value === "object" && value !== null && "options" in value && "run" in value;
}

function agentInsteadOfHandoffError(index: number, { options: { name } }: HandoffAgent): PawlError {
  const named = name === undefined ? '"…"' : JSON.stringify(name);
  return new PawlError(
    "bad_configuration",
    `handoffs[${index}] is an agent. A handoff says what the agent is for, and gives it when it is needed: { name: ${named}, description: "When to hand over to it.", agent: () => agent }.`,
  );
}

/** Every provider accepts such a name. */
function toToolName(agentName: string): string {
  return `transfer_to_${agentName.replace(/[^a-zA-Z0-9_-]/g, "_")}`.slice(0, 64);
}

type HandoffOfTool = { readonly to: string } & { readonly [Option in "filter" | "when"]: Handoff[Option] | undefined };

/** What a call of this tool does; undefined for any other tool. */
export function findHandoff(tool: object): HandoffOfTool | undefined {
  return handoffMark in tool ? (tool[handoffMark] as HandoffOfTool) : undefined;
}

/** A handoff that is not always offered. */
export type ConditionalHandoff = { readonly toolName: string; readonly when: NonNullable<Handoff["when"]> };

/** The handoffs of these tools that have a condition; null if there are none. */
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
