/**
 * Processes: agents over the same store, each with its own holder, its own way to the store and its own timers.
 */
import type { Observer } from "../../../src/ports/observer.js";
import type { AgentOptions } from "../../../src/runtime/api/agent-options.js";
import { buildAgent } from "../../../src/runtime/api/build-agent.js";
import { createRetryPolicy } from "../../../src/runtime/model/retry.js";
import { enterWorld, isKilled, leaseMs } from "../../../src/testing/world/processes.js";
import { storeOf } from "../../../src/testing/world/store.js";
import { clockOf, type Process, type World } from "../../../src/testing/world/world.js";

export type ProcessOptions = {
  /** The agent's parts: its model, its tools. The rest is the world's. */
  readonly parts: (
    process: () => Process,
  ) => Pick<AgentOptions, "model" | "tools" | "canExecuteTool" | "limits" | "hooks" | "compaction">;
  /** Whether the processes can see that another one is dead, and take over at once. */
  readonly sameHost: boolean;
};

export function startProcess(world: World, { parts, sameHost }: ProcessOptions): Process {
  return enterWorld(world, (self, { holder, name }) =>
    buildAgent(
      {
        ...parts(self),
        store: storeOf(world, self),
        clock: clockOf(world, self),
        makeId: () => `id${world.number()}`,
        leaseMs,
        retry: createRetryPolicy({ maxRetries: 3 }, world.chance.fraction),
        observers: [{ onEvent: never, onDelta: never }, watching(world, name)],
      },
      {
        asModel: (model) => model,
        createStore: () => world.store,
        createHolder: () => holder,
        isDead: (other) => sameHost && isKilled(world, other),
        listPrices: {},
        contextWindows: {},
        createOutputTools: () => [],
      },
    ),
  );
}

/** An observer that nobody may wait for. */
const never = () => new Promise<never>(() => {});

function watching({ note, sessionId }: World, process: string): Observer {
  return {
    onEvent(event) {
      if (event.sessionId === sessionId)
        note({ type: "told", process, event: `${event.seq} ${event.type}`, seq: event.seq });
    },
    onDelta: (delta) => note({ type: "delta", process, delta }),
  };
}
