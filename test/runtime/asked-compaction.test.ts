/**
 * A compaction that a person asks for: at rest, in a run, from another process, and after a crash.
 */
import { describe, expect, test } from "vitest";
import { type AgentOptions, createAgent, createMemoryStore, type Store } from "../../src/index.js";
import { modelRequests } from "../../src/inspect.js";
import { createScriptedModel, type Script } from "../../src/testing/scripted-model.js";
import { createDeferred, createGateTool } from "../support/agents.js";
import { createFailingStore, localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const proven = verifies("CTX-3", "CHAT-3#compact");
const long = "A sentence of some length that fills the window. ".repeat(20);
const id = { sessionId: "s" } as const;
const summary = { text: "## Keep\n- the plan\n\n## Summary\nSo far." };

function begin(store: Store, options: Partial<AgentOptions> = {}, summaries: Script = () => summary) {
  const summarizer = createScriptedModel(summaries);
  const model = createScriptedModel(() => ({ text: long, usage: {} }));
  const compaction = { contextWindow: 100_000, model: summarizer };
  const agent = createAgent({ model, store, compaction, ...options });
  return { agent, model, summarizer, session: agent.session("s") };
}

async function talk({ agent }: Pick<ReturnType<typeof begin>, "agent">): Promise<void> {
  for (let run = 1; run <= 3; run += 1) await agent.run(`Say it, ${run}.`, { ...id, runId: `r${run}` });
}

const made = expect.objectContaining({ type: "compacted", summary: "So far.", retained: ["the plan"] });
const unchanged = (code: string) => ({ type: "unchanged", fault: expect.objectContaining({ code }) });

describe.each(localStores)("in $name", ({ open }) => {
  test("a session at rest is summed up at once, and the summarizer is told what to keep", proven, () =>
    withStore(open, async (store) => {
      const { session, ...first } = begin(store);
      await talk(first);
      const before = await session.state();
      expect(await session.compact({ keep: "the colour of the door", by: "Ada" })).toEqual(made);
      expect(first.summarizer.requests[0]?.systemPrompt).toContain("the colour of the door");
      expect(await session.state()).toEqual({
        ...before,
        restarts: 0,
        seq: before.seq + 2,
        context: expect.objectContaining({ compactedSeq: before.seq + 2 }),
      });
      expect(await session.result()).toMatchObject({ status: "completed", runId: "r3" });
      expect((await store.read("s")).at(-2)?.event).toMatchObject({
        type: "compaction_requested",
        keep: "the colour of the door",
        by: "Ada",
      });
      // What another process reads from the log is the same, and the next run goes on from there.
      const other = begin(store);
      expect(await other.session.messages()).toEqual(await session.messages());
      await other.agent.run("And now?", { ...id, runId: "r4" });
      const sent = JSON.stringify(other.model.requests[0]?.messages);
      expect(sent).toContain("So far.");
      expect(sent).not.toContain("Say it, 1.");
      expect(await session.replay()).toMatchObject({ difference: null });
      const asked = [];
      for await (const request of modelRequests(store, "s")) if (request.purpose === "compaction") asked.push(request);
      expect(asked).toEqual(first.summarizer.requests);
      expect(await store.verify()).toEqual([]);
    }),
  );

  test("a store that fails before the summary is written loses nothing: the next process makes it", proven, () =>
    withStore(open, async (inner) => {
      const { store, failCommits, repair } = createFailingStore(inner);
      const first = begin(store);
      await talk(first);
      failCommits(2);
      await expect(first.session.compact()).rejects.toMatchObject({ code: "store_failed" });
      repair();
      const second = begin(inner);
      expect(await second.session.state()).toMatchObject({ compactionAsked: {} });
      await second.session.resume();
      expect(JSON.stringify(await second.session.messages())).toContain("So far.");
      expect(await second.session.state()).not.toHaveProperty("compactionAsked");
    }),
  );

  test("in a run it comes before the next model call, also if another process has the run", proven, () =>
    withStore(open, async (store) => {
      const gate = createGateTool();
      const model = createScriptedModel(({ messages }) =>
        JSON.stringify(messages).includes("wait for it") && messages.at(-1)?.role === "user"
          ? { calls: [{ name: "gate" }], usage: {} }
          : { text: long, usage: {} },
      );
      const holder = begin(store, { model, tools: [gate.tool] });
      await talk(holder);
      const run = holder.agent.run("wait for it", { ...id, runId: "r4" });
      await gate.started;
      const other = begin(store, { model, tools: [gate.tool] });
      const asked = other.session.compact();
      await until(async () => (await other.session.state()).compactionAsked !== undefined);
      gate.open("open");
      expect(await asked).toEqual(made);
      expect(await run).toMatchObject({ status: "completed" });
      expect(holder.summarizer.requests).toHaveLength(1);
      expect(other.summarizer.requests).toHaveLength(0);
      // The request of the run and the result that no model had seen are still there.
      const messages = JSON.stringify(model.requests.at(-1)?.messages);
      for (const text of ["So far.", "wait for it", "open"]) expect(messages).toContain(text);
    }),
  );
});

/** Looks again until something is so; what is looked at is in a store, so each look takes a turn. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve));
}

test("a run that starts meanwhile takes it over, and its own words stay", proven, async () => {
  const store = createMemoryStore();
  const wait = createDeferred();
  let asked = 0;
  const { agent, session, model } = begin(store, {}, () => (++asked === 1 ? { wait: wait.promise } : summary));
  await talk({ agent });
  const outcome = session.compact();
  await until(async () => asked > 0);
  await agent.run("And this?", { ...id, runId: "r4" });
  expect(await outcome).toEqual(made);
  expect(asked).toBe(2);
  const sent = JSON.stringify(model.requests.at(-1)?.messages);
  expect(sent).toContain("So far.");
  expect(sent).toContain("And this?");
});

test("an abort stops it, and the conversation stays as it was", proven, async () => {
  const { session, ...first } = begin(createMemoryStore(), {}, () => ({ wait: new Promise(() => {}) }));
  await talk(first);
  const messages = await session.messages();
  const outcome = session.compact();
  await until(async () => first.summarizer.requests.length > 0);
  await session.abort({ by: "Ada" });
  expect(await outcome).toEqual(unchanged("aborted"));
  expect(await session.messages()).toEqual(messages);
});

test("a run before an aborted compaction keeps its end", proven, async () => {
  const store = createMemoryStore();
  const { session, ...first } = begin(store, {}, () => ({ wait: new Promise(() => {}) }));
  await talk(first);
  const outcome = session.compact();
  await until(async () => first.summarizer.requests.length > 0);
  await session.abort();
  await outcome;
  // The same id asks for the same run again, in this process and in another one.
  for (const { agent } of [first, begin(store)])
    expect(await agent.run("Say it, 3.", { ...id, runId: "r3" })).toMatchObject({ status: "completed", runId: "r3" });
  await first.agent.run("And now?", { ...id, runId: "r4" });
  expect(await begin(store).agent.run("Say it, 3.", { ...id, runId: "r3" })).toMatchObject({ status: "completed" });
});

test("several who ask get the same answer", proven, async () => {
  const { session, ...first } = begin(createMemoryStore());
  await talk(first);
  expect(await Promise.all([session.compact(), session.compact()])).toEqual([made, made]);
  expect(first.summarizer.requests).toHaveLength(1);
});

test("a run that waits for a person is compacted when it goes on", proven, async () => {
  const { session, ...first } = begin(createMemoryStore(), {
    model: createScriptedModel(({ messages }) =>
      messages.at(-1)?.role === "user" && JSON.stringify(messages).includes("for an answer")
        ? { calls: [{ name: "gate" }], usage: {} }
        : { text: long, usage: {} },
    ),
    tools: [createGateTool().tool],
    canExecuteTool: () => ({ verdict: "ask" }),
  });
  await talk(first);
  const run = await first.agent.run("Wait for an answer.", { ...id, runId: "r4" });
  expect(run.status).toBe("awaiting_human");
  expect(await session.compact()).toEqual({ type: "pending" });
  const [question] = await session.pendingApprovals();
  await session.answer(question?.callKey ?? "", { type: "deny" });
  expect(await session.resume()).toMatchObject({ status: "completed" });
  expect(JSON.stringify(await session.messages())).toContain("So far.");
});

test("what cannot be made smaller stays as it is, and says why", proven, async () => {
  const short = begin(createMemoryStore());
  await expect(short.session.compact()).rejects.toMatchObject({ code: "no_session" });
  await short.session.seed([{ role: "user", parts: [{ type: "text", text: "Before." }] }]);
  expect(await short.session.compact()).toEqual(unchanged("nothing_to_compact"));
  const off = begin(createMemoryStore(), { compaction: null });
  await talk(off);
  expect(await off.session.compact()).toMatchObject({
    type: "unchanged",
    fault: { message: "The agent compacts nothing: its option compaction is null." },
  });
  const empty = begin(createMemoryStore(), {}, () => ({ text: " " }));
  await talk(empty);
  expect(await empty.session.compact()).toEqual(unchanged("empty_summary"));
});

test("without compaction on its own, it is made if somebody asks", proven, async () => {
  const summarizer = createScriptedModel([summary]);
  const { session, ...first } = begin(createMemoryStore(), { compaction: { auto: false, model: summarizer } });
  await talk(first);
  expect(await session.compact()).toEqual(made);
});

test("a fork leaves it to its source", proven, async () => {
  const wait = createDeferred();
  const { session, ...first } = begin(createMemoryStore(), {}, () => ({ ...summary, wait: wait.promise }));
  await talk(first);
  const outcome = session.compact();
  await until(async () => first.summarizer.requests.length > 0);
  const fork = await session.fork({ sessionId: "copy" });
  expect(await fork.state()).toMatchObject({ status: "completed" });
  expect(await fork.state()).not.toHaveProperty("compactionAsked");
  wait.resolve();
  expect(await outcome).toEqual(made);
});

test("its options are checked, and the wait ends when its signal is aborted", proven, async () => {
  const { session, ...first } = begin(createMemoryStore(), {}, () => ({ wait: new Promise(() => {}) }));
  await talk(first);
  await expect(session.compact({ keep: "x".repeat(10_001) })).rejects.toMatchObject({ code: "bad_input" });
  await expect(session.compact({ directives: "x" } as never)).rejects.toThrow("keep");
  const stop = new AbortController();
  const outcome = session.compact({ signal: stop.signal });
  await until(async () => first.summarizer.requests.length > 0);
  stop.abort(new Error("enough"));
  await expect(outcome).rejects.toThrow("enough");
  await session.abort();
});
