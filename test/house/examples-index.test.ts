import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

/** The files that `npm run examples` runs: examples/NAME.ts, examples/NAME/main.ts and examples/recipes/NAME.ts. */
const examples = readdirSync("examples", { withFileTypes: true }).flatMap((entry) => {
  if (entry.name === "recipes") return readdirSync("examples/recipes").map((file) => `recipes/${file}`);
  if (entry.isFile() && entry.name.endsWith(".ts")) return [entry.name];
  return entry.isDirectory() && existsSync(join("examples", entry.name, "main.ts")) ? [`${entry.name}/main.ts`] : [];
});

test("the index of the examples names each of them, and says what it is for", () => {
  const rows = readFileSync("examples/README.md", "utf8")
    .split("\n")
    .filter((line) => /^\| .+ \| .+ \|$/.test(line));
  for (const example of examples) {
    const row = rows.find((line) => line.includes(`](${example})`)) ?? "";
    expect(row, `examples/README.md lacks a row for ${example}`).toMatch(/^\| \S.{10,} \| /);
  }
});
