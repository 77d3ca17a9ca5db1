/**
 * The plugins of an engine: set up in the order of their dependencies, disposed of in reverse.
 *
 * 1. A plugin is set up after all of its dependencies. A cycle or a missing dependency is an error that names the path.
 * 2. Each plugin whose setup has begun is disposed of once, even if its setup failed. If one dispose fails, the others
 *    still run.
 * 3. A plugin's setup fails after two minutes, and its dispose after 10 s.
 * 4. Two plugins cannot register the same name, because their order would then decide which of the two is used.
 */

import { anyValue, checkPlainOptions, type OptionTable } from "../check-options.js";
import { getErrorMessage } from "../core/data/error-message.js";
import { PawlError } from "../errors.js";
import type { Plugin } from "../ports/plugin.js";
import type { Store } from "../ports/store.js";
import { systemClock } from "../runtime/lib/clock.js";
import { type Contributions, createContributions } from "./contributions.js";

/** Sets plugins up and disposes of them. */
export type PluginManager<ModelLike> = {
  /** The plugins, in the order of setup. */
  readonly plugins: readonly Plugin<ModelLike>[];
  /**
   * Sets the plugins up, one after the other. A second call throws.
   * @throws PawlError `plugin_failed` with the plugin's name; `duplicate_tool` if two plugins register the same tool;
   *   `bad_configuration` if two plugins register the same model or service; a PawlError that a plugin throws,
   *   unchanged
   */
  readonly load: (store: Store) => Promise<Contributions<ModelLike>>;
  /**
   * Disposes of the plugins that were set up, in reverse order.
   * @throws AggregateError of the errors that plugins threw, after all plugins were disposed of
   */
  readonly dispose: () => Promise<void>;
};

/**
 * Orders plugins by their dependencies.
 *
 * @throws PawlError `bad_configuration` if a plugin is invalid, two have the same name, a dependency is missing, or
 *   dependencies form a cycle
 */
export function createPluginManager<ModelLike>(plugins: readonly Plugin<ModelLike>[]): PluginManager<ModelLike> {
  const ordered = sortByDependencies(plugins);
  const setUpPlugins: Plugin<ModelLike>[] = [];
  let hasLoaded = false;

  async function load(store: Store): Promise<Contributions<ModelLike>> {
    if (hasLoaded)
      throw createConfigurationError("This plugin manager has already set up its plugins. Create another manager.");
    hasLoaded = true;
    const { contributions, contextOf } = createContributions<ModelLike>(store);
    for (const plugin of ordered) {
      setUpPlugins.push(plugin);
      const { context, close } = contextOf(plugin.name);
      try {
        await withTimeout(() => plugin.setup(context), setupTimeoutMs);
      } catch (error) {
        throw toSetupError(plugin, error, await disposeAll());
      } finally {
        close();
      }
    }
    return contributions;
  }

  /** Returns the errors that plugins threw. */
  async function disposeAll(): Promise<readonly unknown[]> {
    const errors: unknown[] = [];
    for (let plugin = setUpPlugins.pop(); plugin !== undefined; plugin = setUpPlugins.pop())
      try {
        await withTimeout(() => plugin.dispose?.(), disposeTimeoutMs);
      } catch (error) {
        errors.push(error);
      }
    return errors;
  }

  return {
    plugins: Object.freeze(ordered),
    load,
    async dispose() {
      const errors = await disposeAll();
      if (errors.length > 0)
        throw new AggregateError(errors, "Some plugins failed in dispose. See `errors` for the causes.");
    },
  };
}

const setupTimeoutMs = 120_000;
const disposeTimeoutMs = 10_000;

/** @throws the plugin's error; Error if the call takes too long */
async function withTimeout(call: () => void | Promise<void> | undefined, timeoutMs: number): Promise<void> {
  let stopTimer = () => {};
  const timeout = new Promise<never>((_, reject) => {
    stopTimer = systemClock.after(timeoutMs, () => reject(new Error(`It took more than ${timeoutMs} ms.`)));
  });
  try {
    await Promise.race([call(), timeout]);
  } finally {
    stopTimer();
  }
}

function toSetupError({ name }: Pick<Plugin, "name">, error: unknown, disposeErrors: readonly unknown[]): unknown {
  if (disposeErrors.length === 0 && error instanceof PawlError) return error;
  const reason = getErrorMessage(error);
  const cause =
    disposeErrors.length === 0
      ? error
      : new AggregateError([error, ...disposeErrors], "The setup failed, and then some plugins failed in dispose.");
  return new PawlError("plugin_failed", `The plugin "${name}" could not be set up: ${reason}`, { cause });
}

function sortByDependencies<ModelLike>(plugins: readonly Plugin<ModelLike>[]): readonly Plugin<ModelLike>[] {
  const byName = new Map<string, Plugin<ModelLike>>();
  for (const plugin of plugins) {
    checkPlugin(plugin);
    if (byName.has(plugin.name))
      throw createConfigurationError(`Two plugins are named "${plugin.name}". Remove one of them.`);
    byName.set(plugin.name, plugin);
  }
  const ordered = new Set<Plugin<ModelLike>>();

  function visit(name: string, path: readonly string[]): void {
    const nextPath = [...path, name];
    const plugin = byName.get(name);
    if (plugin === undefined)
      throw createConfigurationError(
        `The plugin "${name}" is missing: ${nextPath.join(" → ")}. Add it to \`plugins\`.`,
      );
    if (path.includes(name)) {
      const cycle = nextPath.slice(path.indexOf(name));
      throw createConfigurationError(
        `Plugins depend on each other in a cycle: ${cycle.join(" → ")}. Remove one dependency.`,
      );
    }
    if (ordered.has(plugin)) return;
    for (const dependency of plugin.dependencies ?? []) visit(dependency, nextPath);
    ordered.add(plugin);
  }

  for (const { name } of plugins) visit(name, []);
  return [...ordered];
}

const pluginRules: OptionTable<Plugin<unknown>> = {
  name: anyValue,
  version: anyValue,
  dependencies: anyValue,
  setup: anyValue,
  dispose: anyValue,
};

function checkPlugin<ModelLike>(plugin: Plugin<ModelLike>): void {
  const { name, version, dependencies = [], setup, dispose } = plugin;
  checkPlainOptions<Plugin<unknown>>(`The plugin "${String(name)}"`, pluginRules, plugin);
  if (typeof name !== "string" || name === "" || name.length > 100)
    throw createConfigurationError(
      "A plugin's `name` is missing or invalid. It must be a string of 1 to 100 characters.",
    );
  if (typeof version !== "string" || version === "")
    throw createConfigurationError(`The plugin "${name}" has no \`version\`. Add one, as a string.`);
  if (typeof setup !== "function")
    throw createConfigurationError(`The plugin "${name}" has no setup(context) function. Add one.`);
  if (dispose !== undefined && typeof dispose !== "function")
    throw createConfigurationError(
      `\`dispose\` of the plugin "${name}" is not a function. Pass a function, or leave it out.`,
    );
  if (!Array.isArray(dependencies) || !dependencies.every((dependency) => typeof dependency === "string"))
    throw createConfigurationError(`\`dependencies\` of the plugin "${name}" must be an array of plugin names.`);
}

function createConfigurationError(message: string): PawlError {
  return new PawlError("bad_configuration", message);
}
