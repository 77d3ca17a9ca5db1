/**
 * A worker of an earlier version of Pawl beside those of the kill test of schedules, as in a rolling deploy. It knows no sleeps and no
 * signals, so its tool only acts, and it must leave alone what sleeps. Argument: its options as JSON; `dist` is the folder of its build.
 *
 * It makes the store, and keeps it open while the later version changes the tables. It could not open the store after that.
 */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { earlierOutput } from "./check.mjs";

const { dist, place, journal } = JSON.parse(process.argv[2]);
const load = (file) => import(pathToFileURL(join(dist, file)).href);
const { createAgent, createWorker, defineTool } = await load("index.js");
const { createScriptedModel } = await load("testing/index.js");
const { openSqliteStore } = await load("stores/sqlite/index.js");
const { openPostgresStore } = await load("stores/postgres/index.js");

const serve = defineTool({
  name: "serve",
  description: "Acts.",
  input: { type: "object" },
  durable: true,
  async execute(_, { step, sessionId }) {
    await step("act", () => appendFileSync(journal, `${sessionId}\n`));
    return earlierOutput;
  },
});
const model = createScriptedModel(({ modelCallIndex }) =>
  modelCallIndex === 1 ? { calls: [{ name: "serve", input: {} }] } : { text: "Served." },
);

const store = await (place.url === undefined ? openSqliteStore({ path: place.path }) : openPostgresStore(place));
const worker = createWorker({
  store,
  agents: [createAgent({ name: "press", model, tools: [serve], store })],
  onReport(report) {
    if (report.type === "refused" && report.error?.code !== "newer_format")
      process.send({ error: `earlier version: ${report.sessionId}: ${report.error?.stack ?? report.error}` });
  },
});
process.on("disconnect", () => process.exit(1));
process.on("SIGTERM", () => worker.stop());
const working = worker.run();
process.send({ ready: true });
await working;
await store.close();
process.exit(0);
