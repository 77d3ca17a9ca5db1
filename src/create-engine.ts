/**
 * `createEngine`, in this process: models by name are those of the registry.
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
 * Makes an engine: sets its plugins up, and makes its agents.
 * @throws PawlError `bad_configuration`, `duplicate_tool`, `plugin_failed`; `unknown_model`, `missing_package` where a model is named
 */
export function createEngine(options: EngineOptions): Promise<Engine> {
  return buildEngine(options, { createAgent, createWorker, createStore: createMemoryStore, resolveModel });
}
