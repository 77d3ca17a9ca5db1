/**
 * A person who is asked anywhere below a run: the run waits for that person, and nobody waits for ever.
 */
import { describe, expect, test } from "vitest";
import { createClient, createMemoryStore, createWorker, pendingApprovals, type Store } from "../../src/index.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";
import {
  collectItems,
  collectUntil,
  createApprovalTool,
  createFamily,
  createGatedTool,
  listNames,
  type Member,
  requireApprovals,
  waitUntil,
} from "./tree.js";

const proven = verifies("AGENT-2");
const approve = { type: "approve" } as const;

const payer: Member = { name: "payer", tools: [createApprovalTool("pay")] };
const buyer: Member = { name: "buyer", tools: [createApprovalTool("buy")] };

const below = (depth: number): Member => (depth === 0 ? payer : { name: `boss-${depth}`, members: [below(depth - 1)] });

async function isFree(store: Store): Promise<boolean> {
  return (await store.list()).every(({ holder }) => holder === null);
}

/** Answers what waits until nothing does; gives the last result. */
async function toTheEnd(agent: ReturnType<typeof createFamily>, sessionId = "p") {
  const session = agent.session(sessionId);
  for (let turn = 0; turn < 20; turn += 1) {
    const result = (await session.result()) ?? (await session.resume());
    if (result.status !== "awaiting_human") return result;
    for (const { callKey } of result.approvals) await session.answer(callKey, approve);
  }
  throw new Error("The family asks and asks.");
}

describe.each(localStores)("a question below, in $name", ({ open }) => {
  const inStore = (work: (store: Store) => Promise<void>) => withStore(open, work);

  test.for([1, 2, 3])("is the result of the run, at depth %i", proven, (depth) =>
    inStore(async (store) => {
      const agent = createFamily(below(depth), { store });
      const waiting = await agent.run("Go.", { sessionId: "p" });
      expect(requireApprovals(waiting)).toMatchObject([{ name: "pay", why: "policy", input: {} }]);
      await waitUntil(() => isFree(store));
      const statuses = await Promise.all(
        (await store.list()).map(async ({ sessionId }) => (await store.load(sessionId))?.state.status),
      );
      expect(statuses).toEqual(Array(depth + 1).fill("awaiting_human"));

      const [{ callKey } = { callKey: "" }] = requireApprovals(waiting);
      expect(await agent.session("p").answer(callKey, approve)).toBe("first");
      expect(await agent.session("p").resume()).toMatchObject({ status: "completed", text: `boss-${depth} is done.` });
    }),
  );

  test.for([1, 2])(
    "is the result of resume() in another process, after all of them died, at depth %i",
    proven,
    (depth) =>
      inStore(async (store) => {
        const first = createFamily(below(depth), { store });
        await first.run("Go.", { sessionId: "p" });
        await first.shutdown({ graceMs: 0 });

        const second = createFamily(below(depth), { store });
        expect(requireApprovals(await second.session("p").result())).toMatchObject([{ name: "pay" }]);
        const [question] = requireApprovals(await second.session("p").resume());
        expect(question).toMatchObject({ name: "pay" });
        await second.shutdown({ graceMs: 0 });

        const client = createClient({ store }).session("p");
        expect(listNames(await client.pendingApprovals())).toEqual(["pay"]);
        expect(await client.answer(question?.callKey ?? "", approve, { by: "Ada" })).toBe("first");
        expect(await client.pendingApprovals()).toEqual([]);

        const third = createFamily(below(depth), { store });
        expect(await third.session("p").resume()).toMatchObject({ status: "completed" });
      }),
  );

  test("is the result while a sibling still works", proven, () =>
    inStore(async (store) => {
      const work = createGatedTool("work");
      const family: Member = { name: "boss", members: [payer, { name: "worker", tools: [work.tool] }] };
      const agent = createFamily(family, { store });
      const waiting = await agent.run("Go.", { sessionId: "p" });
      expect(listNames(requireApprovals(waiting))).toEqual(["pay"]);
      const [{ callKey } = { callKey: "" }] = requireApprovals(waiting);
      await agent.session("p").answer(callKey, approve);
      const resumed = agent.session("p").resume();
      await work.reached;
      work.open();
      expect(await resumed).toMatchObject({ status: "completed", text: "boss is done." });
    }),
  );

  test("joins the others: two children and the parent ask", proven, () =>
    inStore(async (store) => {
      const family: Member = { name: "boss", tools: [createApprovalTool("sign")], members: [payer, buyer] };
      const agent = createFamily(family, { store });
      const stream = agent.session("p").events();
      const waiting = await agent.run("Go.", { sessionId: "p" });
      expect(listNames(requireApprovals(waiting))).toContain("sign");
      const names = new Set<string>();
      await collectUntil(stream, (item) => {
        if (item.type === "approval_requested") names.add(item.name);
        return item.type === "suspended" && item.approvals.length === 3;
      });
      expect([...names].sort()).toEqual(["buy", "pay", "sign"]);
      const all = requireApprovals(await agent.session("p").resume());
      expect(listNames(all)).toEqual(["sign", "pay", "buy"]);
      expect(listNames(await agent.session("p").pendingApprovals())).toEqual(["sign", "pay", "buy"]);

      for (const [index, { callKey }] of all.entries()) {
        await agent.session("p").answer(callKey, approve);
        const result = await agent.session("p").resume();
        if (index < 2) expect(listNames(requireApprovals(result))).toEqual(["sign", "pay", "buy"].slice(index + 1));
        else expect(result).toMatchObject({ status: "completed" });
      }
    }),
  );

  test("stands in the stream of the run, with the session that asks", proven, () =>
    inStore(async (store) => {
      const agent = createFamily(below(2), { store });
      const stream = agent.runStream("Go.", { sessionId: "p" });
      const items = await collectItems(stream);
      const [question] = requireApprovals(await stream.result);
      expect(items.at(-1)).toMatchObject({ type: "suspended", approvals: [question] });
      const requested = items.find(({ type }) => type === "approval_requested");
      expect(requested).toMatchObject({
        sessionId: "p",
        runId: stream.runId,
        childId: question?.sessionId,
        callKey: question?.callKey,
        name: "pay",
        toolCallId: question?.toolCallId,
      });
      expect(question?.sessionId).not.toBe("p");
      // Read from the log, the events are the same.
      const fromLog = (await collectItems(agent.session("p").events({ follow: false }))).filter(
        ({ type }) => type === "approval_requested" || type === "suspended",
      );
      expect(fromLog).toEqual(items.filter(({ type }) => type === "approval_requested" || type === "suspended"));
    }),
  );

  test("is listed once in a store, under the session that asks", proven, () =>
    inStore(async (store) => {
      await createFamily(below(2), { store }).run("Go.", { sessionId: "p" });
      const listed = [];
      for await (const approval of pendingApprovals(store)) listed.push(approval);
      expect(listed).toMatchObject([{ name: "pay", session: { agent: "payer", top: "p" } }]);
      expect(await store.verify()).toEqual([]);
    }),
  );

  test("that was answered elsewhere is no question any more, and what follows is", proven, () =>
    inStore(async (store) => {
      const twice: Member = { name: "boss", members: [payer], calls: ["payer", "payer"] };
      const agent = createFamily(twice, { store });
      await agent.run("Go.", { sessionId: "p" });
      await waitUntil(async () => (await agent.session("p").pendingApprovals()).length === 2);
      const [first] = await agent.session("p").pendingApprovals();
      await createClient({ store })
        .session(first?.sessionId ?? "")
        .answer(first?.callKey ?? "", approve);
      const left = requireApprovals(await agent.session("p").resume());
      expect(left).toHaveLength(1);
      expect(left[0]?.callKey).not.toBe(first?.callKey);
      expect(await toTheEnd(agent)).toMatchObject({ status: "completed" });
    }),
  );
});

