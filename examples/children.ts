/**
 * An agent as a tool whose answers have a shape, watched through the outer session's stream. The stream is cut in the
 * middle and goes on from its cursor.
 */
import assert from "node:assert/strict";
import { createAgent, createMemoryStore, type FamilyItem } from "pawl";
import { createScriptedModel } from "pawl/testing";

const verdict = {
  type: "object",
  properties: { sound: { type: "boolean" }, reason: { type: "string" } },
  required: ["sound", "reason"],
} as const;

const inspector = createAgent({
  name: "inspector",
  model: createScriptedModel([{ text: '{"sound":true,"reason":"The pawl holds."}' }]),
});
const owner = createAgent({
  name: "owner",
  model: createScriptedModel([
    { calls: [{ name: "inspector", input: { task: "Inspect the winch." } }] },
    { text: "The winch is sound." },
  ]),
  tools: [inspector.asTool({ description: "Inspects a machine.", output: verdict })],
  store: createMemoryStore(),
});

const seen: FamilyItem[] = [];
let cursor: string | number = 0;

/** Shows what follows the cursor. Returns true at the end of the run. */
async function watch(most: number): Promise<boolean> {
  let count = 0;
  for await (const item of owner.session("winch").events({ children: true, after: cursor })) {
    if (!("cursor" in item)) continue;
    cursor = item.cursor;
    seen.push(item);
    console.log(`${"  ".repeat(item.depth)}${item.type}`);
    if (item.type === "final" && item.depth === 0) return true;
    count += 1;
    if (count === most) return false;
  }
  return false;
}

await owner.session("winch").send("Is the winch sound?");
while (!(await watch(3)));

const result = seen.find((item) => item.type === "tool_result");
assert.deepEqual(result?.type === "tool_result" && result.output, {
  type: "json",
  value: { sound: true, reason: "The pawl holds." },
});
assert.equal(seen.filter(({ type }) => type === "final").length, 2);
assert.ok(seen.findIndex(({ depth }) => depth === 1) > seen.findIndex(({ type }) => type === "child_started"));
assert.ok(seen.findLastIndex(({ depth }) => depth === 1) < seen.findIndex(({ type }) => type === "tool_result"));
