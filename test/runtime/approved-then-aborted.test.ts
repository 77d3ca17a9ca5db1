/**
 * A person approves a call and then aborts its run, before the process that holds the session has seen either.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, defineTool, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { settled } from "../../src/testing/test-clock.js";
import { createDeferred, createGateTool } from "../support/agents.js";

const ids = { sessionId: "s", runId: "one" } as const;

/** A holder in the middle of its call `gate`, while its call `risky` waits for an approval. */
function setUp() {
  const shared = createMemoryStore();
  const inbox = { isHidden: false };
  const store: Store = { ...shared, inbox: async (id) => (inbox.isHidden ? [] : shared.inbox(id)) };
  const gate = createGateTool("gate", { heedsSignal: true });
  const ran: unknown[] = [];
  const risky = defineTool({
    name: "risky",
    description: "Asks first.",
    input: { type: "object" },
    needsApproval: true,
    execute: (input) => void ran.push(input),
  });
  const create = (own: Store) =>
    createAgent({
      model: createScriptedModel([{ calls: [{ name: "gate" }, { name: "risky" }] }, { text: "Done." }]),
      tools: [gate.tool, risky],
      store: own,
      limits: { abortGraceMs: 600_000 },
    });
  return { shared, store, inbox, gate, ran, create };
}

/** What is said to the session while its holder does not look. The holder then sees all of it at once. */
async function meanwhile({ shared, inbox, create }: ReturnType<typeof setUp>, say: () => Promise<unknown>) {
  inbox.isHidden = true;
  await say();
  inbox.isHidden = false;
  // Any change of the session makes the holder look.
  await create(shared)
    .session("s")
    .steer("Look.")
    .catch(() => {});
}

const storyOf = async (store: Store) =>
  (await store.read("s")).flatMap(({ event }) => {
    if (event.type === "answered") return [`answered ${event.answer.type}`];
    if (event.type === "tool_finished") return [`${event.callKey} ${event.outcome}`];
    return event.type === "abort_requested" ? [event.type] : [];
  });

test.each([
  { title: "an approval and an abort that come together", before: false },
  { title: "an approval and an abort that come together, behind another message", before: true },
])("$title: both are in the log, and the call ends at once and is not in doubt", async ({ before }) => {
  const world = setUp();
  const { shared, store, gate, ran, create } = world;
  const result = create(store).run("One", ids);
  await gate.started;
  const elsewhere = create(shared).session("s");
  await meanwhile(world, async () => {
    if (before) await elsewhere.send("Two", { runId: "two" });
    expect(await elsewhere.answer("one/1/2", { type: "approve" })).toBe("first");
    await elsewhere.abort();
  });
  // A run that waited for its grace would end too late for this test.
  expect(await result).toMatchObject({ status: "aborted" });
  expect(ran).toEqual([]);
  expect(await storyOf(shared)).toEqual(["answered approve", "abort_requested", "one/1/2 aborted", "one/1/1 error"]);
  expect(await shared.inbox("s")).toEqual([]);
});

test("an approval and an abort that a dead holder has not seen are both in the log of the next one", async () => {
  const { shared, store, inbox, gate, ran, create } = setUp();
  const lost = create(store);
  const result = lost.run("One", ids);
  await gate.started;
  inbox.isHidden = true;
  const elsewhere = create(shared).session("s");
  await elsewhere.answer("one/1/2", { type: "approve" });
  await elsewhere.abort();
  await lost.session("s").leave({ graceMs: 0 });
  expect(await result).toMatchObject({ status: "interrupted" });
  expect(await create(shared).session("s").resume()).toMatchObject({ status: "aborted" });
  expect(ran).toEqual([]);
  expect(await storyOf(shared)).toEqual([
    "answered approve",
    "abort_requested",
    "one/1/2 aborted",
    "one/1/1 interrupted",
  ]);
});

test("a model call that one commit both prepares and aborts is not made, and the run ends at once", async () => {
  const shared = createMemoryStore();
  const [prepares, whenHeld] = [createDeferred(), createDeferred()];
  const [prepare, write] = [createDeferred(), createDeferred()];
  const store: Store = {
    ...shared,
    async commit(lease, commit) {
      if (commit.events.some(({ type }) => type === "data_changed")) {
        whenHeld.resolve();
        await write.promise;
      }
      return shared.commit(lease, commit);
    },
  };
  let calls = 0;
  const agent = createAgent({
    model: createScriptedModel(() => {
      calls += 1;
      return { text: "Done." };
    }),
    hooks: [
      {
        name: "waits",
        async beforeLLMCall() {
          prepares.resolve();
          await prepare.promise;
        },
      },
    ],
    store,
    limits: { abortGraceMs: 600_000 },
  });
  const result = agent.run("One", ids);
  await prepares.promise;
  const session = agent.session("s");
  const whenSet = session.setData({ set: { a: 1 } });
  await whenHeld.promise;
  const abortReply = session.abort();
  prepare.resolve();
  // The abort and the prepared call are now in the same batch, after the commit that is held.
  await settled();
  write.resolve();
  await Promise.all([whenSet, abortReply]);
  expect(await result).toMatchObject({ status: "aborted" });
  expect(calls).toBe(0);
});
