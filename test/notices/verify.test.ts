/**
 * `verify` finds damage outside the logs.
 */
import { expect, test } from "vitest";
import { createAgent, createClient, createSchedules } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { openFileStore, withHandle } from "../stores/open.js";
import { verifies } from "../verifies.js";

test("verify reads notices, schedules, delayed messages and signals", verifies("TIME-6#delivery"), async () => {
  const { store, path, close } = await openFileStore({ synchronous: "normal" });
  await store.notices?.addDestination("desk");
  const agent = createAgent({ name: "press", model: createScriptedModel([{ text: "One." }, { text: "Two." }]), store });
  await agent.run("Go.", { sessionId: "a" });
  await agent.run("Go.", { sessionId: "b" });
  await agent.session("a").send("Later.", { afterMs: 60_000, runId: "later" });
  await createSchedules({ store }).put({ id: "morning", cron: "0 8 * * *", agent: "press", input: "Go." });
  await createClient({ store }).signal("paid", 1);
  expect(await store.verify()).toEqual([]);

  await withHandle(path, (handle) => handle.exec("UPDATE notices SET body = '{' WHERE session = 'a'"));
  const notice = { sessionId: "a", what: expect.stringContaining("the notice ") };
  expect(await store.verify()).toEqual([notice]);
  expect(await store.verify("a")).toEqual([notice]);
  expect(await store.verify("b")).toEqual([]);

  await withHandle(path, (handle) => handle.exec("UPDATE endpoints SET body = '{'"));
  const destination = { sessionId: null, what: expect.stringContaining("The destination desk") };
  expect(await store.verify()).toEqual([notice, destination]);
  await withHandle(path, (handle) => handle.exec("UPDATE schedules SET body = '{'"));
  await withHandle(path, (handle) => handle.exec("UPDATE signals SET body = '{'"));
  expect(await store.verify()).toEqual([
    notice,
    destination,
    { sessionId: null, what: expect.stringContaining("the schedule morning") },
    { sessionId: "a", what: expect.stringContaining("the schedule send:a:later") },
    { sessionId: null, what: expect.stringContaining("a signal") },
  ]);
  await close();
});
