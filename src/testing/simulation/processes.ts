/**
 * Processes: agents over the same store, each with its own owner, its own way to the store and its own timers.
 */
import type { Owner } from "../../ports/store.js";
import { type AgentOptions, buildAgent } from "../../runtime/agent.js";
import { createRetryPolicy } from "../../runtime/retry.js";
import { storeOf } from "./store.js";
import { clockOf, type Process, type World } from "./world.js";

export const leaseMs = 1_000;

export type ProcessOptions = {
  /** The agent's parts: its model, its tools. The rest is the world's. */
  readonly parts: (process: () => Process) => Pick<AgentOptions, "model" | "tools" | "canExecuteTool" | "limits">;
  /** Whether the processes can see that another one is dead, and take over at once. */
  readonly sameHost: boolean;
};

export function startProcess(world: World, { parts, sameHost }: ProcessOptions): Process {
  const name = `p${world.processes.length + 1}`;
  const owner: Owner = { id: name, host: "simulated", pid: world.processes.length + 1, startedAt: 0 };
  const self = () => process;
  const agent = buildAgent(
    {
      ...parts(self),
      store: storeOf(world, self),
      clock: clockOf(world, self),
      makeId: () => `id${world.number()}`,
      leaseMs,
      retry: createRetryPolicy({ maxRetries: 3 }, world.chance.fraction),
      observers: [{ onDelta: (delta) => world.note({ type: "delta", process: name, delta }) }],
    },
    {
      asModel: (model) => model,
      createStore: () => world.store,
      createOwner: () => owner,
      isDead: ({ id }) => sameHost && world.processes.some((one) => one.name === id && one.status === "killed"),
    },
  );
  const process: Process = { name, owner, agent, status: "running" };
  world.processes.push(process);
  world.note({ type: "process", process: name, what: "started" });
  return process;
}
