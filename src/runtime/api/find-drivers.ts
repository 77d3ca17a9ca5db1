/**
 * Determines which of a worker's agents drives the sessions of each agent.
 */
import { duplicateNameError, findReachableAgents, getLineage } from "../agent/agent-graph.js";
import type { HandoffAgent } from "../agent/handoffs.js";

/**
 * The agent that drives the sessions of each agent name: the one with that name or, if the worker has none, one that
 * reaches it through handoffs.
 * @throws PawlError `bad_configuration`
 */
export function findDriversByName<Agent extends HandoffAgent>(agents: readonly Agent[]): ReadonlyMap<string, Agent> {
  const owners = new Map<string, HandoffAgent>();
  const drivers = new Map<string, Agent>();
  const addDriver = (name: string, owner: HandoffAgent, driver: Agent): void => {
    if (drivers.has(name)) return;
    drivers.set(name, driver);
    owners.set(name, owner);
  };
  for (const agent of agents) addDriver(agent.options.name ?? "agent", agent, agent);
  for (const driver of agents)
    for (const [name, owner] of findReachableAgents(driver)) {
      if (owner === driver) continue;
      const known = owners.get(name);
      if (known !== undefined && getLineage(known) !== getLineage(owner)) throw duplicateNameError(name);
      addDriver(name, owner, driver);
    }
  return drivers;
}
