/**
 * The handoffs of an agent: for each, a tool by which its model passes the session on to another agent.
 */
import { aFunction, anyText, anything, checkOptions, type OptionTable, someText } from "../../check-options.js";
import { PawlError } from "../../errors.js";
import type { AnyTool, InputSchema, Tool } from "../../ports/tool.js";

/** An agent that a session can be handed over to, as `createAgent` gives it. */
export type HandoffAgent = { readonly options: { readonly name?: string } };

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
  /** The schema of the call's input, which stays in the conversation. Default: an object with a text `message`. */
  readonly input?: InputSchema<unknown>;
};

const handoffRules: OptionTable<Handoff> = {
  name: someText,
  description: anyText,
  agent: aFunction,
  needsApproval: anything,
  toolName: someText,
  input: anything,
};
const otherNames = { toolDescription: "description", toolNameOverride: "toolName", inputSchema: "input", to: "agent" };

const messageSchema = {
  type: "object",
  properties: { message: { type: "string", description: "What the next agent should know or do first." } },
  additionalProperties: false,
} as const;

const mark = Symbol("pawl.handoff");

/** The tools of these handoffs. @throws PawlError `bad_configuration` */
export function handoffTools(handoffs: readonly Handoff[]): readonly AnyTool[] {
  return handoffs.map((handoff, index): AnyTool => {
    checkOptions(`handoffs[${index}]`, handoffRules, handoff, { otherNames });
    for (const required of ["name", "description", "agent"] as const)
      if (handoff[required] === undefined)
        throw new PawlError(
          "bad_configuration",
          `handoffs[${index}] has no ${required}. A handoff has a name, a description, and a function that gives the agent.`,
        );
    const { name, description, toolName = toolNameOf(name), input = messageSchema, needsApproval } = handoff;
    const tool = { name: toolName, description, input, recover: "rerun", [mark]: name } as const;
    return needsApproval === undefined ? tool : { ...tool, needsApproval };
  });
}

/** Every provider accepts such a name. */
function toolNameOf(agentName: string): string {
  return `transfer_to_${agentName.replace(/[^a-zA-Z0-9_-]/g, "_")}`.slice(0, 64);
}

/** The agent that a call of this tool hands over to; undefined for any other tool. */
export function handoffOf(tool: object): string | undefined {
  return mark in tool ? (tool[mark] as string) : undefined;
}
