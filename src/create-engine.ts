/**
 * `createEngine` with its defaults: it runs in this process, and looks models up by name in the registry.
 */
import { type AnyModel, createAgent } from "./create-agent.js";
import { createWorker } from "./create-worker.js";
import { type Engine as Built, buildEngine, type EngineOptions as Options } from "./engine/engine.js";
import type { EngineAgent as AgentOf } from "./engine/engine-agent.js";
import { resolveModel } from "./models/registry/registry.js";
import type { PluginContext as ContextOf, Plugin as PluginOf } from "./ports/plugin.js";
import { createMemoryStore } from "./stores/memory/index.js";

export type EngineOptions = Options<AnyModel>;
export type EngineAgent = AgentOf<AnyModel>;
export type Engine = Built<AnyModel>;
export type Plugin = PluginOf<AnyModel>;
export type PluginContext = ContextOf<AnyModel>;

/**
 * Creates an engine: sets up its plugins, then creates its agents.
 * @throws PawlError `bad_configuration`, `duplicate_tool` or `plugin_failed`; `unknown_model` or `missing_package` if
 *   an agent's model is a name
 */
export function createEngine(options: EngineOptions): Promise<Engine> {
  return buildEngine(options, { createAgent, createWorker, createStore: createMemoryStore, resolveModel });
}
