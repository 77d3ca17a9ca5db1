/**
 * A worker process of the kill test of schedules. It fires the schedules and drives their runs. Each run calls a tool that acts, sleeps for
 * 1 to 10 seconds and waits for a signal. Argument: its options as JSON.
 */
import { appendFileSync } from "node:fs";
import process from "node:process";
import { createAgent, createWorker, defineTool } from "pawl";
import { createScriptedModel } from "pawl/testing";
import { createRandom } from "../chaos/random.mjs";
import { openPlace } from "../chaos/store.mjs";

const { place, journal, clockOffsetMs } = JSON.parse(process.argv[2]);

const clock = {
  now: () => Date.now() + clockOffsetMs,
  elapsed: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

const serve = defineTool({
  name: "serve",
  description: "Acts, sleeps and waits.",
  input: { type: "object" },
  durable: true,
  async execute(_, { step, sleep, waitFor, sessionId }) {
    await step("act", () => appendFileSync(journal, `${sessionId}\n`));
    await sleep("a while", { ms: createRandom("sleep", sessionId).whole(1_000, 10_000) });
    const paid = await waitFor("payment", { key: sessionId, timeoutMs: 3_600_000 });
    return paid.type;
  },
});
const model = createScriptedModel(({ modelCallIndex }) =>
  modelCallIndex === 1 ? { calls: [{ name: "serve", input: {} }] } : { text: "Served." },
);

const store = await openPlace(place);
const worker = createWorker({
  store,
  clock,
  agents: [createAgent({ name: "press", model, tools: [serve], store, clock })],
  onReport(report) {
    const isAway = report.error?.code === "store_failed";
    if (["refused", "schedule_failed"].includes(report.type) && !isAway)
      process.send({ error: `${report.sessionId ?? report.scheduleId}: ${report.error?.stack ?? report.error}` });
  },
});
process.on("disconnect", () => process.exit(1));
process.on("SIGTERM", () => worker.stop());
await worker.run();
await store.close();
process.exit(0);
