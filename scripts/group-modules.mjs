/**
 * Which modules of the package share a file.
 *
 * Unless told otherwise, Rolldown gives modules a file of their own if the same entry points and commands load them. `import "pawl"` would
 * read 59 files, of which most are small, and take a quarter more time than with 30. A single file would slow down the commands that
 * need little of it. So the modules that `import "pawl"` loads are grouped by the smallest command that needs them.
 *
 * What a module imports is loaded by the same command, so it is in the same group or an earlier one: files never import each other in a
 * circle.
 */
import { rolldown } from "rolldown";

/** By how many modules of `import "pawl"` the smallest command loads that needs a module. `pawl config` loads about 10 of them. */
const groups = [
  /** Reads a store, like `pawl sessions`. */
  { name: "records", from: 30 },
  /** Reads much of it, like `pawl trace`. */
  { name: "reading", from: 80 },
  /** Runs agents. */
  { name: "loop", from: 200 },
];

/** The groups for Rolldown's `codeSplitting`. A module is in the first that takes it. */
export async function groupModules(options) {
  const { core, costs } = await examine(options);
  const groupOf = (id) => groups.findLast(({ from }) => costs.get(id) >= from)?.name;
  return [
    ...alwaysShared,
    // Needs no Node.
    { name: "core", test: (id) => core.has(id) && groupOf(id) !== undefined },
    ...groups.map(({ name }) => ({ name, test: (id) => groupOf(id) === name })),
  ];
}

/**
 * Small modules that nearly everything needs. `./core` needs no Node, so what does is apart. The first frame of a conversation needs one
 * of them alone.
 */
const alwaysShared = [
  {
    name: "data",
    test: /[\\/]build[\\/]core[\\/]data[\\/](?!hidden-characters)/,
  },
  { name: "platform", test: /[\\/]build[\\/](?:platform|ports)[\\/]/ },
];

/**
 * The modules of `./core`, and the costs of the modules that `import "pawl"` loads. Those of another small entry point, like `pawl/models`,
 * are left out: they would bring much that the entry point does not need.
 */
async function examine(options) {
  const draft = await rolldown(options);
  const { output } = await draft.generate({ format: "esm" });
  await draft.close();
  const chunks = new Map(output.filter(({ type }) => type === "chunk").map((chunk) => [chunk.fileName, chunk]));
  const library = new Set(modulesOf("index.js", chunks));
  const costs = new Map();
  const entryCosts = new Map();
  for (const { fileName, isEntry, isDynamicEntry } of chunks.values()) {
    if (!isEntry && !isDynamicEntry) continue;
    const loaded = modulesOf(fileName, chunks).filter((id) => library.has(id));
    const least = isEntry && fileName !== "index.js" ? entryCosts : costs;
    for (const id of loaded) least.set(id, Math.min(loaded.length, least.get(id) ?? loaded.length));
  }
  const largest = groups.at(-1).from;
  const core = new Set(modulesOf("core/index.js", chunks));
  for (const id of costs.keys()) if (entryCosts.get(id) < largest && !core.has(id)) costs.delete(id);
  return { core, costs };
}

/** The modules that a file and what it imports bring. */
function modulesOf(fileName, chunks) {
  const files = new Set([fileName]);
  for (const file of files) for (const imported of chunks.get(file)?.imports ?? []) files.add(imported);
  return [...files].flatMap((file) => chunks.get(file)?.moduleIds ?? []);
}
