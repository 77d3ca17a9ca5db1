/**
 * Processes: agents over the same store, each with its own holder, its own way to the store and its own timers.
 */
import type { Observer } from "../../../src/ports/observer.js";
import type { Holder, Store } from "../../../src/ports/store.js";
import type { AnyTool } from "../../../src/ports/tool.js";
import type { Handoff } from "../../../src/runtime/agent/handoffs.js";
import type { AgentOptions } from "../../../src/runtime/api/agent-options.js";
import { type Agent, buildAgent } from "../../../src/runtime/api/build-agent.js";
import type { AgentDefaults } from "../../../src/runtime/api/compile-parts.js";
import { createRetryPolicy } from "../../../src/runtime/model/retry.js";
import { enterWorld, isKilled, leaseMs } from "../../../src/testing/world/processes.js";
import { storeOf } from "../../../src/testing/world/store.js";
import { clockOf, type Process, type World } from "../../../src/testing/world/world.js";
import { asDelegate, handoffTo, nameAt, twinAt } from "./family.js";

export type ProcessOptions = {
  /** The parts of the agent of a level: its model, its tools. The rest is the world's. */
  readonly parts: (
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
};

export function startProcess(world: World, options: ProcessOptions): Process {
  return enterWorld(world, (self, named) => agentOf(world, options, self, { ...named, store: storeOf(world, self) }));
}

/** Nobody's process: an agent that reads the store without waiting for turns. It must not be asked for more. */
export function createReader(world: World, options: ProcessOptions): Pick<Agent, "session"> {
  const holder: Holder = { id: "reader", host: "nowhere", pid: 0, startedAt: 0 };
  const self: Process = { name: "reader", holder, agent: undefined as never, status: "gone" };
  return agentOf(world, options, () => self, { name: self.name, holder, store: world.store });
}

function agentOf(
  world: World,
  options: ProcessOptions,
  self: () => Process,
  { name, holder, store }: Pick<Process, "name" | "holder"> & { readonly store: Store },
): Agent {
  const { parts, sameHost, depth = 0, hasTwins = false, filterOf = () => undefined } = options;
  const surroundings: AgentDefaults<AgentOptions["model"]> = {
    asModel: (model) => model,
    createStore: () => world.store,
    createHolder: () => holder,
    isDead: (other) => sameHost && isKilled(world, other),
    listPrices: {},
    contextWindows: {},
    createOutputTools: () => [],
  };
  const agentAt = (level: number): Agent => {
    const below = level < depth ? [asDelegate(agentAt(level + 1))] : [];
    const build = (own: string, handoffs: readonly Handoff[]): Agent => {
      const { tools, ...others } = parts(self, level, own);
      const options: AgentOptions = {
        ...others,
        name: own,
        tools: [...tools, ...below],
        handoffs,
        store,
        clock: clockOf(world, self),
        makeId: () => `id${world.number()}`,
        leaseMs,
        retry: createRetryPolicy({ maxRetries: 3 }, world.chance.fraction),
        observers: [{ onEvent: never, onDelta: never }, watching(world, name)],
      };
      return buildAgent(options, surroundings);
    };
    const [first, second] = [nameAt(level), twinAt(level)];
    if (!hasTwins) return build(first, []);
    const filter = filterOf(self);
    const agent: Agent = build(first, [handoffTo(second, () => twin, filter)]);
    const twin = build(second, [handoffTo(first, () => agent, filter)]);
    return agent;
  };
  return agentAt(0);
}

/** An observer that nobody may wait for. */
const never = () => new Promise<never>(() => {});

function watching(world: World, process: string): Observer {
  return {
    onEvent({ sessionId, seq, type }) {
      world.note({ type: "told", sessionId, process, event: `${seq} ${type}`, seq });
    },
    onDelta: (delta) => world.note({ type: "delta", sessionId: sessionOf(delta.runId, world), process, delta }),
  };
}

/** A delta does not name its session; the call of the model that streams it does. */
function sessionOf(runId: string, { facts, sessionId }: World): string {
  const called = facts.findLast((fact) => fact.type === "model_called" && fact.request.runId === runId);
  return called?.type === "model_called" ? called.sessionId : sessionId;
}
