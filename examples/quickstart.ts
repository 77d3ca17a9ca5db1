/**
 * An agent that works on a folder. It runs without a key: the demo model is rule-based, and asks for real tool calls.
 */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createAgent } from "pawl";
import { createDemoModel } from "pawl/models";
import { createFileTools } from "pawl/tools";

mkdirSync("src", { recursive: true });
writeFileSync(
  "src/cart.ts",
  "// TODO: round to cents\nexport const total = (prices: number[]) => prices.reduce((a, b) => a + b, 0);\n",
);

const agent = createAgent({
  model: createDemoModel(),
  tools: createFileTools({ root: process.cwd() }),
});

const result = await agent.run("Find the TODO comments under src, then write a summary of them to TODO-REPORT.md");

console.log(result.status, "-", result.text);
assert.equal(result.status, "completed");
assert.match(readFileSync("TODO-REPORT.md", "utf8"), /round to cents/);
