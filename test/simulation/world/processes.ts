/**
 * Processes: agents over the same store, each with its own holder, its own way to the store and its own timers.
 */
import type { Observer } from "../../../src/ports/observer.js";
import type { Holder, Store } from "../../../src/ports/store.js";
import type { AnyTool } from "../../../src/ports/tool.js";
import type { Handoff } from "../../../src/runtime/agent/handoffs.js";
import type { AgentOptions } from "../../../src/runtime/api/agent-options.js";
import { type Agent, buildAgent } from "../../../src/runtime/api/build-agent.js";
import type { AgentDefaults } from "../../../src/runtime/api/compile-agent.js";
import { createRetryPolicy } from "../../../src/runtime/model/retry.js";
import { addProcess, isKilled, leaseMs } from "../../../src/testing/world/processes.js";
import { createProcessStore } from "../../../src/testing/world/store.js";
import { createProcessClock, type Process, type World } from "../../../src/testing/world/world.js";
import { agentNameAt, createDelegateTool, createHandoff, twinNameAt } from "./family.js";

export type ProcessOptions = {
  /** The parts of the agent of a level: its model, its tools. The rest is the world's. */
  readonly createAgentOptions: (
    process: () => Process,
    level: number,
    name: string,
  ) => Pick<
    AgentOptions,
    | "model"
    | "models"
    | "settings"
    | "canExecuteTool"
    | "limits"
    | "hooks"
    | "compaction"
    | "context"
    | "repairToolCall"
  > & {
    readonly tools: readonly AnyTool[];
  };
  /** Whether the processes can see that another one is dead, and take over at once. */
  readonly sameHost: boolean;
  /** How many levels of agents there are below the first one; 0 unless given. */
  readonly depth?: number;
  /** Whether each agent can hand its session over to another one, and that one back. */
  readonly hasTwins?: boolean;
  /** What the other one is shown; all unless given. */
  readonly filterOf?: (process: () => Process) => Handoff["filter"];
  /** How far the clocks of the processes are ahead, one after the other, in milliseconds; [0] unless given. */
  readonly skewsMs?: readonly number[];
};

export function startProcess(world: World, options: ProcessOptions): Process {
  const { skewsMs = [0] } = options;
  const skewMs = skewsMs[world.processes.length % skewsMs.length] ?? 0;
  return addProcess(
    world,
    (self, named) =>
      createAgentFamily(world, options, self, { ...named, store: createProcessStore(world, self), skewMs }),
    skewMs,
  );
}

/** Nobody's process: an agent that reads the store without waiting for turns. It must not be asked for more. */
export function createReader(world: World, options: ProcessOptions): Pick<Agent, "session"> {
  const holder: Holder = { id: "reader", host: "nowhere", pid: 0, startedAt: 0 };
  const self: Process = { name: "reader", holder, agent: undefined as never, status: "gone" };
  return createAgentFamily(world, options, () => self, { name: self.name, holder, store: world.store });
}

function createAgentFamily(
  world: World,
  options: ProcessOptions,
  self: () => Process,
  { name, holder, store, skewMs }: Pick<Process, "name" | "holder" | "skewMs"> & { readonly store: Store },
): Agent {
  const { createAgentOptions, sameHost, depth = 0, hasTwins = false, filterOf = () => undefined } = options;
  const agentDefaults: AgentDefaults<AgentOptions["model"]> = {
    asModel: (model) => model,
    createStore: () => world.store,
    createHolder: () => holder,
    isDead: (other) => sameHost && isKilled(world, other),
    listPrices: {},
    contextWindows: {},
    createOutputTools: () => [],
  };
  const createLevel = (level: number): Agent => {
    const delegates = level < depth ? [createDelegateTool(createLevel(level + 1))] : [];
    const build = (agentName: string, handoffs: readonly Handoff[]): Agent => {
      const { tools, ...others } = createAgentOptions(self, level, agentName);
      const options: AgentOptions = {
        ...others,
        name: agentName,
        tools: [...tools, ...delegates],
        handoffs,
        store,
        clock: createProcessClock(world, self, skewMs),
        makeId: () => `id${world.nextNumber()}`,
        leaseMs,
        retry: createRetryPolicy({ maxRetries: 3 }, world.chance.fraction),
        observers: [{ onEvent: neverSettles, onDelta: neverSettles }, createFactObserver(world, name)],
      };
      return buildAgent(options, agentDefaults);
    };
    const [first, second] = [agentNameAt(level), twinNameAt(level)];
    if (!hasTwins) return build(first, []);
    const filter = filterOf(self);
    const agent: Agent = build(first, [createHandoff(second, () => twin, filter)]);
    const twin = build(second, [createHandoff(first, () => agent, filter)]);
    return agent;
  };
  return createLevel(0);
}

/** An observer that nobody may wait for. */
const neverSettles = () => new Promise<never>(() => {});

function createFactObserver(world: World, process: string): Observer {
  return {
    onEvent({ sessionId, seq, type }) {
      world.record({ type: "told", sessionId, process, event: `${seq} ${type}`, seq });
    },
    onDelta: (delta) =>
      world.record({ type: "delta", sessionId: findSessionOfRun(delta.runId, world), process, delta }),
  };
}

/** A delta does not name its session; the call of the model that streams it does. */
function findSessionOfRun(runId: string, { facts, sessionId }: World): string {
  const modelCall = facts.findLast((fact) => fact.type === "model_called" && fact.request.runId === runId);
  return modelCall?.type === "model_called" ? modelCall.sessionId : sessionId;
}
