/**
 * What callers do beside long histories, on SQLite: they start a run, connect again, and read a page. Each is timed
 * for short and for long histories in turns.
 */
import { join } from "node:path";
import { createAgent } from "../dist/index.js";
import { openSqliteStore } from "../dist/stores/sqlite/index.js";
import { inFolder } from "./folder.mjs";
import { modelOf, read, summariser } from "./long-talk.mjs";

const sessionId = "long";
const repetitions = 41;

async function onFile(work) {
  return await inFolder(async (folder) => {
    const open = () => openSqliteStore({ path: join(folder, "sessions.db"), synchronous: "normal" });
    const store = await open();
    try {
      return await work(store, open);
    } finally {
      await store.close();
    }
  });
}

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
 * The time from `agent.run` to the call of the model, at so many runs of one session. The repetitions are the runs that
 * follow, so that they fall on all sizes of the model's view alike.
 */
export async function runStarts(counts) {
  return await onFile(async (store) => {
    let calledAt = 0;
    const model = talking(() => {
      calledAt = performance.now();
    });
    const agent = createAgent({ model, store, compaction: { model: summariser }, limits: { maxCompactions: 100 } });
    const start = async () => {
      const before = performance.now();
      completed(await agent.run("And now?", { sessionId }));
      return calledAt - before;
    };
    // V8 compiles what is hot, whatever the length of the session: the shortest history is not the first to be run.
    for (let index = 0; index < 300; index += 1) await agent.run("Warm up.", { sessionId: `warm-${index % 10}` });
    const rows = [];
    let done = 0;
    for (const count of counts) {
      for (; done < count; done += 1) await start();
      const times = [];
      for (let index = 0; index < repetitions; index += 1, done += 1) times.push(await start());
      rows.push({ work: "the start of a run", history: `${count.toLocaleString("en")} runs`, times });
    }
    return rows.map((row) => ({ ...row, smallest: rows[0].times }));
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
    "a page of 100 events in the middle": ({ agent, last }) =>
      timed(agent.session(sessionId), { after: Math.floor(last / 2), follow: false }, 100),
  };
  const files = [];
  const inAll = async ([count, ...others]) => {
    if (count === undefined) return await timeAll(files, kinds);
    return await onFile(async (store, open) => {
      const limits = { maxSteps: count + 10, maxCompactions: count };
      const agentOn = (one) =>
        createAgent({ model: modelOf(count), tools: [read], store: one, limits, compaction: { model: summariser } });
      const agent = agentOn(store);
      completed(await agent.run("Look at every file.", { sessionId }));
      files.push({ count, open, agentOn, agent, last: (await agent.session(sessionId).state()).seq });
      return await inAll(others);
    });
  };
  return await inAll(counts);
}

/** Histories in turns: what disturbs the machine disturbs all of them. */
async function timeAll(files, kinds) {
  const rows = [];
  for (const [work, act] of Object.entries(kinds)) {
    const compared = work.startsWith("a page") ? files.filter(({ count }) => count >= 100) : files;
    const times = compared.map(() => []);
    for (let round = -5; round < repetitions; round += 1)
      for (const [index, file] of compared.entries()) {
        const ms = await act(file);
        if (round >= 0) times[index].push(ms);
      }
    for (const [index, { count }] of compared.entries())
      rows.push({ work, history: `${count.toLocaleString("en")} steps`, times: times[index], smallest: times[0] });
  }
  return rows;
}
