/**
 * Runs the program of docs/guide/events.md against the built package, and writes its output into the page.
 *
 *     node scripts/events-page.mjs             writes the page
 *     node scripts/events-page.mjs --check     fails if the page does not show what the program prints
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const page = "docs/guide/events.md";
const folder = "temp/events";
const text = readFileSync(page, "utf8");
const written = text.replace(
  /(<!-- stream: begin -->\n)[\s\S]*(<!-- stream: end -->)/,
  (_, begin, end) => `${begin}\n\`\`\`jsonl\n${stable(outputOf(programIn(text)))}\`\`\`\n\n${end}`,
);

if (!process.argv.includes("--check")) writeFileSync(page, written);
else if (written !== text) {
  console.error(
    `${page} does not show what its program prints. Look at the difference after: node scripts/events-page.mjs`,
  );
  process.exitCode = 1;
}

function programIn(markdown) {
  const [, program] = /<!-- program: begin -->\s*```ts\n([\s\S]*?)```\s*<!-- program: end -->/.exec(markdown) ?? [];
  if (program === undefined) throw new Error(`${page} has no program.`);
  return program;
}

function outputOf(program) {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "program.mjs");
  const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 };
  writeFileSync(file, ts.transpileModule(program, { compilerOptions: options }).outputText);
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], { encoding: "utf8", timeout: 30_000 });
  if (status !== 0) throw new Error(`The program of ${page} failed:\n${stderr}`);
  return stdout;
}

/** The same output in every run: points in time and durations differ. */
function stable(output) {
  return output.replace(/"(at|askedAt)":\d+/g, '"$1":1767225600000').replace(/"durationMs":\d+/g, '"durationMs":12');
}
