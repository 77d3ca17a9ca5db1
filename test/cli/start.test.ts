/**
 * What a command of `pawl`, and a program that imports the library, loads before it does anything: reading and compiling modules is most of
 * the start of a process. The modules are counted in the built package, by its static imports, so that no process is started and no clock is
 * read.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const dist = fileURLToPath(new URL("../../dist", import.meta.url));
/** The bundler names the module above its code. */
const moduleMark = /^\/\/ temp\/build\/(\S+)\.js$/gm;
const staticImport = /^(?:import|export)\b[^;]*?"([^"]+)";$/gm;

const files = new Map(
  readdirSync(dist, { recursive: true, encoding: "utf8" })
    .filter((path) => path.startsWith("chunks") || path === join("cli", "main.js") || path === "index.js")
    .filter((path) => path.endsWith(".js"))
    .map((path) => [join(dist, path), readFileSync(join(dist, path), "utf8")]),
);

function listModules(code: string): readonly string[] {
  return [...code.matchAll(moduleMark)].map(([, name = ""]) => name);
}

/** The file that has a module. */
function findFile(module: string): string {
  for (const [path, code] of files) if (listModules(code).includes(module)) return path;
  throw new Error(`No file of ${relative(process.cwd(), dist)} has the module ${module}.`);
}

type Loaded = {
  readonly files: number;
  readonly bytes: number;
  readonly modules: readonly string[];
  readonly packages: readonly string[];
};

/** Everything that is loaded with these modules. */
function load(...modules: readonly string[]): Loaded {
  return loadFiles(...modules.map(findFile));
}

function loadFiles(...starts: readonly string[]): Loaded {
  const paths = new Set(starts);
  const packages = new Set<string>();
  // A set can grow while it is iterated.
  for (const path of paths)
    for (const [, id = ""] of (files.get(path) ?? "").matchAll(staticImport)) {
      if (id.startsWith(".")) paths.add(resolve(dirname(path), id));
      else if (!id.startsWith("node:")) packages.add(id);
    }
  const codes = [...paths].map((path) => files.get(path) ?? readFileSync(path, "utf8"));
  return {
    files: paths.size,
    bytes: codes.reduce((sum, code) => sum + Buffer.byteLength(code), 0),
    modules: codes.flatMap(listModules),
    packages: [...packages],
  };
}

test("a program that imports pawl loads 12 files at most, and no package", () => {
  const { files: count, packages } = loadFiles(join(dist, "index.js"));
  expect(packages).toEqual([]);
  expect(count).toBeLessThanOrEqual(12);
});

const program = ["cli/main", "cli/run-program"] as const;

/** What runs an agent. Commands that only read need none of it. */
const agentParts = [
  "runtime/driver/driver",
  "cli/agent/folder-agent",
  "tools/shell/shell",
  "models/ai-sdk/adapter",
  "server/server",
  "cli/conversation/converse",
];

const readers = [
  ["sessions", "cli/commands/sessions", 420_000],
  ["approvals", "cli/commands/approvals", 730_000],
  ["schedule list", "cli/commands/schedule", 730_000],
  ["trace", "cli/commands/trace", 745_000],
  ["config", "cli/commands/config", 565_000],
  ["trust", "cli/commands/trust", 475_000],
] as const;

describe("the start of the command line loads", () => {
  test("no package and 60 kB for the version, and before the first frame of a conversation", () => {
    const { bytes, packages } = load("cli/main");
    expect(packages).toEqual([]);
    expect(bytes).toBeLessThan(60_000);
  });

  test("the parser of the command line and 320 kB for the help of a command", () => {
    const { bytes, modules, packages } = load(...program);
    expect(packages).toEqual(["commander"]);
    expect(bytes).toBeLessThan(320_000);
    // The table of the commands loads each of them when it runs.
    expect(modules.filter((name) => name.startsWith("cli/commands/"))).toEqual([]);
  });

  test.each(readers)("no agent for pawl %s", (_, module, most) => {
    const { bytes, modules, packages } = load(...program, module);
    expect(modules).toContain(module);
    expect(modules.filter((name) => agentParts.includes(name))).toEqual([]);
    expect(packages).toEqual(["commander"]);
    expect(bytes).toBeLessThan(most);
  });

  test("no server and no screen for pawl run", () => {
    const { modules } = load(...program, "cli/commands/run");
    expect(modules).toContain("runtime/driver/driver");
    expect(modules.filter((name) => /^(?:server|evals|cli\/conversation)\//.test(name))).toEqual([]);
  });
});
