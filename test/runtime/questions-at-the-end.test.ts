/**
 * A tool whose end and whose question come at the same time: one of the two counts, and nobody is told of the other.
 */
import { expect, test } from "vitest";
import { createMemoryStore, type Store, type ToolContext } from "../../src/index.js";
import { markHeld } from "../../src/ports/held-question.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { createDeferred } from "../support/agents.js";
import { createDurableAgent, readEvents } from "../support/durable-tool.js";
import { createPausingStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const ids = { sessionId: "s", runId: "r" } as const;
const callKey = "r/1/1";
const proven = verifies("TOOL-13#ask");

/** A hook that tells how calls ended, and takes as long as the test says. */
function createWitness() {
  const [begun, goesOn] = [createDeferred(), createDeferred()];
  const ends: string[] = [];
  const hook = {
    name: "witness",
    async afterToolCall({ isError }: { readonly isError: boolean }) {
      ends.push(isError ? "error" : "ok");
      begun.resolve();
      await goesOn.promise;
      return undefined;
    },
  };
  return { hook, ends, begun: begun.promise, goOn: goesOn.resolve };
}

async function typesOf(store: Store): Promise<readonly string[]> {
  return (await readEvents(store)).map(({ type }) => type);
}

test(
  "its time is up while its question is being committed: the question counts, and no hook is told of an end",
  proven,
  async () => {
    const { store, reached, release } = createPausingStore("tool_asked");
    const clock = createTestClock();
    const witness = createWitness();
    witness.goOn();
    const agent = createDurableAgent(
      async ({ ask }) => ((await ask({ message: "Really?" })) as { readonly value?: unknown }).value,
      { timeoutMs: 1_000 },
      { store, clock, hooks: [witness.hook] },
    );
    const running = agent.run("Go", ids);
    await reached;
    await clock.advance(1_000);
    release();
    expect(await running).toMatchObject({ status: "awaiting_human", approvals: [{ callKey, question: "Really?" }] });
    expect(witness.ends).toEqual([]);

    await agent.session("s").answer(callKey, { type: "reply", value: "yes" });
    expect(await agent.session("s").resume()).toMatchObject({ status: "completed" });
    expect(witness.ends).toEqual(["ok"]);
  },
);

test("its time is up while its question waits for a step: nobody is asked, and the call ends", proven, async () => {
  const store = createMemoryStore();
  const clock = createTestClock();
  const witness = createWitness();
  const [stepping, stepEnds, refused] = [createDeferred(), createDeferred<string>(), createDeferred<unknown>()];
  const agent = createDurableAgent(
    async ({ step, ask }) => {
      const looking = step("look", () => {
        stepping.resolve();
        return stepEnds.promise;
      });
      ask({ message: "Really?" }).catch(refused.resolve);
      return looking;
    },
    { timeoutMs: 1_000 },
    { store, clock, hooks: [witness.hook] },
  );
  const running = agent.run("Go", ids);
  await stepping.promise;
  await clock.advance(1_000);
  await witness.begun;
  // The hook takes its time, so the end is not in the log yet when the step is over.
  stepEnds.resolve("found");
  expect(await Promise.race([refused.promise, running])).toMatchObject({ message: "timeout" });
  witness.goOn();
  expect(await running).toMatchObject({ status: "completed" });
  expect(witness.ends).toEqual(["error"]);
  expect(await typesOf(store)).toEqual(expect.arrayContaining(["tool_step_finished", "tool_finished"]));
  expect(await typesOf(store)).not.toContain("tool_asked");
});

test("it ends with something else in the turn in which it asks: nobody is asked", proven, async () => {
  const store = createMemoryStore();
  const witness = createWitness();
  const refused = createDeferred<unknown>();
  const agent = createDurableAgent(
    async ({ ask }: ToolContext) => {
      ask({ message: "Really?" }).catch(refused.resolve);
      // As long as the question takes until it is on its way to the log.
      for (let turn = 0; turn < 3; turn += 1) await Promise.resolve();
      return "decided alone";
    },
    {},
    { store, hooks: [witness.hook] },
  );
  const running = agent.run("Go", ids);
  await witness.begun;
  expect(await Promise.race([refused.promise, running])).toMatchObject({ name: "AbortError" });
  witness.goOn();
  expect(await running).toMatchObject({ status: "completed" });
  expect(witness.ends).toEqual(["ok"]);
  expect(await typesOf(store)).not.toContain("tool_asked");
});

test("it ends while its held question is on its way to the log: nobody is asked", proven, async () => {
  const { store, reached, release } = createPausingStore("tool_step_finished");
  const witness = createWitness();
  const refused = createDeferred<unknown>();
  const agent = createDurableAgent(
    async ({ step, ask }) => {
      step("look", () => "found").catch(() => {});
      await reached;
      ask(markHeld({ message: "Really?" })).catch(refused.resolve);
      return "decided alone";
    },
    {},
    { store, hooks: [witness.hook] },
  );
  const running = agent.run("Go", ids);
  await witness.begun;
  release();
  expect(await Promise.race([refused.promise, running])).toMatchObject({ name: "AbortError" });
  witness.goOn();
  expect(await running).toMatchObject({ status: "completed" });
  expect(await typesOf(store)).not.toContain("tool_asked");
});
