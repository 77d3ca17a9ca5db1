/**
 * Collects what plugins register, and gives each plugin a context to register in.
 */
import { type ErrorCode, PawlError } from "../errors.js";
import type { Hook } from "../ports/hook.js";
import type { Observer } from "../ports/observer.js";
import type { PluginContext } from "../ports/plugin.js";
import type { Services } from "../ports/services.js";
import type { Store } from "../ports/store.js";
import type { AnyTool } from "../ports/tool.js";

/** Everything that plugins have registered, in the order of registration. */
export type Contributions<ModelLike> = {
  /** The tools, by their names. */
  readonly tools: ReadonlyMap<string, AnyTool>;
  /** The hooks. */
  readonly hooks: readonly Hook[];
  /** The observers. */
  readonly observers: readonly Observer[];
  /** The models, by their names. */
  readonly models: ReadonlyMap<string, ModelLike>;
  /** The services, by their names. */
  readonly services: ReadonlyMap<string, unknown>;
};

type PluginScope<ModelLike> = {
  readonly context: PluginContext<ModelLike>;
  /** Ends the registration: the agents are created once, after all setups. */
  readonly close: () => void;
};

export function createContributions<ModelLike>(store: Store) {
  const owners = new Map<string, string>();
  const tools = new Map<string, AnyTool>();
  const hooks: Hook[] = [];
  const observers: Observer[] = [];
  const models = new Map<string, ModelLike>();
  const services = new Map<string, unknown>();

  function claimName(label: string, plugin: string, code: ErrorCode): void {
    const owner = owners.get(label);
    if (owner === plugin)
      throw new PawlError(code, `The plugin "${plugin}" registers the ${label} twice. Register it once.`);
    if (owner !== undefined)
      throw new PawlError(
        code,
        `The plugins "${owner}" and "${plugin}" both register the ${label}. Remove one of them.`,
      );
    owners.set(label, plugin);
  }

  function openContext(plugin: string): PluginScope<ModelLike> {
    let isOpen = true;
    function assertOpen(label: string): void {
      if (isOpen) return;
      throw new PawlError(
        "bad_configuration",
        `The plugin "${plugin}" registered the ${label} after its setup had ended. Return a promise from setup, and register before it resolves.`,
      );
    }
    const context: PluginContext<ModelLike> = {
      registerTool(tool) {
        assertOpen(`tool "${tool.name}"`);
        claimName(`tool "${tool.name}"`, plugin, "duplicate_tool");
        tools.set(tool.name, tool);
      },
      registerHook(hook) {
        assertOpen(`hook "${hook.name}"`);
        hooks.push(hook);
      },
      registerObserver(observer) {
        assertOpen(`observer "${observer.name ?? "observer"}"`);
        observers.push(observer);
      },
      registerModel(name, model) {
        assertOpen(`model "${name}"`);
        claimName(`model "${name}"`, plugin, "bad_configuration");
        models.set(name, model);
      },
      registerService(name, service) {
        assertOpen(`service "${name}"`);
        claimName(`service "${name}"`, plugin, "bad_configuration");
        services.set(name, service);
      },
      // The type is right: registerService accepts a service only with the type of its name.
      service: <Name extends string>(name: Name) => services.get(name) as Services[Name] | undefined,
      store,
    };
    return {
      context,
      close() {
        isOpen = false;
      },
    };
  }

  const contributions: Contributions<ModelLike> = { tools, hooks, observers, models, services };
  return { contributions, contextOf: openContext };
}
