/**
 * An agent for commands that read and change sessions and run nothing. It is in a separate file because such commands need neither
 * tools nor permissions.
 */
import { type Agent, createAgent, type Model, PawlError, type Store } from "../../index.js";
import { agentName } from "./agent-name.js";

/**
 * An agent that reads, forks and aborts sessions, and runs nothing. Its name must be that of the agent that the sessions belong
 * to.
 */
export function createPassiveAgent(store: Store, name = agentName): Agent {
  return createAgent({ name, store, model: silentModel });
}

/** For agents that never call a model. It has a price, so that agents with a limit in dollars can be created. */
export const silentModel: Model = {
  id: "none",
  price: { input: 0, output: 0 },
  // biome-ignore lint/correctness/useYield: it only throws.
  async *stream() {
    throw new PawlError("internal", "A command that only reads sessions tried to call a model. Please report this.");
  },
};
