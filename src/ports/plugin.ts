/**
 * The plugin port: what others add to an engine, set up in the order of what they depend on.
 */
import type { Hook } from "./hook.js";
import type { Model } from "./model.js";
import type { Observer } from "./observer.js";
import type { Services } from "./services.js";
import type { Store } from "./store.js";
import type { AnyTool } from "./tool.js";

/**
 * What a plugin may add, while its `setup` runs. It reaches every agent of the engine.
 * Each `register…` throws a PawlError: `duplicate_tool` where another plugin has a tool of that name, `bad_configuration`
 * where a model's or a service's name is taken, or the setup is over.
 */
export type PluginContext<ModelLike = Model> = {
  readonly registerTool: (tool: AnyTool) => void;
  /** Called before the hooks of an agent, in the order of registration. */
  readonly registerHook: (hook: Hook) => void;
  readonly registerObserver: (observer: Observer) => void;
  /** A model by a name that agents may give as theirs. */
  readonly registerModel: (name: string, model: ModelLike) => void;
  /**
   * Something of the plugin's own, which tools see as `context.services` and plugins set up later by `service`. By the
   * name of one of the agents' services (`usage`, `output`, `tokens`, `compaction`) it replaces that one, where an agent has not set its own.
   */
  readonly registerService: <Name extends string>(name: Name, service: NonNullable<Services[Name]>) => void;
  /** What a plugin that was set up before has registered; undefined where none has. */
  readonly service: <Name extends string>(name: Name) => Services[Name] | undefined;
  /** The engine's store. */
  readonly store: Store;
};

export type Plugin<ModelLike = Model> = {
  readonly name: string;
  readonly version: string;
  /** Names of plugins that are set up before this one. */
  readonly dependencies?: readonly string[];
  readonly setup: (context: PluginContext<ModelLike>) => void | Promise<void>;
  /** Called once: at the engine's shutdown, or where its own setup or that of a later plugin fails. */
  readonly dispose?: () => void | Promise<void>;
};
