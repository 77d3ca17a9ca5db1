/**
 * An engine: the agents of a process with the plugins, tools, models and store that they share, and the worker that carries
 * their sessions on.
 *
 * 1. Of two tools with one name, an agent's own beats a plugin's, and a plugin's beats the engine's.
 * 2. Plugins' hooks and observers come before an agent's own, in the order in which they were registered.
 * 3. Plugins are disposed of after the last run has settled, and before a store of the engine's own is closed.
 */
import { PawlError } from "../errors.js";
import type { Plugin } from "../ports/plugin.js";
import type { Store } from "../ports/store.js";
import type { Agent, AgentOptions } from "../runtime/api/build-agent.js";
import { normaliseTools, type Tools } from "../runtime/tools/compile-tools.js";
import type { Contributions } from "./contributions.js";
import { type EngineAgent, type Shared, withShared } from "./engine-agent.js";
import { createPluginManager } from "./plugins.js";
import type { Worker, WorkerOptions } from "./worker.js";

export type EngineOptions<ModelLike> = {
  /** In this order: one may have those before it behind its tools. */
  readonly agents: readonly EngineAgent<ModelLike>[];
  readonly plugins?: readonly Plugin<ModelLike>[];
  /** Tools that every agent has, unless a plugin or the agent itself brings one of the same name. */
  readonly tools?: Tools;
  /** Models by the names that agents may give as theirs; they beat those of plugins. Other names are `provider/model`. */
  readonly models?: { readonly [name: string]: ModelLike };
  /** In memory unless given. One that is given is not closed at the shutdown. */
  readonly store?: Store;
  readonly worker?: Pick<WorkerOptions, "concurrency" | "pollMs" | "onReport">;
};

export type Engine<ModelLike> = {
  /** @throws PawlError `bad_configuration` where there is none of that name */
  readonly agent: (name: string) => Agent<ModelLike>;
  readonly store: Store;
  /** Name and version of the plugins, in the order in which they were set up. */
  readonly plugins: readonly Pick<Plugin, "name" | "version">[];
  /** Carries on the sessions that are due, until none is left. @throws where the store fails */
  readonly recover: () => Promise<void>;
  /** Carries on what falls due, until the shutdown. @throws where the store fails */
  readonly work: () => Promise<void>;
  /**
   * Starts nothing more, waits for what runs (`graceMs`, 5,000), gives its sessions back, and disposes of the plugins; once. What is cut
   * off is `interrupted`, and due again.
   * @throws AggregateError of what plugins threw, after all of this was done
   */
  readonly shutdown: (options?: { readonly graceMs?: number }) => Promise<void>;
};

/** What an engine takes from the place where it is put together. */
export type EngineSurroundings<ModelLike> = {
  readonly createAgent: (options: AgentOptions<ModelLike>) => Agent<ModelLike>;
  readonly createWorker: (options: WorkerOptions) => Worker;
  readonly createStore: () => Store;
  readonly resolveModel: (name: string) => Promise<ModelLike>;
};

export async function buildEngine<ModelLike>(
  options: EngineOptions<ModelLike>,
  surroundings: EngineSurroundings<ModelLike>,
): Promise<Engine<ModelLike>> {
  const manager = createPluginManager(options.plugins ?? []);
  const store = options.store ?? surroundings.createStore();
  const contributions = await manager.load(store);
  let agents: ReadonlyMap<string, Agent<ModelLike>>;
  try {
    agents = await makeAgents(options, store, contributions, surroundings);
  } catch (error) {
    await manager.dispose().catch((cause) => {
      throw new AggregateError(
        [error, cause],
        "The agents could not be made, and plugins failed while they were disposed of.",
      );
    });
    throw error;
  }
  const worker = surroundings.createWorker({ ...options.worker, store, agents: [...agents.values()] });
  let ending: Promise<void> | null = null;

  async function shutDown(graceMs?: number): Promise<void> {
    const grace = graceMs === undefined ? {} : { graceMs };
    const errors: unknown[] = [];
    const note = (error: unknown) => void errors.push(error);
    const ends = [worker.stop(grace), ...[...agents.values()].map((agent) => agent.shutdown(grace))];
    await Promise.all(ends.map((end) => end.catch(note)));
    await manager.dispose().catch(note);
    if (options.store === undefined) await store.close().catch(note);
    if (errors.length > 1) throw new AggregateError(errors, "Several parts of the engine failed while it shut down.");
    if (errors.length === 1) throw errors[0];
  }

  return {
    agent: (name) => agentNamed(name, agents),
    store,
    plugins: manager.plugins.map(({ name, version }) => ({ name, version })),
    recover: worker.runUntilIdle,
    work: worker.run,
    shutdown({ graceMs } = {}) {
      ending ??= shutDown(graceMs);
      return ending;
    },
  };
}

async function makeAgents<ModelLike>(
  { agents, tools = [], models = {} }: EngineOptions<ModelLike>,
  store: Store,
  contributions: Contributions<ModelLike>,
  { createAgent, resolveModel }: EngineSurroundings<ModelLike>,
): Promise<ReadonlyMap<string, Agent<ModelLike>>> {
  const made = new Map<string, Agent<ModelLike>>();
  const shared: Shared<ModelLike> = {
    store,
    tools: [...normaliseTools(tools).values()].map(({ tool }) => tool),
    contributions,
    agentNamed: (name) => agentNamed(name, made),
    async modelNamed(name) {
      if (Object.hasOwn(models, name)) return models[name] as ModelLike;
      return contributions.models.get(name) ?? (await resolveModel(name));
    },
  };
  for (const one of agents) {
    if (made.has(one.name))
      throw new PawlError("bad_configuration", `Two agents are named "${one.name}". Give one of them another name.`);
    made.set(one.name, createAgent(await withShared(one, shared)));
  }
  return made;
}

function agentNamed<ModelLike>(name: string, agents: ReadonlyMap<string, Agent<ModelLike>>): Agent<ModelLike> {
  const found = agents.get(name);
  if (found !== undefined) return found;
  const known = agents.size === 0 ? "none" : [...agents.keys()].join(", ");
  throw new PawlError(
    "bad_configuration",
    `There is no agent "${name}" here; there is ${known}. An agent sees those that stand before it in the engine's list.`,
  );
}
