/**
 * The engine: the agents of a process, the plugins, tools, models and store that they share, and the worker that drives
 * their sessions.
 *
 * 1. If tools have the same name, an agent's own tool takes precedence over a plugin's, and a plugin's over the engine's.
 * 2. Plugins' hooks and observers come before an agent's own, in the order of registration.
 * 3. Plugins are disposed of after the last run has settled, and before the engine closes a store that it has created.
 */

import { anArray, anObject, anyValue, aStore, checkOptions, type OptionTable, required } from "../check-options.js";
import { deepFreeze } from "../core/data/freeze.js";
import { PawlError } from "../errors.js";
import type { Plugin } from "../ports/plugin.js";
import type { Store } from "../ports/store.js";
import type { AgentOptions } from "../runtime/api/agent-options.js";
import type { Agent } from "../runtime/api/build-agent.js";
import { normaliseTools, type Tools } from "../runtime/tools/compile-tools.js";
import type { Contributions } from "./contributions.js";
import { type EngineAgent, resolveAgentOptions, type SharedDeps } from "./engine-agent.js";
import { createPluginManager } from "./plugins.js";
import { checkGrace, type Worker, type WorkerOptions, workerOptionRules } from "./worker-options.js";

export type EngineOptions<ModelLike> = {
  /** Created in this order. An agent can have earlier agents as tools. */
  readonly agents: readonly EngineAgent<ModelLike>[];
  /** The plugins, set up in the order of their dependencies. Default: none. */
  readonly plugins?: readonly Plugin<ModelLike>[];
  /** Tools of every agent, unless a plugin or the agent itself has a tool of the same name. */
  readonly tools?: Tools;
  /**
   * Models by the names that agents can use. They take precedence over plugins' models. Any other name is looked up as
   * `provider/model`.
   */
  readonly models?: { readonly [name: string]: ModelLike };
  /** Default: a new store in memory. `shutdown` does not close a store that you pass in. */
  readonly store?: Store;
  /** Options of the engine's worker. */
  readonly worker?: Pick<WorkerOptions, "concurrency" | "pollMs" | "notices" | "onReport">;
};

export type Engine<ModelLike> = {
  /** @throws PawlError `bad_configuration` if the engine has no agent of that name */
  readonly agent: (name: string) => Agent<ModelLike>;
  /** The agents, in the order of creation. */
  readonly agents: readonly Agent<ModelLike>[];
  readonly store: Store;
  /** The names and versions of the plugins, in the order of setup. */
  readonly plugins: readonly Pick<Plugin, "name" | "version">[];
  /** Drives due sessions until none is left. @throws PawlError if the store fails */
  readonly recover: () => Promise<void>;
  /** Drives sessions as they become due, until the shutdown. @throws PawlError if the store fails */
  readonly work: () => Promise<void>;
  /**
   * Starts no more runs, waits up to `graceMs` (milliseconds, default: 5,000) for the active runs, releases the
   * sessions, and disposes of the plugins. A run that does not settle in time ends as `interrupted`, and its session is
   * due again. Further calls return the same promise.
   * @throws the error of the part that failed to shut down, or an AggregateError of several, after all parts have shut down
   */
  readonly shutdown: (options?: { readonly graceMs?: number }) => Promise<void>;
};

/** The functions that `createEngine` passes in. */
export type EngineDeps<ModelLike> = {
  readonly createAgent: (options: AgentOptions<ModelLike>) => Agent<ModelLike>;
  readonly createWorker: (options: WorkerOptions) => Worker;
  readonly createStore: () => Store;
  readonly resolveModel: (name: string) => Promise<ModelLike>;
};

const engineRules: OptionTable<EngineOptions<unknown>> = {
  agents: required(anArray),
  plugins: anArray,
  tools: anyValue,
  models: anObject,
  store: aStore,
  worker: anObject,
};

const { concurrency, pollMs, notices, onReport } = workerOptionRules;
const workerRules: OptionTable<NonNullable<EngineOptions<unknown>["worker"]>> = {
  concurrency,
  pollMs,
  notices,
  onReport,
};

