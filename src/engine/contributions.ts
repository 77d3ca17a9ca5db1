/**
 * What plugins have registered, and the contexts in which they do.
 */
import { type ErrorCode, PawlError } from "../errors.js";
import type { Hook } from "../ports/hook.js";
import type { Observer } from "../ports/observer.js";
import type { PluginContext } from "../ports/plugin.js";
import type { Services } from "../ports/services.js";
import type { Store } from "../ports/store.js";
import type { AnyTool } from "../ports/tool.js";

/** Everything that plugins have registered, in the order in which they did. */
export type Contributions<ModelLike> = {
  readonly tools: ReadonlyMap<string, AnyTool>;
  readonly hooks: readonly Hook[];
  readonly observers: readonly Observer[];
  readonly models: ReadonlyMap<string, ModelLike>;
  readonly services: ReadonlyMap<string, unknown>;
};

type OpenContext<ModelLike> = {
  readonly context: PluginContext<ModelLike>;
  /** From here on the plugin can register nothing: the agents that it would reach are made. */
  readonly close: () => void;
};

export function createContributions<ModelLike>(store: Store) {
  const owners = new Map<string, string>();
  const tools = new Map<string, AnyTool>();
  const hooks: Hook[] = [];
  const observers: Observer[] = [];
  const models = new Map<string, ModelLike>();
  const services = new Map<string, unknown>();

  function own(what: string, plugin: string, code: ErrorCode): void {
    const other = owners.get(what);
    if (other === plugin) throw new PawlError(code, `The plugin "${plugin}" registers the ${what} twice.`);
    if (other !== undefined)
      throw new PawlError(code, `The plugins "${other}" and "${plugin}" both register the ${what}. Leave one out.`);
    owners.set(what, plugin);
  }

  function contextOf(plugin: string): OpenContext<ModelLike> {
    let isOpen = true;
    function whileOpen(what: string): void {
      if (isOpen) return;
      throw new PawlError(
        "bad_configuration",
        `The plugin "${plugin}" registers the ${what} after its setup. Let setup return a promise, and register before it resolves.`,
      );
    }
    const context: PluginContext<ModelLike> = {
      registerTool(tool) {
        whileOpen(`tool "${tool.name}"`);
        own(`tool "${tool.name}"`, plugin, "duplicate_tool");
        tools.set(tool.name, tool);
      },
      registerHook(hook) {
        whileOpen(`hook "${hook.name}"`);
        hooks.push(hook);
      },
      registerObserver(observer) {
        whileOpen(`observer "${observer.name ?? "observer"}"`);
        observers.push(observer);
      },
      registerModel(name, model) {
        whileOpen(`model "${name}"`);
        own(`model "${name}"`, plugin, "bad_configuration");
        models.set(name, model);
      },
      registerService(name, service) {
        whileOpen(`service "${name}"`);
        own(`service "${name}"`, plugin, "bad_configuration");
        services.set(name, service);
      },
      // What is kept under a name was registered as what that name stands for.
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
  return { contributions, contextOf };
}
