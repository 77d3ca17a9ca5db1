/**
 * `remind_me`: a model sends messages to its own conversation later.
 */
import { expect, test } from "vitest";
import {
  createAgent,
  createClient,
  createMemoryStore,
  createWorker,
  type Json,
  type ToolContext,
} from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { type RemindMeOptions, remindMe } from "../../src/tools/index.js";
import { verifies } from "../verifies.js";

const proven = verifies("TIME-3");
const noon = Date.UTC(2025, 10, 29, 12);

/** An agent whose model makes these calls, one after the other, and the results of those calls. */
function createForgetful(inputs: readonly Json[], options: Partial<RemindMeOptions> = {}) {
  const store = createMemoryStore();
  const clock = createTestClock(noon);
  const reminding = remindMe({ client: createClient({ store, clock }), clock, needsApproval: false, ...options });
  const model = createScriptedModel([
    ...inputs.map((input) => ({ calls: [{ name: "remind_me", input }] })),
    { text: "Done." },
    { text: "I remember." },
  ]);
  const agent = createAgent({ model, tools: [reminding], store, clock });
  const call = async () => {
    const result = await agent.run("Remind yourself.", { sessionId: "s", runId: "r" });
    const messages = await agent.session("s").messages();
    const outputs = messages.flatMap((message) => (message.role === "tool" ? message.parts : []));
    return {
      result,
      outputs: outputs.map(({ output }) => (output.type === "text" ? output.text : JSON.stringify(output))),
    };
  };
  return { store, clock, agent, call };
}

test("a reminder comes to the session at its time, once, and says when it was set", proven, async () => {
  const { store, clock, agent, call } = createForgetful([{ note: "Ask about the invoice.", at: "2025-12-01T09:00" }], {
    timezone: "Europe/Berlin",
  });
  const { outputs } = await call();
  expect(outputs).toEqual([
    expect.stringMatching(
      /^The reminder reminder-\w{12} is set for Monday,? 1 December 2025 at 09:00 Europe\/Berlin \(2025-12-01T08:00:00\.000Z\)\.$/,
    ),
  ]);
  const worker = createWorker({ store, agents: [agent], clock });
  clock.jump(Date.UTC(2025, 11, 1, 8) - noon - 1);
  await worker.runUntilIdle();
  expect(await agent.session("s").result()).toMatchObject({ text: "Done." });
  clock.jump(1);
  await worker.runUntilIdle();
  expect(await agent.session("s").result()).toMatchObject({ text: "I remember." });
  const texts = JSON.stringify(await agent.session("s").messages());
  expect(texts).toContain("Reminder that you set on 2025-11-29 12:00 UTC: Ask about the invoice.");
  expect(await agent.session("s").scheduled()).toEqual([]);
});

test("reminders are listed and cancelled, and other delayed messages are not", proven, async () => {
  const { agent, call } = createForgetful([
    { note: "One.", in_minutes: 10 },
    { action: "list" },
    { action: "cancel", id: "other" },
  ]);
  await agent.session("s").send("Not yours.", { afterMs: 1_000, runId: "other" });
  const { outputs } = await call();
  expect(outputs[1]).toMatch(
    /^reminder-\w+: Saturday,? 29 November 2025 at 12:10 UTC .*: Reminder that you set .*: One\.$/,
  );
  expect(outputs[2]).toMatch(/There is no reminder other/);
  expect(await agent.session("s").scheduled()).toHaveLength(2);
});

test("a person is asked before a reminder is set, and not before they are listed", proven, async () => {
  const { call } = createForgetful([{ action: "list" }, { note: "One.", in_minutes: 10 }], { needsApproval: true });
  const { result, outputs } = await call();
  expect(outputs).toEqual(["There are no reminders."]);
  expect(result).toMatchObject({ status: "awaiting_human" });
});

test.each<[Json, RegExp]>([
  [{ in_minutes: 10 }, /Missing note/],
  [{ note: "x" }, /either at or in_minutes/],
  [{ note: "x", at: "2025-11-30T09:00", in_minutes: 5 }, /either at or in_minutes/],
  [{ note: "x", at: "tomorrow" }, /is not a time/],
  [{ note: "x", at: "2026-02-30T09:00" }, /There is no day 2026-02-30/],
  [{ note: "x", at: "2026-02-30T09:00+01:00" }, /There is no day 2026-02-30/],
  [{ note: "x", at: "2025-11-29T11:00" }, /in the past\. It is Saturday/],
  [{ note: "x", at: "2026-11-29T11:00Z" }, /too far ahead/],
])("the model is told what is wrong with %j", proven, async (input, message) => {
  const { agent, call } = createForgetful([input]);
  const { outputs } = await call();
  expect(JSON.stringify(outputs)).toMatch(message);
  expect(await agent.session("s").scheduled()).toEqual([]);
});

test(
  "a call that runs again names the time that is stored, and sets nothing once the reminder was sent",
  proven,
  async () => {
    const store = createMemoryStore();
    const clock = createTestClock(noon);
    const { execute } = remindMe({ client: createClient({ store, clock }), clock });
    const agent = createAgent({ name: "press", model: createScriptedModel(() => ({ text: "Done." })), store, clock });
    await agent.run("Begin.", { sessionId: "s" });
    const context = { sessionId: "s", idempotencyKey: "call" } as ToolContext;
    const set = async () => execute?.({ note: "Look.", in_minutes: 10 } as never, context);
    const first = await set();
    expect(first).toMatch(/is set for .*\(2025-11-29T12:10:00\.000Z\)/);
    clock.jump(60_000);
    expect(await set()).toBe(first);
    clock.jump(10 * 60_000);
    await createWorker({ store, agents: [agent], clock }).runUntilIdle();
    expect(await set()).toMatch(/was set before, and has been sent/);
    expect(await agent.session("s").scheduled()).toEqual([]);
  },
);

test("a session has at most ten reminders", proven, async () => {
  const inputs = Array.from({ length: 11 }, (_, index) => ({ note: `${index}`, in_minutes: index + 1 }));
  const { agent, call } = createForgetful(inputs);
  const { outputs } = await call();
  expect(JSON.stringify(outputs[10])).toMatch(/already 10 reminders/);
  expect(await agent.session("s").scheduled()).toHaveLength(10);
});

test("a time zone that does not exist is refused", proven, () => {
  const client = createClient({ store: createMemoryStore() });
  expect(() => remindMe({ client, timezone: "Mars/Olympus" })).toThrow(/IANA/);
});
