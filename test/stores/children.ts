/**
 * Real processes that use a store: the sources are turned into JavaScript once, and each child is given that folder.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import ts from "typescript";

const root = resolve(import.meta.dirname, "../..");

/** The parts of the sources that a store needs, in a new folder below `parent`. */
export function compileStores(parent: string): string {
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, "compiled-"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  for (const file of readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })) {
    if (
      !/^(core|platform|ports|stores|testing\/conformance)\/.*\.ts$|^(errors|check-options)\.ts$|^testing\/store-conformance\.ts$/.test(
        file.replaceAll("\\", "/"),
      )
    )
      continue;
    const target = join(folder, file.replace(/\.ts$/, ".js"));
    mkdirSync(dirname(target), { recursive: true });
    const compilerOptions = {
      module: ts.ModuleKind.ESNext,
      target: ts.ScriptTarget.ES2023,
      verbatimModuleSyntax: true,
    };
    writeFileSync(
      target,
      ts.transpileModule(readFileSync(join(root, "src", file), "utf8"), { compilerOptions }).outputText,
    );
  }
  return folder;
}

/** Where compiled sources find the packages of this project. */
export const tempFolder = join(root, "temp");

export type Child = {
  readonly process: ChildProcessWithoutNullStreams;
  /** The next line that it prints. */
  line(): Promise<string>;
  /** What it printed on standard error. */
  errors(): string;
  writeLine(text: string): void;
  /** Its exit code once it has ended; null where a signal ended it. */
  readonly ended: Promise<number | null>;
};

/** Starts `test/fixtures/store-children/<name>.mjs` with these arguments. */
export function startChild(name: string, ...args: readonly string[]): Child {
  const child = spawn(process.execPath, [join(root, "test/fixtures/store-children", `${name}.mjs`), ...args]);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let errors = "";
  // One that has been killed reads nothing any more: its exit code tells.
  child.stdin.on("error", () => {});
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  return {
    process: child,
    line: async () => {
      const next = await lines.next();
      if (next.done === true) throw new Error(`${name} ended: ${errors}`);
      return next.value;
    },
    errors: () => errors,
    writeLine: (text) => child.stdin.write(`${text}\n`),
    ended: once(child, "close").then(([code]) => (typeof code === "number" ? code : null)),
  };
}

/** Makes a file in a process that ends: in `libsql`, a connection that is closed lives on until it is collected. */
export async function createFileInChild(compiled: string, path: string): Promise<void> {
  const child = startChild("opener", compiled, path);
  const line = await child.line();
  await child.ended;
  if (line !== "open") throw new Error(line);
}
