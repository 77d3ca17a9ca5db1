/**
 * The options of an engine's agent: its own, merged with the ones that all agents of the engine share.
 */
import type { Services } from "../ports/services.js";
import type { Store } from "../ports/store.js";
import type { AnyTool } from "../ports/tool.js";
import type { AgentOptions } from "../runtime/api/agent-options.js";
import type { Agent } from "../runtime/api/build-agent.js";
import { type Fallback, isFallback } from "../runtime/model/models.js";
import { listTools, type Tools } from "../runtime/tools/compile-tools.js";
import type { Contributions } from "./contributions.js";

/** The options of `createAgent`, except that a name is required, the store is the engine's, and models can be names. */
export type EngineAgent<ModelLike> = Omit<
  AgentOptions<ModelLike>,
  "name" | "model" | "models" | "fallbacks" | "tools" | "store"
> & {
  /** Sessions belong to the agent of this name. It is unique in the engine. */
  readonly name: string;
  /** A model, or a model's name: one that the engine or a plugin registers, or `provider/model`. */
  readonly model: ModelLike | string;
  /** Models that a run or a hook can choose by name. Each is given in the same way as `model`. */
  readonly models?: { readonly [name: string]: ModelLike | string | Fallback<ModelLike | string> };
  /** Models to try in order. Each is given in the same way as `model`. */
  readonly fallbacks?: readonly (ModelLike | string | Fallback<ModelLike | string>)[];
  /**
   * The tools, or a function that returns them. The function gets the engine's earlier agents by name:
   * `(agent) => [agent("researcher").asTool({ … })]`.
   */
  readonly tools?: Tools | ((agent: (name: string) => Agent<ModelLike>) => Tools);
};

export type SharedDeps<ModelLike> = {
  readonly store: Store;
  /** The engine's own tools. */
  readonly tools: readonly AnyTool[];
  readonly contributions: Contributions<ModelLike>;
  readonly getAgent: (name: string) => Agent<ModelLike>;
  readonly findModel: (name: string) => Promise<ModelLike>;
};

export async function resolveAgentOptions<ModelLike>(
  agent: EngineAgent<ModelLike>,
  shared: SharedDeps<ModelLike>,
): Promise<AgentOptions<ModelLike>> {
  const { model, models, fallbacks, tools = [], hooks = [], observers = [], ...ownOptions } = agent;
  const { contributions, findModel } = shared;
  return {
    ...ownOptions,
    model: await resolveModel(model, findModel),
    ...(models === undefined ? {} : { models: await resolveNamedModels(models, findModel) }),
    ...(fallbacks === undefined ? {} : { fallbacks: await resolveFallbacks(fallbacks, findModel) }),
    tools: mergeTools(typeof tools === "function" ? tools(shared.getAgent) : tools, shared),
    hooks: [...contributions.hooks, ...hooks],
    observers: [...contributions.observers, ...observers],
    services: mergeServices(agent, contributions.services),
    store: shared.store,
  };
}

function mergeTools<ModelLike>(agentTools: Tools, { tools, contributions }: SharedDeps<ModelLike>): readonly AnyTool[] {
  const ownTools = listTools(agentTools);
  const names = new Set(ownTools.map(({ name }) => name));
  const shared = new Map<string, AnyTool>();
  for (const tool of [...tools, ...contributions.tools.values()]) shared.set(tool.name, tool);
  return [...[...shared.values()].filter(({ name }) => !names.has(name)), ...ownTools];
}

/** The names of the built-in services. All other names are those of plugins and agents. */
type BuiltInService = keyof { [Name in keyof Services as string extends Name ? never : Name]: Services[Name] };

/** The agent option that configures each built-in service. */
const serviceOptions = {
  usage: "usage",
  output: "toolOutput",
  compaction: "compaction",
  tokens: "tokens",
} as const satisfies {
  readonly [Name in BuiltInService]: keyof AgentOptions;
};

/** The agent's own services, and the options that configure a service, take precedence over a plugin's services. */
function mergeServices<ModelLike>(
  agent: EngineAgent<ModelLike>,
  services: ReadonlyMap<string, unknown>,
): NonNullable<AgentOptions["services"]> {
  const inherited = new Map(services);
  for (const [name, option] of Object.entries(serviceOptions)) if (agent[option] !== undefined) inherited.delete(name);
  return { ...Object.fromEntries(inherited), ...agent.services };
}

function resolveModel<ModelLike>(
  model: ModelLike | string,
  findModel: SharedDeps<ModelLike>["findModel"],
): ModelLike | Promise<ModelLike> {
  return typeof model === "string" ? findModel(model) : model;
}

function resolveFallbacks<ModelLike>(
  fallbacks: NonNullable<EngineAgent<ModelLike>["fallbacks"]>,
  findModel: SharedDeps<ModelLike>["findModel"],
): Promise<readonly (ModelLike | Fallback<ModelLike>)[]> {
  return Promise.all(fallbacks.map((fallback) => resolveFallback(fallback, findModel)));
}

async function resolveNamedModels<ModelLike>(
  models: NonNullable<EngineAgent<ModelLike>["models"]>,
  findModel: SharedDeps<ModelLike>["findModel"],
): Promise<NonNullable<AgentOptions<ModelLike>["models"]>> {
  const modelEntries = Object.entries(models).map(
    async ([name, model]) => [name, await resolveFallback(model, findModel)] as const,
  );
  return Object.fromEntries(await Promise.all(modelEntries));
}

async function resolveFallback<ModelLike>(
  fallback: ModelLike | string | Fallback<ModelLike | string>,
  findModel: SharedDeps<ModelLike>["findModel"],
): Promise<ModelLike | Fallback<ModelLike>> {
  if (!isFallback<ModelLike | string>(fallback)) return resolveModel(fallback, findModel);
  return { ...fallback, model: await resolveModel(fallback.model, findModel) };
}
