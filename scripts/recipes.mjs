/**
 * Holds the code on the pages of docs/recipes to the programs in examples/recipes.
 *
 *     node scripts/recipes.mjs            fails if a block is not what its program has
 *     node scripts/recipes.mjs --write    writes the blocks anew
 *
 * The block after `<!-- code: async function reply | const order -->` has the parts of examples/recipes/PAGE.ts that have
 * a line with these beginnings, in this order. A part ends at an empty line before a line that is not indented.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const pages = "docs/recipes";
const programs = "examples/recipes";

/** The page with its blocks as the program has them. @throws if a part is not there, or is there twice */
export function pageWithCode(page, program) {
  const parts = program.trimEnd().split(/\n\n(?=\S)/);
  return page.replace(/^(<!-- code: (.+) -->\n)```ts\n[\s\S]*?^```$/gm, (_, comment, names) => {
    const code = names.split(" | ").map((name) => partNamed(name, parts));
    return `${comment}\`\`\`ts\n${code.join("\n\n")}\n\`\`\``;
  });
}

function partNamed(name, parts) {
  const found = parts.filter((part) => part.split("\n").some((line) => line.startsWith(name)));
  if (found.length === 1) return found[0];
  throw new Error(`The program has ${found.length} parts with a line that begins with: ${name}`);
}

/** The names of the pages that are not as their programs have them. */
export function stalePages({ write = false } = {}) {
  const names = readdirSync(pages).filter((file) => file.endsWith(".md") && file !== "README.md");
  return names.filter((file) => {
    const path = join(pages, file);
    const page = readFileSync(path, "utf8");
    const whole = pageWithCode(page, readFileSync(join(programs, file.replace(/md$/, "ts")), "utf8"));
    if (write && whole !== page) writeFileSync(path, whole);
    return whole !== page;
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const write = process.argv.includes("--write");
  const stale = stalePages({ write });
  for (const page of stale)
    console.log(`${page}: ${write ? "written" : "not as its program; node scripts/recipes.mjs --write"}`);
  process.exitCode = stale.length > 0 && !write ? 1 : 0;
}
