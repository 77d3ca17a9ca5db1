/**
 * One trial: an agent calls `pawl` over MCP, which edits a file after a person has said yes. Client and server are killed at moments that the
 * seed draws, in terms of how far their logs have come. The person answers through the store of the client, from a third process.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "pawl";
import { createRandom } from "../chaos/random.mjs";
import { openPlace } from "../chaos/store.mjs";
import { startClient, startServer } from "./processes.mjs";

const before = "colour\n";
/** An edit that ran twice would be seen: it would have replaced a word of its own result. */
const after = "colour-colour\n";
const prompt = 'Replace "colour" with "colour-colour" in notes.txt';
const sessionId = "caller";
/** Only a run that goes on never is a failure: on a busy machine, each of the processes takes long to start. */
const maxTrialMs = 600_000;
/** Between two looks at a log. */
const lookMs = 10;
/** A process dies when its log has this many entries or fewer. At the end of a trial, the logs have a few more. */
const [maxServerEntries, maxClientEntries] = [9, 14];
/** Up to this long after an entry, a process dies. The longest pauses reach into the polls of the task. */
const maxDelaysMs = [5, 100, 1_500];

/**
 * @param {{ readonly seed: number, readonly transport: "http" | "stdio", readonly places: { readonly server: object,
 *   readonly client: object } | null }} options `places`: the databases; null for files in the folder of the trial
 * @returns how the call ended, the number of kills, and what was wrong
 */
export async function runTrial({ seed, transport, places }) {
  const random = createRandom(seed, transport);
  const folder = mkdtempSync(join(tmpdir(), "pawl-mcp-kills-"));
  const root = join(folder, "root");
  for (const name of ["root", "home"]) mkdirSync(join(folder, name));
  const notes = join(root, "notes.txt");
  writeFileSync(notes, before);
  const { server: serverPlace, client: place } = places ?? {
    server: { path: join(folder, "server.db") },
    client: { path: join(folder, "client.db") },
  };
  const stores = { server: await openPlace(serverPlace), client: await openPlace(place) };
  const server = await startServer(transport, { folder, root, store: serverPlace.url ?? serverPlace.path });
  const trial = { isOver: false, kills: { server: 0, client: 0 }, client: null };
  const lengths = {
    server: async () => (await readServerLogs(stores.server)).reduce((sum, log) => sum + log.length, 0),
    client: async () => (await stores.client.read(sessionId)).length,
  };
  const drawKills = (who, maxEntries) => Array.from({ length: random.whole(1, 2) }, () => drawKill(who, maxEntries));
  const drawKill = (who, maxEntries) => ({
    who,
    entries: random.whole(1, maxEntries),
    delayMs: random.whole(0, random.one(maxDelaysMs)),
  });
  const kills = [...drawKills("server", maxServerEntries), ...drawKills("client", maxClientEntries)];
  const killing = kills.map(async ({ who, entries, delayMs }) => {
    while (!trial.isOver && (await lengths[who]()) < entries) await pause(lookMs);
    await pause(delayMs);
    if (!trial.isOver && (who === "server" ? server : trial.client).kill()) trial.kills[who] += 1;
  });
  const problem = await carryOut(trial, stores, { place, transport: server.transport, prompt, sessionId, notes });
  trial.isOver = true;
  await Promise.all(killing);
  await trial.client.close();
  await server.close();
  const found = await examine(stores, readFileSync(notes, "utf8"));
  for (const store of Object.values(stores)) await store.close();
  const problems = [...(problem === null ? [] : [problem]), ...found.problems];
  if (problems.length === 0) rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  return { outcome: found.outcome, kills: trial.kills, problems: problems.map((text) => `${text} (${folder})`) };
}

/** Starts clients until the run has ended, and answers what it asks. Returns what went wrong; null if nothing did. */
async function carryOut(trial, stores, options) {
  const deadline = performance.now() + maxTrialMs;
  const session = createClient({ store: stores.client }).session(sessionId);
  const late = new AbortController();
  const isLate = pause(maxTrialMs, "late", { signal: late.signal }).catch(() => "early");
  try {
    while (performance.now() < deadline) {
      trial.client = startClient(options);
      const ended = await Promise.race([trial.client.ended, isLate]);
      if (ended === "late") break;
      if (ended.code === 0) return null;
      if (ended.code !== 3) return `the client ended with ${ended.code}: ${ended.stderr}`;
      for (const { callKey, questionId, schema } of await session.pendingApprovals())
        await session.answer(
          callKey,
          { type: "reply", value: { decision: decide(schema, options.notes) } },
          { questionId },
        );
    }
    return `the run has not ended within ${maxTrialMs / 1_000} s`;
  } finally {
    late.abort();
  }
}

/**
 * Allows the edit. If the server was killed during the edit, it asks what became of it. Its process is dead, so the file says that.
 */
function decide({ properties }, notes) {
  const choices = properties.decision.enum;
  if (choices.includes("allow")) return "allow";
  return readFileSync(notes, "utf8") === after ? "done" : "again";
}

async function readServerLogs(store) {
  return await Promise.all((await store.list()).map((summary) => store.read(summary.sessionId)));
}

/**
 * What must hold wherever the processes were killed: one call is at most one session, one run and one edit. Once the client's log
 * has the task, the call ends with its result. Only a call that was cut off before that may end with an unknown outcome.
 */
async function examine(stores, notes) {
  const problems = [];
  const expect = (holds, text) => {
    if (!holds) problems.push(text);
  };
  for (const [name, store] of Object.entries(stores))
    expect((await store.verify()).length === 0, `the store of the ${name} is damaged`);
  const logs = (await readServerLogs(stores.server)).map(toEvents);
  const served = logs.flat();
  const called = toEvents(await stores.client.read(sessionId));
  const count = (events, wanted) => events.filter(({ type }) => type === wanted).length;
  const [finished] = called.filter(({ type }) => type === "tool_finished");
  const [edited] = served.filter(({ type, name }) => type === "tool_finished" && name === "edit_file");
  const hasTask = called.some(({ type, value }) => type === "tool_step_finished" && value?.type === "task");
  expect(logs.length <= 1, `the call began ${logs.length} sessions`);
  expect(count(served, "run_started") <= 1, "the call began several runs");
  expect(count(called, "tool_finished") === 1, `the call has ${count(called, "tool_finished")} results`);
  const answers = called
    .filter(({ type }) => type === "answered")
    .map(({ callKey, questionId }) => `${callKey} ${questionId}`);
  expect(new Set(answers).size === answers.length, "a question was answered twice");
  expect(count(served, "answered") <= answers.length, "the server has more answers than a person gave");
  expect(notes === before || notes === after, `the file is ${JSON.stringify(notes)}`);
  const outcome = finished?.outcome === "ok" ? "result" : "unknown";
  if (outcome === "unknown") expect(!hasTask, `the task is known, and the call ended so: ${JSON.stringify(finished)}`);
  if (outcome === "result") {
    expect(count(served, "run_finished") === 1, "the call has a result, and its run has not ended");
    expect(answers.length > 0, "the call has a result, and nobody was asked");
    expect(edited?.outcome !== "ok" || notes === after, "the edit has succeeded, and the file has not changed");
  }
  if (problems.length > 0) problems.push(`server: ${formatTypes(served)}; client: ${formatTypes(called)}`);
  return { outcome, problems };
}

function formatTypes(events) {
  return events.map(({ type }) => type).join(" ");
}

function toEvents(log) {
  return log.map(({ event }) => event);
}
