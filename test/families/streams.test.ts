/**
 * A session and the sessions below it as one stream.
 */
import { describe, expect, test } from "vitest";
import {
  createAgent,
  createMemoryStore,
  type FamilyItem,
  PawlError,
  type Store,
  type StreamItem,
} from "../../src/index.js";
import { streamFamily } from "../../src/runtime/api/family-stream.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";
import {
  collect,
  createEventReader,
  expectChildOrder,
  expectCursorsAddUp,
  expectMatchesLogs,
  groupCursors,
  isEnd,
  isLogged,
  type LoggedItem,
} from "./stream-checks.js";
import { createApprovalTool, createFamily, createGatedTool, type Member, waitUntil } from "./tree.js";

const proven = verifies("STRM-11");

const leaf: Member = { name: "leaf" };
const worker: Member = { name: "worker", members: [leaf] };
const helper: Member = { name: "helper", members: [{ name: "aide" }] };
const boss: Member = { name: "boss", members: [worker, helper] };

describe.each(localStores)("a stream with children, in $name", ({ open }) => {
  const inStore = (work: (store: Store) => Promise<void>) => withStore(open, work);

  test("has every event of every session below, live and from the logs", proven, () =>
    inStore(async (store) => {
      const agent = createFamily(boss, { store });
      const stream = agent.runStream("Go.", { sessionId: "p", children: true });
      const live = await collect(stream);
      expect((await stream.result).status).toBe("completed");
      const later = await collect(agent.session("p").events({ children: true, follow: false }));
      const sessions = (await store.list()).map(({ sessionId }) => sessionId).sort();
      expect(sessions).toHaveLength(5);
      for (const items of [live, later]) {
        expect(Object.keys(groupCursors(items)).sort()).toEqual(sessions);
        await expectMatchesLogs(items, createEventReader(agent, store));
      }
      expect(Math.max(...later.map(({ depth }) => depth))).toBe(2);
    }),
  );

  test("takes the items of each session from elsewhere, if it is told to", proven, () =>
    inStore(async (store) => {
      const agent = createFamily(boss, { store });
      await agent.runStream("Go.", { sessionId: "p" }).result;
      const asked: string[] = [];
      const items = agent.session("p").events({
        children: true,
        itemsOf(session, { after, signal }) {
          asked.push(`${session.id} ${after}`);
          return session.events({ after, signal });
        },
      });
      const told = await collect(items, isEnd);
      expect(asked[0]).toBe("p 0");
      await expectMatchesLogs(told, createEventReader(agent, store));
      const alone = agent.session("p").events({ itemsOf: (session, options) => session.events(options) });
      await expect(alone.next()).rejects.toThrow(expect.objectContaining({ code: "bad_input" }));
    }),
  );

  test("a session below has its deltas when it is followed alone through the agent at the top", proven, () =>
    inStore(async (store) => {
      const work = createGatedTool("work");
      const agent = createFamily({ name: "boss", members: [{ name: "worker", tools: [work.tool] }] }, { store });
      const types = new Set<string>();
      const stream = agent.runStream("Go.", { sessionId: "p" });
      await work.reached;
      const [child] = await store.list({ parent: "p" });
      const following = agent.session(child?.sessionId ?? "").events({ until: "run" });
      const first = await following.next();
      work.open();
      for await (const item of following) types.add(item.type);
      expect(first.value?.type).toBe("session_created");
      expect(types).toContain("delta");
      expect((await stream.result).status).toBe("completed");
    }),
  );

  test("has the deltas of a session below that is driven here", proven, () =>
    inStore(async (store) => {
      const work = createGatedTool("work");
      const agent = createFamily(
        { name: "boss", members: [{ name: "worker", members: [{ name: "leaf", tools: [work.tool] }] }] },
        { store },
      );
      const items: FamilyItem[] = [];
      for await (const item of agent.runStream("Go.", { sessionId: "p", children: true })) {
        items.push(item);
        if (item.type === "tool_call" && item.name === "work") work.open();
      }
      const streamed = items.flatMap((item) =>
        item.type === "delta" && item.depth === 2 && item.delta.kind === "text-delta" ? [item.delta.text] : [],
      );
      expect(streamed.join("")).toBe("leaf is done.");
      expectChildOrder(items);
    }),
  );

  test("goes on exactly at every cursor, here and in another process", proven, () =>
    inStore(async (store) => {
      const agent = createFamily(boss, { store });
      const other = createFamily(boss, { store });
      await agent.session("p").send("Go.", { runId: "r" });
      const followers = [agent, other].map((one) => collect(one.session("p").events({ children: true }), isEnd));
      for (const items of await Promise.all(followers)) {
        await expectMatchesLogs(items, createEventReader(agent, store));
        const told = items.filter(isLogged);
        const all = groupCursors(told);
        for (const [at, { cursor }] of told.entries()) {
          const before = groupCursors(told.slice(0, at + 1));
          const rest = await collect(other.session("p").events({ children: true, follow: false, after: cursor }));
          expectCursorsAddUp(before, groupCursors(rest), all, cursor);
          if (at + 1 === told.length) break;
          const followed = await collect(
            agent.session("p").events({ children: true, after: cursor }),
            isEndOr(at, told),
          );
          expectCursorsAddUp(before, groupCursors(followed), all, cursor);
        }
      }
    }),
  );

  test("ends with the run that waits for a person, behind the question in the child's log", proven, () =>
    inStore(async (store) => {
      const payer: Member = { name: "payer", tools: [createApprovalTool("pay")] };
      const agent = createFamily({ name: "top", members: [{ name: "boss", members: [payer] }] }, { store });
      const items = await collect(agent.runStream("Go.", { sessionId: "p", children: true }));
      const asked = items.filter(({ type }) => type === "approval_requested").map(({ depth }) => depth);
      expect(asked.sort()).toEqual([0, 1, 2]);
      await expectMatchesLogs(items, createEventReader(agent, store));

      // The person answers, and the stream is taken up where it stopped.
      const last = items.filter(isLogged).at(-1);
      const [question] = await agent.session("p").pendingApprovals();
      await agent.session("p").answer(question?.callKey ?? "", { type: "approve" });
      const rest = await collect(agent.session("p").events({ children: true, after: last?.cursor ?? "" }), isEnd);
      await expectMatchesLogs([...items, ...rest], createEventReader(agent, store));
    }),
  );

  test("is followed by its logs if no agent here knows the child", proven, () =>
    inStore(async (store) => {
      const stranger = createFamily({ name: "boss" }, { store });
      const agent = createFamily(boss, { store });
      const seen = waitUntil(async () => (await store.load("p")) !== null).then(() =>
        collect(stranger.session("p").events({ children: true }), isEnd),
      );
      await agent.run("Go.", { sessionId: "p" });
      await expectMatchesLogs(await seen, createEventReader(agent, store));
      expect(Object.keys(groupCursors(await seen))).toHaveLength(5);
    }),
  );

  test("tells of a child's log up to an abort, and no more of the child", proven, () =>
    inStore(async (store) => {
      const work = createGatedTool("work");
      const agent = createFamily({ name: "boss", members: [{ name: "worker", tools: [work.tool] }] }, { store });
      const stream = agent.runStream("Go.", { sessionId: "p", children: true, limits: { abortGraceMs: 50 } });
      const items = collect(stream);
      await work.reached;
      await agent.session("p").abort();
      expect((await stream.result).status).toBe("aborted");
      expectChildOrder(await items);
      expect((await items).some(({ type, depth }) => type === "tool_call" && depth === 1)).toBe(true);
      work.open();
    }),
  );

  test("leaves out what is above the most open sessions, and says so", proven, () =>
    inStore(async (store) => {
      const agent = createFamily({ ...boss, calls: ["worker", "helper", "worker"] }, { store });
      await agent.run("Go.", { sessionId: "p" });
      const from = { cursor: { seq: 0, index: Number.POSITIVE_INFINITY }, children: new Map() };
      const options = { sessionId: "p", store, family: { children: new Map() }, itemsOf: nothing, from, live: null };
      const items = await collect(streamFamily({ ...options, tellsRest: false, maxOpen: 3 }));
      const omitted = items.filter(({ type }) => type === "children_omitted");
      expect(omitted).toMatchObject([
        { why: "too_many", depth: 1, parent: { sessionId: "p" } },
        { why: "too_many", depth: 2 },
      ]);
      expectChildOrder(items);
      const sessions = new Set(items.filter(isLogged).map(({ sessionId }) => sessionId));
      expect(sessions.has(omitted[0]?.sessionId ?? "")).toBe(false);
    }),
  );
});

