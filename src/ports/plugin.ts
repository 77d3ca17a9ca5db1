/**
 * The plugin port: what a plugin can add to an engine. Plugins are set up in the order of their dependencies.
 */
import type { Hook } from "./hook.js";
import type { Model } from "./model.js";
import type { Observer } from "./observer.js";
import type { Services } from "./services.js";
import type { Store } from "./store.js";
import type { AnyTool } from "./tool.js";

/**
 * Registers a plugin's parts while its `setup` runs. Every agent of the engine gets them. Each `register…` throws a PawlError:
 * `duplicate_tool` if a plugin has already registered a tool of that name; `bad_configuration` if the name of a model or a service is
 * taken, or if setup is over.
 */
export type PluginContext<ModelLike = Model> = {
  /** Adds a tool to every agent. */
  readonly registerTool: (tool: AnyTool) => void;
  /** Adds a hook to every agent. Plugins' hooks are called before an agent's own, in the order of registration. */
  readonly registerHook: (hook: Hook) => void;
  /** Adds an observer to every agent. */
  readonly registerObserver: (observer: Observer) => void;
  /** Registers a model under a name that agents can use as their `model`. */
  readonly registerModel: (name: string, model: ModelLike) => void;
  /**
   * Registers a service. Tools see it in `context.services`; plugins that are set up later get it from `service`. Under the name of a
   * built-in service (`usage`, `output`, `tokens`, `compaction`), it replaces that service for agents that have not set their own.
   */
  readonly registerService: <Name extends string>(name: Name, service: NonNullable<Services[Name]>) => void;
  /** Returns the service that an earlier plugin has registered under this name; undefined if there is none. */
  readonly service: <Name extends string>(name: Name) => Services[Name] | undefined;
  /** The engine's store. */
  readonly store: Store;
};

export type Plugin<ModelLike = Model> = {
  /** The name by which other plugins depend on it. */
  readonly name: string;
  /** Its version, for people. */
  readonly version: string;
  /** Names of the plugins that must be set up before this plugin. */
  readonly dependencies?: readonly string[];
  /** Sets the plugin up. Counts as failed after two minutes. */
  readonly setup: (context: PluginContext<ModelLike>) => void | Promise<void>;
  /**
   * Releases the plugin's resources. Counts as failed after 10 s. Called once: at the engine's shutdown, or if its own setup or that of a
   * later plugin fails.
   */
  readonly dispose?: () => void | Promise<void>;
};
