/**
 * The agents of a module, for `pawl serve` and `pawl worker`.
 */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type Agent, type Engine, type Observer, PawlError, type Store, type WorkerOptions } from "../../index.js";
import { explainLoadFailure } from "../files/explain-load-failure.js";
import type { DriveOptions } from "../run/drive-session.js";

export type ServedAgents = {
  readonly store: Store;
  readonly agents: readonly Agent[];
  /** The module's export `scores`, which judges ended sessions. */
  readonly scores?: NonNullable<WorkerOptions["scores"]>;
  /** The module's export `notices`, which notifies other systems. */
  readonly notices?: NonNullable<WorkerOptions["notices"]>;
  readonly close: () => Promise<void>;
};

/** Options of the agent of a folder. The agents of a module have their own model, tools, permissions and store. */
type FolderOnlyOptions = Partial<DriveOptions> & { readonly root?: string; readonly store?: string };

const folderOptions: { readonly [name in keyof FolderOnlyOptions]: string } = {
  model: "--model",
  contextWindow: "--context-window",
  timeout: "--timeout",
  yes: "--yes",
  allow: "--allow",
  deny: "--deny",
  allowShell: "--allow-shell",
  expireAfter: "--expire-after",
  root: "--root",
  store: "--store",
};

/** @throws PawlError `bad_configuration` */
function checkFolderOptions(module: string, options: FolderOnlyOptions): void {
  const given = Object.entries(folderOptions).flatMap(([name, option]) => (name in options ? [option] : []));
  if (options.contextFiles === false) given.push("--no-context-files");
  if (options.hooks === false) given.push("--no-hooks");
  if (given.length > 0)
    throw new PawlError(
      "bad_configuration",
      `${given.join(", ")} cannot be used with a module: the agents of ${module} have their own store, model and permissions. Set them there.`,
    );
}

/**
 * Loads a module whose default export is an engine, an agent, a list of agents, or a function that returns one of these.
 * @param observers watch the agents in addition to the agents' own observers
 * @throws PawlError `bad_configuration`
 */
export async function loadAgents(
  module: string,
  options: FolderOnlyOptions,
  ...observers: readonly Observer[]
): Promise<ServedAgents> {
  checkFolderOptions(module, options);
  if (!isFile(module))
    throw new PawlError(
      "bad_configuration",
      `There is no file ${module}. Give a module that exports agents, or leave it out for the agent of this folder.`,
    );
  const loaded = await importModule(module);
  const given: unknown = typeof loaded.default === "function" ? await loaded.default() : loaded.default;
  const withObservers = (agents: readonly Agent[]) =>
    agents.map((agent) => agent.with({ observers: [...(agent.options.observers ?? []), ...observers] }));
  const more = {
    ...(loaded.scores === undefined ? {} : { scores: loaded.scores }),
    ...(loaded.notices === undefined ? {} : { notices: loaded.notices }),
  };
  if (isEngine(given))
    return { store: given.store, agents: withObservers(given.agents), ...more, close: () => given.shutdown() };
  const agents = [given].flat();
  const [first] = agents;
  if (!agents.every(isAgent) || !isAgent(first))
    throw new PawlError(
      "bad_configuration",
      `${module} must export by default an engine, an agent, a list of agents, or a function that returns one of these.`,
    );
  const store = requireStore(first);
  if (agents.some((agent) => requireStore(agent) !== store))
    throw new PawlError(
      "bad_configuration",
      `The agents of ${module} use different stores. Give them all the same one.`,
    );
  return { store, agents: withObservers(agents), ...more, close: () => store.close() };
}

async function importModule(module: string): Promise<Loaded> {
  try {
    return (await import(pathToFileURL(resolve(module)).href)) as Loaded;
  } catch (cause) {
    // The module may use another copy of the library. Its errors say what to do.
    if (cause instanceof Error && cause.name === "PawlError") throw cause;
    throw new PawlError("bad_configuration", explainLoadFailure(module, cause), { cause });
  }
}

type Loaded = { readonly default?: unknown } & Pick<ServedAgents, "scores" | "notices">;

function isFile(path: string): boolean {
  return statSync(resolve(path), { throwIfNoEntry: false })?.isFile() === true;
}

function isEngine(given: unknown): given is Engine {
  return typeof given === "object" && given !== null && "agents" in given && "work" in given;
}

function isAgent(given: unknown): given is Agent {
  return typeof given === "object" && given !== null && "options" in given && "runStream" in given;
}

function requireStore(agent: Agent): Store {
  const { store } = agent.options;
  if (store === undefined) throw new PawlError("internal", "An agent has no store. Please report this.");
  return store;
}
