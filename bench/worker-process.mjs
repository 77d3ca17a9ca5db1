/**
 * A worker process of `npm run bench -- workers`. It says `working` when it takes up work, then a line for each run that it has carried
 * to its end, and ends by SIGTERM.
 */
import { parseArgs } from "node:util";
import { createAgent, createWorker } from "../dist/index.js";
import { openPostgresStore } from "../dist/stores/postgres/index.js";
import { look, lookingModel } from "./looking-agent.mjs";

const { values } = parseArgs({
  options: {
    store: { type: "string" },
    steps: { type: "string", default: "10" },
    concurrency: { type: "string", default: "10" },
    /** Its tool never ends. */
    hangs: { type: "boolean", default: false },
  },
});
const store = await openPostgresStore({ url: values.store });
const tool = values.hangs ? { ...look, execute: () => new Promise(() => {}) } : look;
const agent = createAgent({ name: "bench", model: lookingModel(Number(values.steps)), tools: [tool], store });
const onReport = ({ type }) => {
  if (type === "left") console.log("run");
};
const worker = createWorker({ store, agents: [agent], concurrency: Number(values.concurrency), onReport });
const working = worker.run();
process.once("SIGTERM", () => void worker.stop());
console.log("working");
await working;
await store.close();
