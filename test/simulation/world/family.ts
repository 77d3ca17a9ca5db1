/**
 * Families: agents behind the tools of agents. Each call of `delegate` is a session of its own.
 */
import type { AnyTool } from "../../../src/ports/tool.js";
import type { Handoff } from "../../../src/runtime/agent/handoffs.js";
import type { Agent } from "../../../src/runtime/api/build-agent.js";
import type { SeededRandom } from "../../../src/testing/world/seeded-random.js";

const input = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;

/** How the agents of a world hand work on. */
export type FamilyHabits = {
  /** How many levels of agents there are below the first one. */
  readonly depth: number;
  /** How many places `delegate` has among the tools that a model picks from. */
  readonly delegateWeight: number;
};

/** A third of the worlds have families. */
export function drawFamilyHabits(chance: SeededRandom): FamilyHabits | null {
  if (!chance.happens(1 / 3)) return null;
  return { depth: 1 + chance.below(3), delegateWeight: 1 + chance.below(3) };
}

/** The name of the agent of a level; the first one has level 0. */
export function agentNameAt(level: number): string {
  return level === 0 ? "agent" : `level${level}`;
}

/** The name of the agent that the agent of a level can hand its session over to. */
export function twinNameAt(level: number): string {
  return `${agentNameAt(level)}_twin`;
}

/** What the call of a model that hands over is named. */
export const toTransferName = (name: string) => `transfer_to_${name}`;

/** How often a run may be handed over. */
export const maxHandoffs = 2;

export function createHandoff(name: string, agent: Handoff["agent"], filter: Handoff["filter"] = "all"): Handoff {
  return { name, description: "Another agent takes over.", agent, input, filter };
}

/** The name of the tool with an agent behind it. */
export const delegate = "delegate";

/** The names that the models of a level pick from: those of its own tools, and the agent of the next level. */
export function listToolNames(
  level: number,
  ownNames: readonly string[],
  habits: FamilyHabits | null,
): readonly string[] {
  if (habits === null || level >= habits.depth) return ownNames;
  return [...ownNames, ...Array.from({ length: habits.delegateWeight }, () => delegate)];
}

export function createDelegateTool(agent: Pick<Agent, "asTool">): AnyTool {
  return agent.asTool({
    name: delegate,
    description: "Another agent does it.",
    input,
    request: ({ n }: { readonly n: number }) => `task ${n}`,
  });
}
