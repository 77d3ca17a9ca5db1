/**
 * Compiles `src`, `test/simulation` and what these import of `test/support` into temp/simulation, file by file and without a check of types
 * (`npm run types` checks them).
 * Only what changed since the last time is compiled. The scripts that simulate run this code, and the mutants break copies of it.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import ts from "typescript";

/** Where the compiled files are: `src/a/b.ts` becomes `<folder>/src/a/b.js`. */
export const simulationFolder = "temp/simulation";

/** What `test/simulation` imports from elsewhere in `test`. A test fails if one is missing here. */
const supportFiles = ["test/support/controlled-postgres.ts", "test/support/share.ts"];

export function compileSimulation() {
  const sources = [...["src", "test/simulation"].flatMap(sourcesIn), ...supportFiles];
  for (const source of sources) compileIfChanged(source);
  removeStale(new Set(sources.map(outputOf)));
}

/** The JavaScript of one file. */
export function compiled(source) {
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023, verbatimModuleSyntax: true };
  return ts.transpileModule(source, { compilerOptions }).outputText;
}

function sourcesIn(folder) {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .map((file) => join(folder, file));
}

function outputOf(source) {
  return join(simulationFolder, source.replace(/\.ts$/, ".js"));
}

function compileIfChanged(source) {
  const output = outputOf(source);
  if (existsSync(output) && statSync(output).mtimeMs > statSync(source).mtimeMs) return;
  mkdirSync(dirname(output), { recursive: true });
  writeFileSync(output, compiled(readFileSync(source, "utf8")));
}

/** A file whose source is gone could still be imported. */
function removeStale(outputs) {
  for (const file of readdirSync(simulationFolder, { recursive: true, encoding: "utf8" })) {
    const path = join(simulationFolder, file);
    if (path.endsWith(".js") && !outputs.has(path)) rmSync(path);
  }
}
