/**
 * What a person chose for a session, while it is written.
 */
import { expect, test } from "vitest";
import { createRunSettingsStore } from "../../src/cli/conversation/run-settings.js";
import { createSessionMode } from "../../src/cli/conversation/session-mode.js";
import { createAgent, createMemoryStore, type Session } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createDeferred, type Deferred } from "../support/agents.js";
import { verifies } from "../verifies.js";

const proven = verifies("CHAT-3#choices");

/** A session whose writes wait until they are let go. */
function createSlowSession() {
  const agent = createAgent({ model: createScriptedModel([{ text: "Done." }]), store: createMemoryStore() });
  const real = agent.session("s");
  const writes: { readonly begun: Deferred<void>; readonly goOn: Deferred<void> }[] = [];
  const slow: Pick<Session, "id" | "data" | "setData"> = {
    id: real.id,
    data: real.data,
    async setData(patch, options) {
      const write = writes.shift();
      write?.begun.resolve(undefined);
      await write?.goOn.promise;
      await real.setData(patch, options);
    },
  };
  const nextWrite = () => {
    const write = { begun: createDeferred<void>(), goOn: createDeferred<void>() };
    writes.push(write);
    return write;
  };
  return { begin: () => agent.run("Go", { sessionId: "s" }), slow, real, nextWrite };
}

test("a mode is the present one only when it is durable", proven, async () => {
  const { begin, slow, real, nextWrite } = createSlowSession();
  await begin();
  const mode = createSessionMode(slow, "Ada");
  const write = nextWrite();
  const changed = mode.change(() => "edits");
  await write.begun.promise;
  expect(mode.current()).toBe("ask");
  write.goOn.resolve();
  await changed;
  expect(mode.current()).toBe("edits");
  expect(await real.data()).toEqual({ mode: { session: "s", is: "edits" } });
});

test("a change that cannot be written changes nothing, and the next one is made", proven, async () => {
  const { begin, slow } = createSlowSession();
  await begin();
  await createRunSettingsStore(slow, "Ada").change(() => ({ budget: 2 }));
  const failing = createRunSettingsStore(
    { ...slow, setData: () => Promise.reject(new Error("the disk is full")) },
    "Ada",
  );
  await failing.load();
  await expect(failing.change(() => ({ effort: "high" }))).rejects.toThrow("the disk is full");
  expect(failing.current()).toEqual({ budget: 2 });
});

test("changes are made one after another, and a read between them undoes none", proven, async () => {
  const { begin, slow, nextWrite } = createSlowSession();
  await begin();
  const mode = createSessionMode(slow, "Ada");
  const first = nextWrite();
  const all = [mode.change(() => "edits"), mode.load(), mode.change(() => "ask"), mode.load()];
  first.goOn.resolve();
  await Promise.all(all);
  expect(mode.current()).toBe("ask");
});

test("what is chosen before the first message is kept when that message was taken", proven, async () => {
  const { begin, slow, real, nextWrite } = createSlowSession();
  const choices = createRunSettingsStore(slow, "Ada");
  await choices.change(() => ({ budget: 2 }));
  await choices.storePending();
  expect(choices.current()).toEqual({ budget: 2 });
  expect(choices.options()).toEqual({ limits: { maxCostUsd: 2 } });
  await begin();
  const write = nextWrite();
  write.goOn.resolve();
  await choices.storePending();
  expect(await real.data()).toEqual({ choices: { budget: 2 } });
  const other = createRunSettingsStore(slow, "Bob");
  await other.load();
  expect(other.current()).toEqual({ budget: 2 });
});

test("a budget counts the priced calls of a run if one of its models has no price", proven, async () => {
  const { slow } = createSlowSession();
  const choices = createRunSettingsStore(slow, "Ada", ["acme/cheap"]);
  await choices.change(() => ({ budget: 2 }));
  // The library refuses a limit in dollars for such a run.
  expect(choices.options()).toEqual({});
  expect(choices.findSpentBudget("r", undefined)).toBeNull();
  expect(choices.findSpentBudget("r", 1.99)).toBeNull();
  expect(choices.findSpentBudget("r", 2)).toBe(2);
  expect(choices.findSpentBudget("r", 2.1)).toBeNull();
  expect(choices.findSpentBudget("next", 2)).toBe(2);
});

test("a change is made from what the changes before it left", proven, async () => {
  const { begin, slow, nextWrite } = createSlowSession();
  await begin();
  const choices = createRunSettingsStore(slow, "Ada");
  const first = nextWrite();
  const both = [
    choices.change((present) => ({ ...present, budget: 2 })),
    choices.change((present) => ({ ...present, effort: "low" })),
  ];
  first.goOn.resolve();
  expect(await Promise.all(both)).toEqual([{ budget: 2 }, { budget: 2, effort: "low" }]);
});