test("a child whose log cannot be read is left out with a word, and the others are told", proven, async () => {
  const inner = createMemoryStore();
  await createFamily(boss, { store: inner }).run("Go.", { sessionId: "p" });
  const lost = (await inner.list()).find(({ info }) => info?.agent === "leaf")?.sessionId ?? "";
  const damage = new PawlError("store_corrupt", "The log is damaged.");
  const store: Store = {
    ...inner,
    load: (sessionId) => (sessionId === lost ? Promise.reject(damage) : inner.load(sessionId)),
    read: (sessionId, ...place) => (sessionId === lost ? Promise.reject(damage) : inner.read(sessionId, ...place)),
  };
  const items = await collect(createFamily(boss, { store }).session("p").events({ children: true, follow: false }));
  expect(items.filter(({ type }) => type === "children_omitted")).toMatchObject([
    { why: "unreadable", sessionId: lost, depth: 2 },
  ]);
  expect(Object.keys(groupCursors(items))).toHaveLength(4);
  expectChildOrder(items);
});

test("the children of an agent that a session was handed over to are told, live and from the log", {
  ...verifies("STRM-11", "AGENT-1"),
}, async () => {
  const store = createMemoryStore();
  const work = createGatedTool("work");
  const chief = createAgent({
    name: "boss",
    model: createScriptedModel([{ calls: [{ name: "worker", input: { task: "Work." } }] }, { text: "Done." }]),
    tools: [createFamily({ name: "leaf", tools: [work.tool] }).asTool({ name: "worker", description: "Works." })],
  });
  const front = createAgent({
    name: "front",
    model: createScriptedModel([{ calls: [{ name: "transfer_to_boss" }] }]),
    handoffs: [{ name: "boss", description: "Works.", agent: () => chief }],
    store,
  });
  const live: FamilyItem[] = [];
  for await (const item of front.runStream("Go.", { sessionId: "p", children: true })) {
    live.push(item);
    if (item.type === "tool_call" && item.name === "work") work.open();
  }
  const later = await collect(front.session("p").events({ children: true, follow: false }));
  for (const items of [live, later]) {
    expect(Object.keys(groupCursors(items))).toHaveLength(2);
    await expectMatchesLogs(items, createEventReader(front, store));
  }
  expect(live.some(({ type, depth }) => type === "delta" && depth === 1)).toBe(true);
});