export async function buildEngine<ModelLike>(
  options: EngineOptions<ModelLike>,
  deps: EngineDeps<ModelLike>,
): Promise<Engine<ModelLike>> {
  checkOptions<object>("createEngine()", engineRules, options, { otherNames: { name: "agents" } });
  if (options.worker !== undefined) checkOptions("worker", workerRules, options.worker);
  const manager = createPluginManager(options.plugins ?? []);
  const store = options.store ?? deps.createStore();
  const contributions = await manager.load(store);
  let agents: ReadonlyMap<string, Agent<ModelLike>>;
  try {
    agents = await createAgents(options, store, contributions, deps);
  } catch (error) {
    await manager.dispose().catch((cause) => {
      throw new AggregateError(
        [error, cause],
        "The engine could not create its agents, and then could not dispose of its plugins. See `errors` for the causes.",
      );
    });
    throw error;
  }
  const worker = deps.createWorker({ ...options.worker, store, agents: [...agents.values()] });
  let shutdownPromise: Promise<void> | null = null;

  async function shutDownAll(graceMs?: number): Promise<void> {
    const grace = graceMs === undefined ? {} : { graceMs };
    const errors: unknown[] = [];
    const collect = (error: unknown) => void errors.push(error);
    const shutdowns = [worker.stop(grace), ...[...agents.values()].map((agent) => agent.shutdown(grace))];
    await Promise.all(shutdowns.map((shutdown) => shutdown.catch(collect)));
    await manager.dispose().catch(collect);
    if (options.store === undefined) await store.close().catch(collect);
    if (errors.length > 1)
      throw new AggregateError(errors, "Several parts of the engine failed to shut down. See `errors` for the causes.");
    if (errors.length === 1) throw errors[0];
  }

  return {
    agent: (name) => getAgent(name, agents),
    agents: Object.freeze([...agents.values()]),
    store,
    plugins: deepFreeze(manager.plugins.map(({ name, version }) => ({ name, version }))),
    recover: worker.runUntilIdle,
    work: worker.run,
    shutdown(options = {}) {
      checkGrace("shutdown()", options);
      const { graceMs } = options;
      shutdownPromise ??= shutDownAll(graceMs);
      return shutdownPromise;
    },
  };
}

async function createAgents<ModelLike>(
  { agents, tools = [], models = {} }: EngineOptions<ModelLike>,
  store: Store,
  contributions: Contributions<ModelLike>,
  { createAgent, resolveModel }: EngineDeps<ModelLike>,
): Promise<ReadonlyMap<string, Agent<ModelLike>>> {
  const agentsByName = new Map<string, Agent<ModelLike>>();
  const shared: SharedDeps<ModelLike> = {
    store,
    tools: [...normaliseTools(tools).values()].map(({ tool }) => tool),
    contributions,
    getAgent: (name) => getAgent(name, agentsByName),
    async findModel(name) {
      if (Object.hasOwn(models, name)) return models[name] as ModelLike;
      return contributions.models.get(name) ?? (await resolveModel(name));
    },
  };
  for (const agent of agents) {
    if ("options" in agent && "session" in agent)
      throw new PawlError(
        "bad_configuration",
        "createEngine() creates its agents. Pass the options of each agent in the list, not the result of createAgent(), or give that to createWorker({ agents }).",
      );
    if (agentsByName.has(agent.name))
      throw new PawlError("bad_configuration", `Two agents are named "${agent.name}". Rename one of them.`);
    if ("store" in agent && agent.store !== undefined && agent.store !== store)
      throw new PawlError(
        "bad_configuration",
        `The agent "${agent.name}" has its own \`store\`. All agents of an engine use the engine's store: pass it to createEngine({ store }).`,
      );
    agentsByName.set(agent.name, createAgent(await resolveAgentOptions(agent, shared)));
  }
  return agentsByName;
}

function getAgent<ModelLike>(name: string, agents: ReadonlyMap<string, Agent<ModelLike>>): Agent<ModelLike> {
  const match = agents.get(name);
  if (match !== undefined) return match;
  const knownNames =
    agents.size === 0 ? "The engine has no agents yet" : `Known agents: ${[...agents.keys()].join(", ")}`;
  throw new PawlError(
    "bad_configuration",
    `There is no agent "${name}". ${knownNames}. An agent can use only agents that come before it in the engine's list.`,
  );
}
