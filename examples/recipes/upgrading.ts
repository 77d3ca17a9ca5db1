/**
 * Another version of an agent, while runs of the one before are under way: what goes on as it is, what Pawl refuses, and
 * how two versions work side by side until the old one has nothing left to do.
 */
import assert from "node:assert/strict";
import { type Agent, createAgent, createClient, createWorker, defineTool, type Store, type WorkerReport } from "pawl";
import { openSqliteStore } from "pawl/sqlite";
import { createScriptedModel } from "pawl/testing";

/** What has not ended of an agent: what runs, what waits, what is due. When it is 0, its code may go. */
async function unfinished(store: Store, agent: string): Promise<readonly string[]> {
  const sessions = await store.list({ agent });
  return sessions
    .filter(({ activity, inbox }) => activity !== "resting" || inbox > 0)
    .map(({ sessionId }) => sessionId);
}

/** Before you deploy: how the new code would have gone through what is under way now. Nothing is run or written. */
async function tryOn(agent: Agent, store: Store, name: string): Promise<ReadonlyMap<string, string>> {
  const problems = new Map<string, string>();
  for (const sessionId of await unfinished(store, name)) {
    const { difference } = await agent.session(sessionId).replay({ prompt: "recorded", durable: "present" });
    if (difference !== null) problems.set(sessionId, difference.message);
  }
  return problems;
}

/** A worker of the new release has both versions. New sessions begin with the new one. */
async function work(store: Store, agents: readonly Agent[]): Promise<readonly WorkerReport[]> {
  const reports: WorkerReport[] = [];
  const worker = createWorker({ store, agents, onReport: (report) => reports.push(report) });
  process.once("SIGTERM", () => worker.stop()); // drain: nothing new, running calls have 5 s, sessions are given back
  await worker.runUntilIdle(); // a service calls worker.run()
  return reports;
}

// Version 1 refunds euros, and books in two steps.
const refunds: string[] = [];
const shop = (what: string) => {
  refunds.push(what);
  return what;
};
const asksFor = (name: string, input: { readonly [field: string]: number }) =>
  createScriptedModel(({ messages }) =>
    messages.at(-1)?.role === "tool"
      ? { text: JSON.stringify(messages.at(-1)).includes("isError") ? "It did not work." : "Refunded." }
      : { calls: [{ name, input }] },
  );
const store = await openSqliteStore({ path: "sessions.db" });
const createVersion1 = () =>
  createAgent({
    name: "support",
    model: asksFor("refund", { euros: 9 }),
    tools: [
      defineTool({
        name: "refund",
        description: "Refunds euros.",
        input: { type: "object", properties: { euros: { type: "number" } }, required: ["euros"] },
        needsApproval: true,
        execute: ({ euros }) => shop(`${Number(euros) * 100} cents`),
      }),
    ],
    store,
  });

// Version 2 takes cents. It still takes the calls of version 1, which people have approved as they are.
const createVersion2 = () =>
  createVersion1().with({
    tools: [
      defineTool({
        name: "refund",
        description: "Refunds cents.",
        input: {
          type: "object",
          properties: { cents: { type: "integer" }, euros: { type: "number", description: "Obsolete. Use cents." } },
        },
        needsApproval: true,
        execute: ({ cents, euros }) => shop(`${cents ?? Number(euros) * 100} cents`),
      }),
    ],
  });

// A version that takes cents only breaks what waits: Pawl runs nothing with an input that does not fit.
const createBrokenVersion = () =>
  createVersion1().with({
    tools: [
      defineTool({
        name: "refund",
        description: "Refunds cents.",
        input: { type: "object", properties: { cents: { type: "integer" } }, required: ["cents"] },
        needsApproval: true,
        execute: ({ cents }) => shop(`${cents} cents`),
      }),
    ],
  });

// The check: three runs of version 1 wait for a person.
const version1 = createVersion1();
for (const id of ["a", "b", "c"]) await version1.run("Refund 9 euros", { sessionId: id });
await version1.shutdown(); // the deployment: the old processes drain
assert.deepEqual((await unfinished(store, "support")).toSorted(), ["a", "b", "c"]);

// The new code is tried on what waits, before it is deployed.
assert.equal((await tryOn(createVersion2(), store, "support")).size, 0);
const problems = await tryOn(createBrokenVersion(), store, "support");
console.log(problems.get("a"));
assert.equal(problems.size, 3);

// A call that was approved under version 1 runs under version 2.
const approve = async (sessionId: string) => {
  const session = createClient({ store }).session(sessionId);
  for (const { callKey } of await session.pendingApprovals()) await session.answer(callKey, { type: "approve" });
};
await approve("a");
await work(store, [createVersion2()]);
assert.deepEqual(refunds, ["900 cents"]);

// Deployed all the same, the broken version refuses the call: nothing runs, and the model is told.
await approve("b");
await work(store, [createBrokenVersion()]);
assert.equal((await createClient({ store }).session("b").result())?.text, "It did not work.");
assert.deepEqual(refunds, ["900 cents"]);

// What cannot take the old calls gets a name of its own. A worker without the old agent leaves its sessions alone.
const version3 = createBrokenVersion().with({ name: "support-3", model: asksFor("refund", { cents: 500 }) });
await approve("c");
const [report] = await work(store, [version3.with({})]);
assert.equal(report?.type, "refused");
assert.deepEqual(await unfinished(store, "support"), ["c"]);
await work(store, [version3.with({}), createVersion2()]); // side by side
assert.deepEqual(await unfinished(store, "support"), []); // the old agent may go
assert.deepEqual(refunds, ["900 cents", "900 cents"]);
assert.equal((await version3.with({}).run("Refund 5 euros", { sessionId: "d" })).status, "awaiting_human");
console.log("Two versions side by side; the old one has nothing left to do.");
await store.close();