describe("answered by one agent object, while another one waits for the parent", () => {
  test.for([0, 1, 2, 3, 4, 5, 6])("the wait ends if the tool takes %i turns", proven, async (turns) => {
    const store = createMemoryStore();
    const pay = createApprovalTool("pay", async () => {
      for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      return "paid";
    });
    const family: Member = { name: "boss", members: [{ name: "payer", tools: [pay] }] };
    const first = createFamily(family, { store });
    const [question] = requireApprovals(await first.run("Go.", { sessionId: "p" }));
    await first.shutdown({ graceMs: 0 });

    const second = createFamily(family, { store });
    const third = createFamily(family, { store });
    await second.session("p").answer(question?.callKey ?? "", approve);
    const result = await third
      .session("p")
      .resume()
      .catch((error) => error);
    if (result instanceof Error) expect(result).toMatchObject({ code: "run_finished" });
    else expect(result).toMatchObject({ status: "completed" });
    expect(await store.load("p")).toMatchObject({ state: { status: "completed" } });
  });
});

describe("workers", () => {
  test("keep no place for a family that waits for a person", proven, async () => {
    const store = createMemoryStore();
    const family = below(2);
    const asking = createFamily(family, { store });
    for (const sessionId of ["a", "b", "c"]) await asking.session(sessionId).send("Go.");
    await asking.shutdown({ graceMs: 0 });

    const worker = createWorker({ store, agents: [createFamily(family, { store })], concurrency: 1 });
    await worker.runUntilIdle();
    const questions = [];
    for await (const question of pendingApprovals(store)) questions.push(question);
    expect(questions).toHaveLength(3);

    const client = createClient({ store });
    for (const { sessionId, callKey } of questions) await client.session(sessionId).answer(callKey, approve);
    await worker.runUntilIdle();
    for (const sessionId of ["a", "b", "c"]) expect((await store.load(sessionId))?.state.status).toBe("completed");
  });

  test("carry a child on that was answered, while its sibling still asks", proven, async () => {
    const store = createMemoryStore();
    const family: Member = { name: "boss", members: [payer, buyer] };
    const asking = createFamily(family, { store });
    await asking.run("Go.", { sessionId: "p" });
    await waitUntil(async () => (await asking.session("p").pendingApprovals()).length === 2);
    await asking.shutdown({ graceMs: 0 });

    const client = createClient({ store }).session("p");
    const [first, second] = await client.pendingApprovals();
    await client.answer(first?.callKey ?? "", approve);
    const worker = createWorker({ store, agents: [createFamily(family, { store })], concurrency: 1 });
    await worker.runUntilIdle();
    expect((await store.load(first?.sessionId ?? ""))?.state.status).toBe("completed");
    expect((await store.load("p"))?.state.status).toBe("awaiting_human");
    expect(listNames(await client.pendingApprovals())).toEqual([second?.name]);

    await client.answer(second?.callKey ?? "", approve);
    await worker.runUntilIdle();
    expect((await store.load("p"))?.state.status).toBe("completed");
  });
});
