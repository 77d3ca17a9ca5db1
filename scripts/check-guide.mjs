/**
 * Compiles each code block of the guide and of the reference, and each line of Pawl in docs/comparison.md, against the built package.
 *
 * Each block is compiled alone. This script adds imports for names of the package that a block uses without an
 * import. Other names (`model`, `tools`, `store`, …) are declared in scripts/guide/surroundings.d.ts.
 * scripts/check-package.mjs runs the README's program.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import ts from "typescript";
import { programOptions } from "./compiler-options.mjs";

const folders = ["docs/guide", "docs/reference"];
const comparison = "docs/comparison.md";
const folder = resolve("temp/guide");
const surroundings = resolve("scripts/guide/surroundings.d.ts");
const options = { ...programOptions, exactOptionalPropertyTypes: true };
/** TypeScript's error for an undeclared name. */
const nameless = new Set([2304, 2503, 2552, 18004]);

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const blocks = [
  ...folders.flatMap((pages) =>
    readdirSync(pages)
      .filter((page) => page.endsWith(".md"))
      .flatMap((page) => blocksOf(join(pages, page))),
  ),
  ...linesOf(comparison),
];

const entries = write("entries", entryImports());
const bare = compile(blocks.map((block) => write(block.name, `\n${block.code}`)));
const exported = exportsOf(bare);
const whole = compile(
  blocks.map((block) => write(block.name, `${importsFor(block)}\n${block.code}`)),
  bare,
);
const problems = blocks.flatMap((block) =>
  diagnosticsOf(whole, block).map((diagnostic) => problemLine(block, diagnostic)),
);

for (const problem of problems) console.error(problem);
console.log(
  `${blocks.length} blocks of code in the guide and the reference, and lines in the comparison, ${problems.length} problems.`,
);
process.exitCode = problems.length > 0 ? 1 : 0;

/** The code blocks of a page, each with the number of the line before it. */
function blocksOf(page) {
  const text = readFileSync(page, "utf8");
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(({ 1: code, index }) => {
    const line = text.slice(0, index).split("\n").length;
    return { page, line, code, name: `${basename(dirname(page))}-${basename(page, ".md")}-${line}` };
  });
}

/** The lines of Pawl in the tables of a page. */
function linesOf(page) {
  return readFileSync(page, "utf8")
    .split("\n")
    .flatMap((row, index) => {
      const code = /^\| \*\*Pawl\*\* \| `([^`]+)` \|/.exec(row)?.[1];
      return code === undefined ? [] : [{ page, line: index + 1, code, name: `${basename(page, ".md")}-${index + 1}` }];
    });
}

function write(name, text) {
  const file = join(folder, `${name}.ts`);
  writeFileSync(file, `${text}\nexport {};\n`);
  return file;
}

function compile(files, before) {
  return ts.createProgram([...files, entries, surroundings], options, undefined, before);
}

/** Imports every entry point, to find its exports. */
function entryImports() {
  const { name, exports } = JSON.parse(readFileSync("package.json", "utf8"));
  return Object.entries(exports)
    .filter(([, target]) => typeof target === "object")
    .map(([path]) => `import * as _${path.replaceAll(/\W/g, "_")} from "${join(name, path)}";`)
    .join("\n");
}

/** Maps each exported name to the first entry point that exports it. */
function exportsOf(program) {
  const checker = program.getTypeChecker();
  const found = new Map();
  for (const { moduleSpecifier } of program.getSourceFile(entries).statements.filter(ts.isImportDeclaration))
    for (const { name } of checker.getExportsOfModule(checker.getSymbolAtLocation(moduleSpecifier)))
      if (!found.has(name)) found.set(name, moduleSpecifier.text);
  return found;
}

/** The added imports stand on one line, so that error lines map to lines of the page. */
function importsFor(block) {
  const names = diagnosticsOf(bare, block)
    .filter(({ code }) => nameless.has(code))
    .map(({ file, start, length }) => file.text.slice(start, start + length));
  return [...new Set(names)]
    .filter((name) => exported.has(name))
    .map((name) => `import { ${name} } from "${exported.get(name)}";`)
    .join(" ");
}

function diagnosticsOf(program, { name }) {
  return ts.getPreEmitDiagnostics(program, program.getSourceFile(join(folder, `${name}.ts`)));
}

function problemLine({ page, line }, { file, start, messageText }) {
  const within = file.getLineAndCharacterOfPosition(start).line;
  return `${page}:${line + within}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
}
