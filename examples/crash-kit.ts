/**
 * The crash kit on your own agent: a payment is made once, wherever the process dies. The kit also finds a tool
 * that claims to be safe to run again, although it charges each time.
 */
import assert from "node:assert/strict";
import { createAgent, type ToolContext } from "pawl";
import { CrashFailure, crashTest, createScriptedModel, type ScriptedStep } from "pawl/testing";

const answers: ScriptedStep[] = [
  { text: "I pay the invoice.", calls: [{ name: "pay", input: { amount: 12 } }] },
  { text: "It is paid." },
];

// The service outside: it books an idempotency key once. No crash touches it.
const booked = new Map<string, number>();
const bookOnce = ({ amount }: { amount: number }, { idempotencyKey }: ToolContext) => {
  booked.set(idempotencyKey, amount);
  return "paid";
};
const bookAgain = ({ amount }: { amount: number }) => {
  booked.set(`entry ${booked.size + 1}`, amount);
  return "paid";
};

const agentThatPaysBy = (execute: typeof bookOnce) => () =>
  createAgent({
    name: "payer",
    // This model repeats its answer when it is asked again: it answers by the step, not by the number of requests.
    model: createScriptedModel(({ modelCallIndex }) => answers[modelCallIndex - 1]),
    tools: [{ name: "pay", description: "Pays.", input: { type: "object" }, recover: "rerun", execute }],
  });

const paidOnce = {
  input: "Pay the invoice.",
  reset: () => booked.clear(),
  check: () => assert.equal(booked.size, 1, "the invoice is paid once"),
};

const report = await crashTest({ agent: agentThatPaysBy(bookOnce), ...paidOnce, pairs: true });
console.log(
  `${report.plays} plays, ${report.crashes} crashes; repeated: ${report.repeated.pay}, unknown: ${report.unknown.pay}`,
);
assert.ok(report.crashes > report.points);
assert.equal(report.unknown.pay, 0);

const failure = await crashTest({ agent: agentThatPaysBy(bookAgain), ...paidOnce }).catch((error: unknown) => error);
assert.ok(failure instanceof CrashFailure);
console.log(`without the key: ${failure.message.split("\n")[0]}`);
