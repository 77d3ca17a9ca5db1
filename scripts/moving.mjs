/**
 * Checks docs/moving: `npm run moving`.
 *
 * A block "before" is compiled against the other program, in the version that scripts/moving/package.json pins; a block "after" against
 * the built package. Each block is compiled alone, with its own imports; what is around it is in scripts/moving/surroundings.d.ts. A block
 * "history" is also run: with messages that the other program made, it gives a history that a session begins with. Pages of the AI SDK and
 * of Mastra that our pages cite are looked up in the packages.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { programOptions } from "./compiler-options.mjs";
import { installOnDemand } from "./install-on-demand.mjs";
import { citedIn } from "./moving/citations.mjs";

const pages = "docs/moving";
const here = resolve("scripts/moving");
const folder = resolve("temp/moving");
/** The other programs are used in pages of the Web, too. */
const options = { ...programOptions, lib: [...programOptions.lib, "lib.dom.d.ts"] };

installOnDemand(here, "the programs of docs/moving into scripts/moving/node_modules (about 510 MB, a minute)");
const { dependencies: pinned } = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));

rmSync(folder, { recursive: true, force: true });
mkdirSync(join(folder, "before"), { recursive: true });
mkdirSync(join(folder, "after"));
symlinkSync(join(here, "node_modules"), join(folder, "before/node_modules"), "junction");

const texts = readdirSync(pages)
  .filter((name) => name.endsWith(".md"))
  .map((name) => ({ name, page: `${pages}/${name}`, text: readFileSync(join(pages, name), "utf8") }));
const blocks = texts.flatMap(blocksOf);
const comparing = ["docs/comparison.md", "docs/terminals.md", "docs/inspector/README.md"];
const cited = citedIn([...texts.map(({ page }) => page), ...comparing], join(here, "node_modules"));
const problems = [
  ...cited.problems,
  ...texts.flatMap(unpinned),
  ...blocks.flatMap(foreign),
  ...compiled("before"),
  ...compiled("after"),
];
if (problems.length === 0) problems.push(...(await unseeded()));

for (const problem of problems) console.error(problem);
const count = (side) => blocks.filter((block) => block.side === side).length;
console.log(
  `${count("before")} blocks before, ${count("after")} after, ${cited.count} citations; ${problems.length} problems.`,
);
process.exitCode = problems.length > 0 ? 1 : 0;

/** The blocks of a page, each with the number of the line before it. A block of no side is a problem of its own. */
function blocksOf({ name, page, text }) {
  return [...text.matchAll(/^```ts(?: (before|after))( history)?\n(.*?)^```$/gms)].map(
    ({ 1: side, 2: history, 3: code, index }) => {
      const line = text.slice(0, index).split("\n").length;
      return { page, line, side, code, history: history !== undefined, name: `${basename(name, ".md")}-${line}` };
    },
  );
}

/** What a page says of versions, and blocks that nobody would compile. */
function unpinned({ name, page, text }) {
  if (name === "README.md") return [];
  const [, said = ""] = /^For (.*?)\n\n/ms.exec(text) ?? [];
  const versions = said.match(/\d+\.\d+\.\d+/g) ?? [];
  const wrong = versions.filter((version) => !Object.values(pinned).includes(version));
  const bare = text.match(/^```ts$/gm) ?? [];
  return [
    ...(versions.length === 0 ? [`${page}: does not begin with "For", the program, and its version`] : []),
    ...wrong.map((version) => `${page}: ${version} is not in scripts/moving/package.json`),
    ...bare.map(() => `${page}: a block of code says neither "before" nor "after"`),
  ];
}

/** A block before may import what is pinned, and nothing that only lies near. */
function foreign({ page, line, side, code }) {
  if (side !== "before") return [];
  return [...code.matchAll(/ from "([^"]+)"/g)]
    .map(([, specifier]) => specifier)
    .filter((specifier) => !specifier.startsWith("node:") && !builtinModules.includes(specifier))
    .map((specifier) => specifier.match(/^(@[^/]+\/)?[^/]+/)[0])
    .filter((name) => pinned[name] === undefined)
    .map((name) => `${page}:${line}: ${name} is not in scripts/moving/package.json`);
}

function compiled(side) {
  const own = blocks.filter((block) => block.side === side);
  const fileOf = ({ name }) => join(folder, side, `${name}.ts`);
  for (const block of own) writeFileSync(fileOf(block), `\n${block.code}\nexport {};\n`);
  const program = ts.createProgram([...own.map(fileOf), join(here, "surroundings.d.ts")], options);
  return own.flatMap((block) =>
    ts.getPreEmitDiagnostics(program, program.getSourceFile(fileOf(block))).map(({ file, start, messageText }) => {
      const within = file.getLineAndCharacterOfPosition(start).line;
      return `${block.page}:${block.line + within}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
    }),
  );
}

/** Runs each `historyOf` of the pages with the messages of scripts/moving/histories.mjs. */
async function unseeded() {
  const { messagesOf, problemOf } = await import("./moving/histories.mjs");
  const histories = blocks.filter(({ history }) => history);
  const found = [];
  for (const { page, line, side, name, code } of histories) {
    const file = join(folder, side, `${name}.mjs`);
    const compilerOptions = { module: ts.ModuleKind.ESNext, target: options.target };
    writeFileSync(file, ts.transpileModule(code, { compilerOptions }).outputText);
    const { historyOf } = await import(pathToFileURL(file).href);
    const messages = await messagesOf[basename(page, ".md")]();
    const problem = await problemOf(historyOf(messages));
    if (problem !== null) found.push(`${page}:${line}: ${problem}`);
  }
  const missing = Object.keys(messagesOf).length - histories.length;
  if (missing !== 0)
    found.push(`${pages}: ${histories.length} blocks "history" for ${Object.keys(messagesOf).length} programs`);
  return found;
}
