/**
 * The title that a person gives a session.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createClient, createMemoryStore, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createDeferred } from "../support/agents.js";
import { readEvents } from "../support/durable-tool.js";
import { localStores, withStore } from "../support/stores.js";
import { exportToText, importText } from "../transfer/transfer.js";
import { verifies } from "../verifies.js";

const proven = verifies("CHAT-3#sessions");

function agentOn(store: Store, model = createScriptedModel([{ text: "Done." }, { text: "Done again." }])) {
  return createAgent({ model, store });
}

const listed = async (store: Store) => (await store.list()).map(({ info }) => info?.title);

describe.each(localStores)("a session in $name", ({ open }) => {
  test("has the title that it was given last, in its state, in lists, in a fork and in an export", proven, () =>
    withStore(open, async (store) => {
      const agent = agentOn(store);
      await agent.run("Fix the build, please.", { sessionId: "s", runId: "r" });
      expect(await listed(store)).toEqual(["Fix the build, please."]);
      const session = agent.session("s");
      await session.rename("  The\n build\u2028of  March ", { by: "Ada" });
      const title = "The build of March";
      expect((await session.state()).session?.title).toBe(title);
      expect(await listed(store)).toEqual([title]);
      expect((await readEvents(store)).at(-1)).toMatchObject({ type: "session_changed", title, by: "Ada" });
      await session.fork({ sessionId: "fork" });
      await createClient({ store }).session("s").rename("Another");
      await agent.run("Go on.", { sessionId: "s" });
      expect((await store.describe("s"))?.info?.title).toBe("Another");
      expect((await store.describe("fork"))?.info?.title).toBe(title);
      const copy = createMemoryStore();
      await importText(copy, await exportToText(store));
      expect((await listed(copy)).sort()).toEqual(["Another", title]);
      expect((await session.replay()).difference).toBeNull();
      expect(await store.verify()).toEqual([]);
    }),
  );
});

test("a title that is given while a model works counts at once, and the model sees nothing of it", proven, async () => {
  const store = createMemoryStore();
  const begun = createDeferred();
  const goOn = createDeferred();
  const sent: string[] = [];
  const model = createScriptedModel(({ messages }) => {
    sent.push(JSON.stringify(messages));
    begun.resolve();
    return { text: "Done.", wait: goOn.promise };
  });
  const agent = agentOn(store, model);
  const running = agent.run("Fix the build.", { sessionId: "s" });
  await begun.promise;
  await agent.session("s").rename("March");
  expect(await listed(store)).toEqual(["March"]);
  goOn.resolve();
  expect(await running).toMatchObject({ status: "completed" });
  await agent.run("And now?", { sessionId: "s" });
  expect(sent).toHaveLength(2);
  expect(sent.join("")).not.toContain("March");
  const events = [];
  for await (const event of agent.session("s").events({ follow: false }))
    if (event.type === "session_changed") events.push(event);
  expect(events).toMatchObject([{ title: "March", sessionId: "s" }]);
});

test("what is no title, or of no session, is refused", proven, async () => {
  const store = createMemoryStore();
  const agent = agentOn(store);
  await expect(agent.session("s").rename("March")).rejects.toMatchObject({ code: "no_session" });
  await agent.run("Go", { sessionId: "s" });
  const session = agent.session("s");
  for (const wrong of ["", " \n ", "x".repeat(201), "x".repeat(1_000_000), 7, null, undefined])
    await expect(session.rename(wrong as string)).rejects.toMatchObject({ code: "bad_input" });
  await expect(session.rename("March", { by: 7 as never })).rejects.toMatchObject({ code: "bad_input" });
  await session.rename("x".repeat(200));
  expect(await listed(store)).toEqual(["x".repeat(200)]);
  expect((await readEvents(store)).filter(({ type }) => type === "session_changed")).toHaveLength(1);
});
