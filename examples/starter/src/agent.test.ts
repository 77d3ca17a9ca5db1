/**
 * Tests of the agent: a script takes the place of the model, so they need no key and take milliseconds.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { crashTest, createScriptedModel } from "pawl/testing";
import { createShopAgent } from "./agent.js";
import { createShop } from "./shop.js";

const folder = mkdtempSync(join(tmpdir(), "shop-"));
after(() => rmSync(folder, { recursive: true }));

const request = "Find order 1041 and refund it";
const script = [
  { calls: [{ name: "find_order", input: { order: "1041" } }] },
  { calls: [{ name: "refund", input: { order: "1041", cents: 2_900 } }] },
  { text: "Done." },
];

function createTestAgent(refundsFile: string) {
  const model = createScriptedModel(({ modelCallIndex }) => script[modelCallIndex - 1]);
  return createShopAgent({ shop: createShop(refundsFile), model });
}

test("a refund that is denied is not paid", async () => {
  const refundsFile = join(folder, "denied.txt");
  const agent = createTestAgent(refundsFile);
  const waiting = await agent.run(request);
  assert.equal(waiting.status, "awaiting_human");
  const session = agent.session(waiting.sessionId);
  for (const { callKey, input } of waiting.approvals) {
    assert.deepEqual(input, { order: "1041", cents: 2_900 });
    await session.answer(callKey, { type: "deny", note: "not now" });
  }
  assert.equal((await session.resume()).status, "completed");
  assert.throws(() => readFileSync(refundsFile));
});

test("an approved refund is paid once, wherever the process dies", async () => {
  const refundsFile = join(folder, "approved.txt");
  const report = await crashTest({
    agent: () => createTestAgent(refundsFile), // a new process
    input: request,
    respond: () => ({ type: "approve" }),
    reset: () => rmSync(refundsFile, { force: true }),
    check: () => assert.match(readFileSync(refundsFile, "utf8"), /^2900 cents for order 1041 .*\n$/),
  });
  assert.ok(report.crashes > 10);
});
