/**
 * What callers do beside long histories, on SQLite: they start a run, connect again, and read a page. Each is timed
 * for short and for long histories in turns: what disturbs the machine disturbs all of them.
 */
import { join } from "node:path";
import { createAgent } from "../dist/index.js";
import { openSqliteStore } from "../dist/stores/sqlite/index.js";
import { inFolder } from "./folder.mjs";
import { modelOf, read, summarizer } from "./long-talk.mjs";

const sessionId = "long";
const repetitions = 51;
const warmUps = 5;

function completed({ status, reason }) {
  if (status !== "completed") throw new Error(`the run is ${status} (${reason})`);
}

const answer = "Another request was answered, as the one before it was. ".repeat(10);

/** Answers with text. It reports no usage, so Pawl estimates the size of the conversation. */
function talking(onCall) {
  return {
    id: "bench",
    contextWindow: 2_000,
    async *stream() {
      onCall();
      yield { kind: "text-delta", id: "t", text: answer };
      yield { kind: "done", finishReason: { unified: "stop" }, usage: {} };
    },
  };
}

/**
 * The time from `agent.run` to the call of the model, in sessions of so many runs. The repetitions are the runs that
 * follow, so that they fall on all sizes of the model's view alike.
 */
export async function runStarts(counts) {
  return await inFolder(async (folder) => {
    const store = await openSqliteStore({ path: join(folder, "sessions.db"), synchronous: "normal" });
    let calledAt = 0;
    const model = talking(() => {
      calledAt = performance.now();
    });
    const agent = createAgent({ model, store, compaction: { model: summarizer }, limits: { maxCompactions: 100 } });
    const start = async (sessionId) => {
      const before = performance.now();
      completed(await agent.run("And now?", { sessionId }));
      return calledAt - before;
    };
    const sessions = counts.map((count) => ({ count, sessionId: `runs-${count}`, times: [] }));
    for (const { count, sessionId } of sessions) for (let index = 0; index < count; index += 1) await start(sessionId);
    for (let round = 0; round < repetitions; round += 1)
      for (const { sessionId, times } of sessions) times.push(await start(sessionId));
    await store.close();
    return sessions.map(({ count, times }) => ({
      work: "the start of a run",
      history: `${count.toLocaleString("en")} runs`,
      times,
      smallest: sessions[0].times,
    }));
  });
}

/** Reads this many events, and the time that it took. */
async function timed(session, options, most) {
  const before = performance.now();
  let count = 0;
  for await (const item of session.events(options)) {
    if (!("seq" in item)) continue;
    count += 1;
    if (count === most) break;
  }
  if (count !== most) throw new Error(`there were ${count} events, not ${most}`);
  return performance.now() - before;
}

/** The first event after a reconnect, and a page in the middle, in sessions of so many steps. */
export async function reconnects(counts) {
  const kinds = {
    "the first event after a reconnect, same agent object": ({ agent, last }) =>
      timed(agent.session(sessionId), { after: `${last - 2}.1` }, 1),
    "the first event after a reconnect, new agent object and connection": async ({ open, agentOn, last }) => {
      const store = await open();
      try {
        return await timed(agentOn(store).session(sessionId), { after: `${last - 2}.1` }, 1);
      } finally {
        await store.close();
      }
    },
    // Other places in each round: what must be read for one depends on how long ago the last compaction was.
    "a page of 100 events in the middle": ({ agent, last }, round) =>
      timed(agent.session(sessionId), { after: Math.floor(last / 2) + (round % 25), follow: false }, 100),
  };
  return await inFolder(async (folder) => {
    const files = [];
    try {
      for (const count of counts) files.push(await longTalk(join(folder, `${count}.db`), count));
      return await timeAll(files, kinds);
    } finally {
      for (const { close } of files) await close();
    }
  });
}

/** A file with one session of so many steps. */
async function longTalk(path, count) {
  const open = () => openSqliteStore({ path, synchronous: "normal" });
  const limits = { maxSteps: count + 10, maxCompactions: count };
  const agentOn = (store) =>
    createAgent({ model: modelOf(count), tools: [read], store, limits, compaction: { model: summarizer } });
  const store = await open();
  const agent = agentOn(store);
  completed(await agent.run("Look at every file.", { sessionId }));
  const { seq: last } = await agent.session(sessionId).state();
  return { count, open, agentOn, agent, last, close: () => store.close() };
}

async function timeAll(files, kinds) {
  const rows = [];
  for (const [work, act] of Object.entries(kinds)) {
    const compared = work.startsWith("a page") ? files.filter(({ count }) => count >= 100) : files;
    const times = compared.map(() => []);
    for (let round = -warmUps; round < repetitions; round += 1)
      for (const [index, file] of compared.entries()) {
        const ms = await act(file, round + warmUps);
        if (round >= 0) times[index].push(ms);
      }
    for (const [index, { count }] of compared.entries())
      rows.push({ work, history: `${count.toLocaleString("en")} steps`, times: times[index], smallest: times[0] });
  }
  return rows;
}
