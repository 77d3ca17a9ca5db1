/**
 * Plugins of an engine: set up in the order of what they depend on, disposed of in reverse.
 *
 * 1. A plugin is set up after all that it depends on; a cycle or a missing dependency is an error that names the path.
 * 2. Whatever began to be set up is disposed of, once, also where a plugin fails; one that fails in this keeps no other from it.
 * 3. Two plugins never register one name: it would depend on their order which counts.
 */
import { PawlError } from "../errors.js";
import type { Plugin } from "../ports/plugin.js";
import type { Store } from "../ports/store.js";
import { type Contributions, createContributions } from "./contributions.js";

export type PluginManager<ModelLike> = {
  /** The plugins, in the order in which they are set up. */
  readonly plugins: readonly Plugin<ModelLike>[];
  /**
   * Sets them up, one after the other; once.
   * @throws PawlError `plugin_failed` naming the plugin, `duplicate_tool` where two register one tool, `bad_configuration` where they
   *   register another name twice; what a plugin throws as a PawlError as it is
   */
  readonly load: (store: Store) => Promise<Contributions<ModelLike>>;
  /** @throws AggregateError of what plugins threw, after all were disposed of */
  readonly dispose: () => Promise<void>;
};

/** @throws PawlError `bad_configuration` where a plugin is none, two have one name, one is missing, or they depend on each other in a circle */
export function createPluginManager<ModelLike>(plugins: readonly Plugin<ModelLike>[]): PluginManager<ModelLike> {
  const ordered = inOrder(plugins);
  const loaded: Plugin<ModelLike>[] = [];
  let isLoaded = false;

  async function load(store: Store): Promise<Contributions<ModelLike>> {
    if (isLoaded) throw misconfigured("The plugins of this manager were set up already. Make another one.");
    isLoaded = true;
    const { contributions, contextOf } = createContributions<ModelLike>(store);
    for (const plugin of ordered) {
      loaded.push(plugin);
      const { context, close } = contextOf(plugin.name);
      try {
        await plugin.setup(context);
      } catch (error) {
        throw failure(plugin, error, await disposeAll());
      } finally {
        close();
      }
    }
    return contributions;
  }

  /** Gives what was thrown. */
  async function disposeAll(): Promise<readonly unknown[]> {
    const errors: unknown[] = [];
    for (let plugin = loaded.pop(); plugin !== undefined; plugin = loaded.pop())
      try {
        await plugin.dispose?.();
      } catch (error) {
        errors.push(error);
      }
    return errors;
  }

  return {
    plugins: ordered,
    load,
    async dispose() {
      const errors = await disposeAll();
      if (errors.length > 0) throw new AggregateError(errors, "Plugins failed while they were disposed of.");
    },
  };
}

function failure({ name }: Pick<Plugin, "name">, error: unknown, whileDisposing: readonly unknown[]): unknown {
  const why = error instanceof Error ? error.message : String(error);
  if (whileDisposing.length > 0) {
    const cause = new AggregateError(
      [error, ...whileDisposing],
      "The setup failed, and what was disposed of after it.",
    );
    return new PawlError("plugin_failed", `The plugin "${name}" could not be set up: ${why}`, { cause });
  }
  if (error instanceof PawlError) return error;
  return new PawlError("plugin_failed", `The plugin "${name}" could not be set up: ${why}`, { cause: error });
}

function inOrder<ModelLike>(plugins: readonly Plugin<ModelLike>[]): readonly Plugin<ModelLike>[] {
  const byName = new Map<string, Plugin<ModelLike>>();
  for (const plugin of plugins) {
    checkPlugin(plugin);
    if (byName.has(plugin.name)) throw misconfigured(`Two plugins are named "${plugin.name}". Leave one out.`);
    byName.set(plugin.name, plugin);
  }
  const ordered = new Set<Plugin<ModelLike>>();

  function visit(name: string, path: readonly string[]): void {
    const way = [...path, name];
    const plugin = byName.get(name);
    if (plugin === undefined) throw misconfigured(`The plugin "${name}" is missing: ${way.join(" → ")}. Add it.`);
    if (path.includes(name)) {
      const circle = way.slice(path.indexOf(name));
      throw misconfigured(`Plugins depend on each other in a circle: ${circle.join(" → ")}. Take one dependency out.`);
    }
    if (ordered.has(plugin)) return;
    for (const dependency of plugin.dependencies ?? []) visit(dependency, way);
    ordered.add(plugin);
  }

  for (const { name } of plugins) visit(name, []);
  return [...ordered];
}

function checkPlugin<ModelLike>(plugin: Plugin<ModelLike>): void {
  const { name, version, dependencies = [], setup, dispose } = plugin;
  if (typeof name !== "string" || name === "" || name.length > 100)
    throw misconfigured("A plugin has no name. Give it one of 1 to 100 characters.");
  if (typeof version !== "string" || version === "") throw misconfigured(`The plugin "${name}" has no version.`);
  if (typeof setup !== "function" || (dispose !== undefined && typeof dispose !== "function"))
    throw misconfigured(`The plugin "${name}" needs a function as its setup, and as its dispose where it has one.`);
  if (!Array.isArray(dependencies) || !dependencies.every((dependency) => typeof dependency === "string"))
    throw misconfigured(`The dependencies of the plugin "${name}" are no list of names.`);
}

function misconfigured(message: string): PawlError {
  return new PawlError("bad_configuration", message);
}
