/**
 * The agents that an agent can reach through handoffs, itself included. It drives the sessions of all of them.
 *
 * 1. Agents may hand over to each other, so they are looked up when they are first needed, and each is compiled when a session needs it.
 * 2. A reached agent works with the store, clock, ids, lease, observers, redaction, parent, `runTool` and `runModel` of the agent that was
 *    called first.
 * 3. A name belongs to one agent of a graph. An agent created by `with` replaces the agent that it was made from.
 */
import { defined } from "../../core/data/defined.js";
import { PawlError } from "../../errors.js";
import type { ParentLink } from "./agent-family.js";
import type { AgentGraph, CompiledAgent } from "./compiled-agent.js";
import type { Handoff, HandoffAgent } from "./handoffs.js";

/** Passed on from an agent to the agents that it reaches. */
export type Inherited = Pick<
  CompiledAgent,
  | "store"
  | "clock"
  | "makeId"
  | "leaseMs"
  | "address"
  | "runTool"
  | "runModel"
  | "rehearsal"
  | "listeners"
  | "childObservers"
  | "redact"
  | "locals"
> & { readonly graph: AgentGraph };

type Binding = {
  readonly name: string;
  /** The same object for all agents that were made from each other by `with`. */
  readonly lineage: object;
  readonly handoffs: readonly Handoff[];
  /** Compiles the agent for the process of another agent. */
  readonly compile: CompileReached;
};

type CompileReached = (inherited: Inherited, links: FamilyLinks) => CompiledAgent;

/** How agents that are used as tools find the sessions of this process, and how those sessions find their parents. */
export type FamilyLinks = { readonly link: ParentLink; readonly parent: ParentLink | undefined };

const bindings = new WeakMap<object, Binding>();

/** Registers what other agents need to hand over to this agent. */
export function bindAgent(agent: HandoffAgent, binding: Binding): void {
  bindings.set(agent, binding);
}

/**
 * The agents that can be reached, by name, the given one included.
 * @throws PawlError `bad_configuration`
 */
export function findReachableAgents(agent: HandoffAgent): ReadonlyMap<string, HandoffAgent> {
  const own = bindings.get(agent);
  const found = new Map<string, HandoffAgent>([[own?.name ?? agent.options.name ?? "agent", agent]]);
  // A map's iteration includes entries that are added meanwhile.
  for (const [from, reached] of found)
    for (const handoff of bindings.get(reached)?.handoffs ?? []) {
      const next = resolveAgent(from, handoff);
      const known = found.get(handoff.name);
      if (known === undefined) found.set(handoff.name, next);
      else if (getLineage(known) !== getLineage(next)) throw duplicateNameError(handoff.name);
    }
  return found;
}

/** The object that an agent shares with all agents made from it by `with`, and with no other agent. */
export function getLineage(agent: HandoffAgent): object {
  return bindings.get(agent)?.lineage ?? agent;
}

/** Two agents have the same name, so a session that is handed over could continue with either. */
export function duplicateNameError(name: string): PawlError {
  return new PawlError(
    "bad_configuration",
    `Two different agents are named "${name}", and both can be reached through handoffs. Rename one of them, or hand over to the same agent.`,
  );
}

function resolveAgent(from: string, { name, agent }: Handoff): HandoffAgent {
  const found: unknown = agent();
  const binding = typeof found === "object" && found !== null ? bindings.get(found) : undefined;
  if (binding === undefined)
    throw new PawlError(
      "bad_configuration",
      `The handoff of "${from}" to "${name}" does not return an agent. Its option agent must be a function that returns an agent created by createAgent.`,
    );
  if (binding.name !== name)
    throw new PawlError(
      "bad_configuration",
      `The handoff of "${from}" to "${name}" returns an agent that is named "${binding.name}". Make the names the same.`,
    );
  return found as HandoffAgent;
}

/** @param self the agent, and `own` its compiled form. Neither needs to exist before the graph is first used. */
export function createGraph(self: () => HandoffAgent, own: () => CompiledAgent, links: FamilyLinks): AgentGraph {
  const compiled = new Map<string, CompiledAgent>();
  let agents: ReadonlyMap<string, HandoffAgent> | null = null;
  const reachable = () => {
    agents ??= findReachableAgents(self());
    return agents;
  };
  const graph: AgentGraph = {
    names: () => [...reachable().keys()],
    getAgent(name) {
      const first = own();
      if (name === first.name) return first;
      const reached = reachable().get(name);
      const binding = reached === undefined ? undefined : bindings.get(reached);
      if (binding === undefined) return undefined;
      const known = compiled.get(name);
      if (known !== undefined) return known;
      const { store, clock, makeId, leaseMs, listeners, childObservers, redact, locals } = first;
      const { address, runTool, runModel, rehearsal } = first;
      const shared = { store, clock, makeId, leaseMs, ...defined({ address, runTool, runModel, rehearsal }) };
      const inherited = { ...shared, listeners, childObservers, redact, locals, graph };
      const agent = binding.compile(inherited, links);
      compiled.set(name, agent);
      return agent;
    },
    compiled: () => [...compiled.values()],
  };
  return graph;
}

/** Looks up the agents before a run needs them. @throws PawlError `bad_configuration` */
export function checkGraph({ graph }: Pick<CompiledAgent, "graph">): void {
  graph?.names();
}
