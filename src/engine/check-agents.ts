/**
 * Checks the agents of a worker.
 */
import { PawlError } from "../errors.js";
import type { Store } from "../ports/store.js";
import type { WorkingAgent } from "./worker-options.js";

/**
 * Rejects an agent with another store, because it would find none of the worker's sessions. A wrapper that replaces some members of the
 * agent's store still has its `commit`, and is accepted.
 * @throws PawlError `bad_configuration`
 */
export function assertSameStore({ options: { name = "agent", store } }: WorkingAgent, own: Store): void {
  if (store === undefined || store === own || store.commit === own.commit) return;
  throw new PawlError(
    "bad_configuration",
    `The agent "${name}" uses another store than the worker, so it would find none of the worker's sessions. Create the agent with the worker's store: createAgent({ store }). An agent created without a store has its own store in memory.`,
  );
}

/**
 * A session belongs to the name of its agent, so with two agents of one name, only the first would get sessions.
 * @throws PawlError `bad_configuration`
 */
export function assertDistinctNames(agents: readonly WorkingAgent[]): void {
  const names = new Set<string>();
  for (const agent of new Set(agents)) {
    const { name = "agent" } = agent.options;
    if (names.has(name))
      throw new PawlError(
        "bad_configuration",
        `Two agents are named "${name}". Give each its own name, because a session belongs to the agent of its name: createAgent({ name }). The default name is "agent".`,
      );
    names.add(name);
  }
}
