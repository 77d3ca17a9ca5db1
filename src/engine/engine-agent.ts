/**
 * An agent of an engine: its own options, with what it shares with the others.
 */
import type { Services } from "../ports/services.js";
import type { Store } from "../ports/store.js";
import type { AnyTool } from "../ports/tool.js";
import type { Agent, AgentOptions } from "../runtime/api/build-agent.js";
import { type Fallback, isFallback } from "../runtime/model/models.js";
import { listTools, type Tools } from "../runtime/tools/compile-tools.js";
import type { Contributions } from "./contributions.js";

/** It has a name, and the engine's store; where there is a model there may be a model's name. */
export type EngineAgent<ModelLike> = Omit<
  AgentOptions<ModelLike>,
  "name" | "model" | "fallbacks" | "tools" | "store"
> & {
  readonly name: string;
  readonly model: ModelLike | string;
  readonly fallbacks?: readonly (ModelLike | string | Fallback<ModelLike | string>)[];
  /** The tools; or what makes them of other agents of the engine: `(agent) => [agent("researcher").asTool({ … })]`. */
  readonly tools?: Tools | ((agent: (name: string) => Agent<ModelLike>) => Tools);
};

export type Shared<ModelLike> = {
  readonly store: Store;
  /** The engine's. */
  readonly tools: readonly AnyTool[];
  readonly contributions: Contributions<ModelLike>;
  readonly agentNamed: (name: string) => Agent<ModelLike>;
  readonly modelNamed: (name: string) => Promise<ModelLike>;
};

export async function withShared<ModelLike>(
  agent: EngineAgent<ModelLike>,
  shared: Shared<ModelLike>,
): Promise<AgentOptions<ModelLike>> {
  const { model, fallbacks, tools = [], hooks = [], observers = [], ...own } = agent;
  const { contributions, modelNamed } = shared;
  return {
    ...own,
    model: await modelOf(model, modelNamed),
    ...(fallbacks === undefined ? {} : { fallbacks: await fallbacksOf(fallbacks, modelNamed) }),
    tools: toolsFor(typeof tools === "function" ? tools(shared.agentNamed) : tools, shared),
    hooks: [...contributions.hooks, ...hooks],
    observers: [...contributions.observers, ...observers],
    services: servicesFor(agent, contributions.services),
    store: shared.store,
  };
}

function toolsFor<ModelLike>(own: Tools, { tools, contributions }: Shared<ModelLike>): readonly AnyTool[] {
  const ownTools = listTools(own);
  const names = new Set(ownTools.map(({ name }) => name));
  const shared = new Map<string, AnyTool>();
  for (const tool of [...tools, ...contributions.tools.values()]) shared.set(tool.name, tool);
  return [...[...shared.values()].filter(({ name }) => !names.has(name)), ...ownTools];
}

/** The services that every agent has; others are plugins' and agents' own. */
type KnownService = keyof { [Name in keyof Services as string extends Name ? never : Name]: Services[Name] };

/** The setting of an agent that says how it wants a service to be. */
const settings = {
  usage: "usage",
  output: "toolOutput",
  compaction: "compaction",
  tokens: "tokens",
} as const satisfies {
  readonly [Name in KnownService]: keyof AgentOptions;
};

/** A service of a plugin gives way to an agent's own, and to its own setting of it. */
function servicesFor<ModelLike>(
  agent: EngineAgent<ModelLike>,
  services: ReadonlyMap<string, unknown>,
): NonNullable<AgentOptions["services"]> {
  const wanted = new Map(services);
  for (const [name, setting] of Object.entries(settings)) if (agent[setting] !== undefined) wanted.delete(name);
  return { ...Object.fromEntries(wanted), ...agent.services };
}

function modelOf<ModelLike>(
  model: ModelLike | string,
  modelNamed: Shared<ModelLike>["modelNamed"],
): ModelLike | Promise<ModelLike> {
  return typeof model === "string" ? modelNamed(model) : model;
}

function fallbacksOf<ModelLike>(
  fallbacks: NonNullable<EngineAgent<ModelLike>["fallbacks"]>,
  modelNamed: Shared<ModelLike>["modelNamed"],
): Promise<readonly (ModelLike | Fallback<ModelLike>)[]> {
  return Promise.all(
    fallbacks.map(async (fallback): Promise<ModelLike | Fallback<ModelLike>> => {
      if (!isFallback<ModelLike | string>(fallback)) return modelOf(fallback, modelNamed);
      return { ...fallback, model: await modelOf(fallback.model, modelNamed) };
    }),
  );
}
