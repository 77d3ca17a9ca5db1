/**
 * Processes: agents over the same store, each with its own holder, its own way to the store and its own timers.
 */
import type { Observer } from "../../ports/observer.js";
import type { Holder } from "../../ports/store.js";
import { type AgentOptions, buildAgent } from "../../runtime/api/build-agent.js";
import { createRetryPolicy } from "../../runtime/model/retry.js";
import { storeOf } from "./store.js";
import { clockOf, type Process, type World } from "./world.js";

export const leaseMs = 1_000;

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

/** Whether the process that a holder stands for was killed. */
export function isKilled({ processes }: World, { id }: Holder): boolean {
  return processes.some((one) => one.name === id && one.status === "killed");
}

/** Another process, with what `build` makes for it. */
export function enterWorld(
  world: World,
  build: (self: () => Process, named: Pick<Process, "name" | "holder">) => Process["agent"],
): Process {
  const pid = world.processes.length + 1;
  const name = `p${pid}`;
  const holder: Holder = { id: name, host: "simulated", pid, startedAt: 0 };
  const agent = build(() => process, { name, holder });
  const process: Process = { name, holder, agent, status: "running" };
  world.processes.push(process);
  world.note({ type: "process", process: name, what: "started" });
  return process;
}