test("a run is told as ever without the option", proven, async () => {
  await withStore(localStores[0]?.open as never, async (store) => {
    const agent = createFamily(boss, { store });
    const items: StreamItem[] = [];
    for await (const item of agent.runStream("Go.", { sessionId: "p" })) items.push(item);
    expect(items.filter((item) => "sessionId" in item && item.sessionId !== "p")).toEqual([]);
    expect(items.filter(({ type }) => type === "child_started")).toMatchObject([
      { name: "worker" },
      { name: "helper" },
    ]);
  });
});

test.for([
  ["no place", "57.2~"],
  ["no child", "57.2~c1"],
  ["letters", "57.2~c1:x"],
  ["a call 0", "57.2~c0:1.1"],
  ["half a path", "57.2~c1-:1"],
  ["no session", "x~c1:1.1"],
  ["too many", `1${"~c1:1.1".repeat(5_000)}`],
  ["too deep", `1~c${"1-".repeat(100)}1:1`],
])("refuses a cursor with %s", proven, async ([, after]) => {
  await withStore(localStores[0]?.open as never, async (store) => {
    const agent = createFamily(leaf, { store });
    await agent.run("Go.", { sessionId: "p" });
    const items = collect(agent.session("p").events({ children: true, follow: false, after: after ?? "" }));
    await expect(items).rejects.toMatchObject({ code: "bad_input" });
  });
});

async function* nothing(): AsyncGenerator<StreamItem, void, undefined> {}

/** The last event of a stream that is resumed behind the event `at`: nothing follows the end. */
function isEndOr(at: number, told: readonly LoggedItem[]) {
  const left = told.length - at - 1;
  let count = 0;
  return (item: FamilyItem) => {
    if (isLogged(item)) count += 1;
    return count >= left;
  };
}
