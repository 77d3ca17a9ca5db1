/**
 * A long job: a tool that reads, works through and writes page by page, each page a step. The request returns at once, a
 * worker does the job, and a worker that is killed is followed by one that goes on behind the last page.
 */
import assert from "node:assert/strict";
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createAgent, createClient, createWorker, defineTool, type Store } from "pawl";
import { openSqliteStore } from "pawl/sqlite";
import { createScriptedModel, killTest } from "pawl/testing";

type Customer = { readonly id: number; readonly mail: string };
/** The systems around the job. `send` takes each key once. */
type World = {
  readonly page: (number: number, signal: AbortSignal) => Promise<readonly Customer[]>;
  readonly send: (mails: readonly string[], key: string) => Promise<void>;
};

function createCampaignTool({ page, send }: World) {
  return defineTool({
    name: "run_campaign",
    description: "Writes to all customers.",
    input: {
      type: "object",
      properties: { pages: { type: "integer", minimum: 1, maximum: 400 } },
      required: ["pages"],
    },
    durable: true, // every effect is in a step, so the call runs again by itself after a crash
    timeoutMs: 6 * 3_600_000,
    async execute({ pages }, { step, progress }) {
      let sent = 0;
      for (let number = 1; number <= Number(pages); number += 1) {
        // A value of a step is in the log: keep it small, and read large things again by their id.
        const mails = await step("read", async ({ signal }) => (await page(number, signal)).map(({ mail }) => mail), {
          timeoutMs: 30_000,
          retry: { attempts: 5 },
        });
        await step("send", ({ idempotencyKey }) => send(mails, idempotencyKey), { timeoutMs: 60_000 });
        sent += mails.length;
        progress(`${number} of ${pages} pages, ${sent} mails`);
      }
      return `${sent} mails`;
    },
  });
}

/** What a web route does: it posts the request, and returns. The id makes a request that is sent twice one job. */
async function startJob(store: Store, jobId: string, text: string): Promise<void> {
  const session = createClient({ store }).session(jobId);
  await session.send(text, { agent: "campaigns", runId: jobId });
}

/** What a page asks that shows the job. */
async function stateOfJob(store: Store, jobId: string): Promise<string> {
  const session = createClient({ store }).session(jobId);
  const result = await session.result();
  if (result !== null) return `${result.status}: ${result.text}`;
  let pages = 0;
  for await (const event of session.events({ follow: false }))
    if (event.type === "tool_step" && event.step.startsWith("send")) pages += 1;
  return `${pages} pages sent`;
}

/** The process that does the work. Start as many as you like; each job is done by one of them. */
async function work(): Promise<void> {
  const store = await openSqliteStore({ path: "jobs.db" });
  const agent = createAgent({
    name: "campaigns",
    model: createScriptedModel(({ messages }) => {
      const last = messages.at(-1);
      if (last?.role === "tool") return { text: `Done: ${JSON.stringify(last).match(/\d+ mails/)?.[0]}.` };
      return { calls: [{ name: "run_campaign", input: { pages: 4 } }] };
    }),
    tools: [createCampaignTool(files)],
    store,
  });
  const worker = createWorker({ store, agents: [agent] });
  process.once("SIGTERM", () => worker.stop()); // it lets the tool go at its next step
  await startJob(store, "spring", "Write to all customers."); // here, so that the check has one program
  await worker.runUntilIdle(); // a service calls worker.run()
  console.log(await stateOfJob(store, "spring"));
  await store.close();
}

/** Files in the place of your customers and your mail provider. */
const files: World = {
  async page(number) {
    appendFileSync("read.txt", `${number}\n`);
    return [1, 2, 3].map((one) => ({ id: one, mail: `customer-${number}-${one}@example.org` }));
  },
  async send(mails, key) {
    appendFileSync("sent.txt", `${key} ${mails.length}\n`);
  },
};

// The check: the worker is killed behind the second page, and another one is started.
if (process.argv[2] === "work") await work();
else {
  const report = await killTest({
    script: fileURLToPath(import.meta.url),
    args: ["work"],
    openStore: (folder) => openSqliteStore({ path: join(folder, "jobs.db") }),
    kills: { at: ["after 6"] },
    check({ folder, stdout }) {
      assert.equal(stdout, "completed: Done: 12 mails.\n");
      const lines = (file: string) => readFileSync(join(folder, file), "utf8").trim().split("\n");
      assert.deepEqual(lines("read.txt"), ["1", "2", "3", "4"]); // no page was read twice
      const keys = lines("sent.txt").map((line) => line.split(" ")[0]);
      assert.deepEqual(
        keys,
        ["send", "send#2", "send#3", "send#4"].map((name) => `spring/spring/1/1/${name}`),
      );
    },
  });
  assert.equal(report.kills, 1);
  console.log("Killed in the middle, started again: 12 mails, none of them twice.");
}
