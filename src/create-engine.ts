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

/** The options of `createEngine`. */
export type EngineOptions = Options<AnyModel>;
/** The options of an agent of an engine. It gets its store from the engine, and may name its model. */
export type EngineAgent = AgentOf<AnyModel>;
/** Agents, plugins and a worker over one store. */
export type Engine = Built<AnyModel>;
/** Adds tools, hooks, observers, models and services to the agents of an engine. */
export type Plugin = PluginOf<AnyModel>;
/** Passed to the setup of a plugin, which registers its parts with it. */
export type PluginContext = ContextOf<AnyModel>;

/**
 * Creates an engine: sets up its plugins, then creates its agents.
 * @throws PawlError `bad_configuration`, `duplicate_tool` or `plugin_failed`; `unknown_model` or `missing_package` if
 *   an agent's model is a name
 *
 * @example
 * ```ts
 * const engine = await createEngine({
 *   store: await openSqliteStore({ path: "sessions.db" }),
 *   tools: [clock],
 *   agents: [{ name: "writer", model: "anthropic/claude-sonnet-5-5", systemPrompt: "You write letters." }],
 * });
 * const result = await engine.agent("writer").run("Thank Ada for the book.");
 * await engine.shutdown();
 * ```
 */
export function createEngine(options: EngineOptions): Promise<Engine> {
  return buildEngine(options, { createAgent, createWorker, createStore: createMemoryStore, resolveModel });
}
