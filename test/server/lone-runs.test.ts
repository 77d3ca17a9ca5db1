/**
 * Runs that chat requests began, and that nobody watches any more (`abortWhenAlone`).
 */
import { describe, expect, test } from "vitest";
import { createAgent, createClient, createMemoryStore } from "../../src/index.js";
import { createServer, createToken } from "../../src/server/index.js";
import { createLoneRuns } from "../../src/server/lone-runs.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { createGateTool } from "../support/agents.js";
import { createTaskCaller } from "./mcp-task-caller.js";
import { startTestServer } from "./rig.js";

function rig(outcome: () => "done" | "later" | "parked" = () => "done") {
  const clock = createTestClock();
  const aborted: string[] = [];
  const lone = createLoneRuns({
    afterMs: 10_000,
    clock,
    async abort(sessionId, runIds) {
      aborted.push(...runIds.map((runId) => `${sessionId}/${runId}`));
      return outcome();
    },
  });
  return { clock, aborted, lone };
}

describe("a run that a chat request began", () => {
  test("is aborted when no stream of its session has been open for so long", async () => {
    const { clock, aborted, lone } = rig();
    lone.runStarted("s", "r");
    const leave = lone.streamOpened("s");
    await clock.advance(60_000);
    expect(aborted).toEqual([]);
    leave();
    leave();
    await clock.advance(9_999);
    expect(aborted).toEqual([]);
    await clock.advance(1);
    expect(aborted).toEqual(["s/r"]);
    await clock.advance(60_000);
    expect(aborted).toEqual(["s/r"]);
  });

  test("goes on if somebody comes back in time, or watches beside it", async () => {
    const { clock, aborted, lone } = rig();
    lone.runStarted("s", "r");
    const [first, second] = [lone.streamOpened("s"), lone.streamOpened("s")];
    first();
    await clock.advance(20_000);
    second();
    await clock.advance(9_000);
    const back = lone.streamOpened("s");
    await clock.advance(20_000);
    expect(aborted).toEqual([]);
    back();
    await clock.advance(10_000);
    expect(aborted).toEqual(["s/r"]);
  });

  test("is aborted if no stream of it was ever opened, and looked at again while it is queued", async () => {
    const outcomes = ["later", "later", "done"] as const;
    let looks = 0;
    const { clock, aborted, lone } = rig(() => outcomes[looks++] ?? "done");
    lone.runStarted("s", "r");
    await clock.advance(100_000);
    expect(aborted).toEqual(["s/r", "s/r", "s/r"]);
  });

  test("is left alone while it waits for somebody, and looked at again behind its next stream", async () => {
    const outcomes = ["parked", "done"] as const;
    let looks = 0;
    const { clock, aborted, lone } = rig(() => outcomes[looks++] ?? "done");
    lone.runStarted("s", "r");
    await clock.advance(100_000);
    expect(aborted).toHaveLength(1);
    lone.streamOpened("s")();
    await clock.advance(10_000);
    expect(aborted).toHaveLength(2);
    lone.runStarted("s", "next");
    lone.close();
    await clock.advance(100_000);
    expect(aborted).toHaveLength(2);
  });

  test("and streams of sessions without such a run leave nothing behind", async () => {
    const { clock, aborted, lone } = rig();
    lone.streamOpened("s")();
    await clock.advance(100_000);
    expect(aborted).toEqual([]);
  });
});

test("a server aborts the run of a chat whose page has left", async () => {
  const store = createMemoryStore();
  const gate = createGateTool();
  const model = createScriptedModel([{ calls: [{ name: "gate" }] }]);
  const agent = createAgent({ name: "gated", store, model, tools: [gate.tool] });
  const { url, token } = await startTestServer({ store, agents: [agent], abortWhenAlone: 0.01 });
  const left = new AbortController();
  const message = { id: "m1", role: "user", parts: [{ type: "text", text: "Go" }] };
  const response = await fetch(`${url}/v1/chat`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ id: "c", messages: [message] }),
    signal: left.signal,
  });
  expect(response.status).toBe(200);
  left.abort();
  const [found] = await store.list({});
  const session = createClient({ store }).session(found?.sessionId ?? "");
  for await (const item of session.events({ runId: "m1", until: "run" }))
    if (item.type === "abort_requested") expect(item).toMatchObject({ note: "Nobody watched the chat." });
  expect(await session.result("m1")).toMatchObject({ status: "aborted" });
});

test("a server does not abort the run of a task, whose client only polls", async () => {
  const store = createMemoryStore();
  const gates = { task: createGateTool("task"), chat: createGateTool("chat") };
  const model = createScriptedModel(({ messages }) => {
    const last = messages.at(-1);
    if (last?.role !== "user") return { text: "Done." };
    return { calls: [{ name: JSON.stringify(last).includes("chat") ? "chat" : "task" }] };
  });
  const agent = createAgent({ name: "gated", store, model, tools: [gates.task.tool, gates.chat.tool] });
  const { url, token } = await startTestServer({ store, agents: [agent], abortWhenAlone: 0.01 });
  const request = createTaskCaller(url, token);
  const { result: task } = await request("tools/call", { name: "gated", arguments: { prompt: "task" } });
  await gates.task.started;
  // A chat that began later, and that its page has left: when its run has been aborted, the time is up for both.
  const left = new AbortController();
  await fetch(`${url}/v1/chat`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ id: "c", messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: "chat" }] }] }),
    signal: left.signal,
  });
  await gates.chat.started;
  left.abort();
  const sessions = await store.list({});
  const { sessionId = "" } = sessions.find((one) => one.sessionId.startsWith("chat-")) ?? {};
  const chat = createClient({ store }).session(sessionId);
  await expect.poll(async () => (await chat.result("m1"))?.status).toBe("aborted");
  expect((await request("tasks/get", { taskId: task.taskId })).result).toMatchObject({ status: "working" });
  gates.task.open("opened");
  await expect.poll(async () => (await request("tasks/get", { taskId: task.taskId })).result.status).toBe("completed");
});

test("abortWhenAlone is a number of seconds", () => {
  const options = { store: createMemoryStore(), agents: [], token: createToken() };
  for (const abortWhenAlone of [0, -1, Number.NaN, 90_000, "x"] as number[])
    expect(() => createServer({ ...options, abortWhenAlone })).toThrow(
      expect.objectContaining({ code: "bad_configuration" }),
    );
});
