/**
 * Asks the agent in the terminal: npm start -- "Find order 1041 and refund it"
 */
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline/promises";
import openAgent from "./agent.js";

const request = process.argv.slice(2).join(" ") || "Find order 1041 and refund it";
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const agent = await openAgent();
const session = agent.session(randomUUID());
const { runId } = await session.send(request);

/** The run waits as long as it takes. The question can also be answered on the page, or with `pawl approve`. */
async function ask(callKey: string): Promise<void> {
  process.stdout.write("  Allow it? [y/n] ");
  const { value: line } = await lines.next();
  if (line === undefined) {
    console.log("\nIt waits for an answer: npx pawl approvals --store sessions.db");
    process.exit();
  }
  await session.answer(callKey, line.startsWith("y") ? { type: "approve" } : { type: "deny", note: "not now" });
}

for await (const item of session.events()) {
  if (item.type === "tool_call") console.log(`→ ${item.name} ${JSON.stringify(item.input)}`);
  if (item.type === "approval_requested") void ask(item.callKey);
  if (item.type === "tool_result") console.log(`  ${item.output.type === "text" ? item.output.text : item.outcome}`);
  if (item.type === "final" && item.runId === runId) {
    console.log(`\n${item.result.text}\n\n${item.result.status}, session ${session.id}`);
    break;
  }
}
process.exit();
