/**
 * Which modules of the package share a file.
 *
 * Unless told otherwise, Rolldown gives modules a file of their own if the same entry points and commands load them. `import "pawl"` would
 * read 59 files, of which most are small, and take half as much time again as with a few. A single file would slow down the commands that
 * need little of it. So the modules that `import "pawl"` loads are grouped by the smallest program that needs them.
 *
 * A module costs what the smallest program that loads it loads. What it imports is loaded by the same program and costs no more, so files
 * never import each other in a circle.
 */
import { rolldown } from "rolldown";

/** Each is the cost from which it holds, in modules of `import "pawl"`. A command like `pawl config` loads about 10 of them. */
const groups = [
  /** Reads a store: `pawl sessions`. */
  { name: "records", from: 30 },
  /** Reads much of it: `pawl trace`. */
  { name: "reading", from: 80 },
  /** Runs agents. */
  { name: "loop", from: 200 },
];

/** The groups for Rolldown's `codeSplitting`. */
export async function groupModules(options) {
  const costs = await findCosts(options);
  const groupOf = (id) => groups.findLast(({ from }) => costs.get(id) >= from)?.name;
  return [
    ...alwaysShared,
    ...groups.map(({ name }, index) => ({ name, test: (id) => groupOf(id) === name, priority: -1 - index })),
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

/** The cost of each module that `import "pawl"` loads. */
async function findCosts(options) {
  const draft = await rolldown(options);
  const { output } = await draft.generate({ format: "esm" });
  await draft.close();
  const chunks = new Map(output.filter(({ type }) => type === "chunk").map((chunk) => [chunk.fileName, chunk]));
  const library = new Set(modulesOf("index.js", chunks));
  const costs = new Map();
  for (const { fileName, isEntry, isDynamicEntry } of chunks.values()) {
    if (!isEntry && !isDynamicEntry) continue;
    const loaded = modulesOf(fileName, chunks).filter((id) => library.has(id));
    for (const id of loaded) costs.set(id, Math.min(loaded.length, costs.get(id) ?? loaded.length));
  }
  return costs;
}

/** The modules that a file and what it imports bring. */
function modulesOf(fileName, chunks) {
  const files = new Set([fileName]);
  for (const file of files) for (const imported of chunks.get(file)?.imports ?? []) files.add(imported);
  return [...files].flatMap((file) => chunks.get(file)?.moduleIds ?? []);
}
