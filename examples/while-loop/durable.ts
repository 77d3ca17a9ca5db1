/**
 * The same with Pawl. A process that starts again makes the same call, with the same ids.
 */
import { createAgent, createClient, defineTool } from "pawl";
import { openSqliteStore } from "pawl/sqlite";
import { askOwner, bank, model } from "./shop.js";

const refund = defineTool({
  name: "refund",
  description: "Refunds an order.",
  input: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
  needsApproval: true,
  sequential: true,
  recover: "rerun", // with the same key, which the bank honors
  execute: ({ order }, { idempotencyKey }) => bank.refund(String(order), idempotencyKey),
});

export async function answerWithPawl(request: string): Promise<string> {
  const store = await openSqliteStore({ path: "sessions.db" });
  const agent = createAgent({ model, tools: [refund], store });
  const session = createClient({ store }).session("ticket-7"); // posts answers, runs nothing
  let result = await agent.run(request, { sessionId: "ticket-7", runId: "first" });
  while (result.status === "awaiting_human") {
    for (const { callKey, input } of result.approvals) {
      const approved = await askOwner(input);
      await session.answer(callKey, { type: approved ? "approve" : "deny" });
    }
    result = await agent.session("ticket-7").resume();
  }
  await store.close();
  return result.text ?? "";
}
