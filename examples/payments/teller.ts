/**
 * One of the processes that are killed. It accepts orders, carries on the due sessions of the shared file, and
 * answers the questions that wait for a person.
 */
import { setTimeout as wait } from "node:timers/promises";
import { type Agent, createAgent, createWorker, type Store } from "pawl";
import { openSqliteStore } from "pawl/sqlite";
import { createScriptedModel } from "pawl/testing";
import { slowestMs } from "./bank.js";
import { type Chance, createChance } from "./chance.js";
import { type Plan, sayNext } from "./plan.js";
import { findBookings, transferTool, type WayName } from "./ways.js";

export type TellerOptions = {
  readonly file: string;
  readonly bank: string;
  readonly way: WayName;
  readonly plan: Plan;
  /** Other delays in each process. */
  readonly life: number;
};

/** An order to make the transfers of this session. */
export type Accept = { readonly accept: string };
export type Report =
  | { readonly type: "ready" }
  | { readonly type: "accepted"; readonly sessionId: string }
  | { readonly type: "restarted"; readonly sessionId: string }
  /** `isProgress`: false if the last kill cut the call off. */
  | { readonly type: "result"; readonly sessionId: string; readonly isProgress: boolean };

const options = JSON.parse(process.argv[2] ?? "") as TellerOptions;
const { file, bank, way, plan } = options;
const chance = createChance(`${plan.seed}/life/${options.life}`);
const store = dawdling(await openSqliteStore({ path: file }), chance);
const report = (what: Report) => void process.send?.(what);

const agent: Agent = createAgent({
  name: "teller",
  model: createScriptedModel((request) => sayNext(request, plan), { record: false }),
  tools: [transferTool(way, bank)],
  store,
  limits: { maxSteps: plan.steps + 1 },
  onToolResult: ({ sessionId, outcome }) => report({ type: "result", sessionId, isProgress: outcome === "ok" }),
  observers: [{ onEvent: ({ type, sessionId }) => type === "restarted" && report({ type, sessionId }) }],
});

process.on("message", ({ accept }: Accept) => void take(accept));
process.on("disconnect", () => process.exit(0));
report({ type: "ready" });
void createWorker({ store, agents: [agent], pollMs: 50 }).run();
if (way === "ask") void answerQuestions();

/** The run has the name of its session: an order that is sent again is the same order. */
async function take(sessionId: string): Promise<void> {
  await agent.session(sessionId).send("Make the transfers.", { runId: sessionId });
  report({ type: "accepted", sessionId });
}

/** Does what a person would do: waits until the bank must be done, looks at the statement, and answers by it. */
async function answerQuestions(): Promise<never> {
  for (;;) {
    const asked = await store.list({ status: ["awaiting_human"] });
    for (const { sessionId, updatedAt } of asked) if (updatedAt < Date.now() - slowestMs) await answerAll(sessionId);
    await wait(50);
  }
}

async function answerAll(sessionId: string): Promise<void> {
  const session = agent.session(sessionId);
  for (const { callKey } of await session.pendingApprovals()) {
    const [booking] = await findBookings(bank, callKey);
    await session.answer(callKey, booking === undefined ? { type: "rerun" } : { type: "result", output: booking });
  }
}

/** A store that waits before and after each commit, so that a kill can hit the process there too. */
function dawdling(inner: Store, { between }: Chance): Store {
  return {
    ...inner,
    async commit(lease, commit) {
      await wait(between(0, 4));
      const result = await inner.commit(lease, commit);
      await wait(between(0, 4));
      return result;
    },
  };
}
