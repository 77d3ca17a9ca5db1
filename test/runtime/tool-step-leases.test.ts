/**
 * A tool step that makes sure of the lease before it begins: its call may end meanwhile, and then it does not begin.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, defineTool, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock, settled } from "../../src/testing/test-clock.js";
import { deferred } from "../support/agents.js";
import { verifies } from "../verifies.js";

const leaseMs = 15_000;

/** A process whose renewals of its lease hang, from the time that the test says on until it lets them go. */
function playWithHeldRenewals(options: { readonly timeoutMs?: number; readonly waitsForStep: boolean }) {
  const inner = createMemoryStore();
  const renewal = deferred();
  const asked = deferred();
  let isHeld = false;
  const store: Store = {
    ...inner,
    async renew(...given) {
      if (isHeld) await renewal.promise;
      return inner.renew(...given);
    },
  };
  const clock = createTestClock();
  const started = deferred();
  const goOn = deferred();
  const charged: string[] = [];
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    input: { type: "object" },
    durable: true,
    ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
    async execute(_input, { step }) {
      started.resolve();
      await goOn.promise;
      const charging = step("charge", ({ idempotencyKey }) => void charged.push(idempotencyKey));
      charging.catch(() => {});
      asked.resolve();
      if (options.waitsForStep) await charging;
      return "paid";
    },
  });
  const model = createScriptedModel([{ calls: [{ name: "pay" }] }, { text: "Done." }]);
  const agent = createAgent({ model, tools: [pay], store, clock, leaseMs });
  const running = agent.run("Pay.", { sessionId: "s" });
  return {
    running,
    charged,
    clock,
    log: () => inner.read("s"),
    /** The lease may be over when the tool asks for its step, and nobody can say whether it is. */
    async askForStep() {
      await started.promise;
      isHeld = true;
      await clock.advance(leaseMs + 1);
      goOn.resolve();
      await asked.promise;
      await settled();
    },
    letRenewalsGo() {
      isHeld = false;
      renewal.resolve();
    },
  };
}

test("a step begins once the process is sure of its lease", verifies("TOOL-12"), async () => {
  const play = playWithHeldRenewals({ waitsForStep: true });
  await play.askForStep();
  expect(play.charged).toEqual([]);
  play.letRenewalsGo();
  expect(await play.running).toMatchObject({ status: "completed" });
  expect(play.charged).toHaveLength(1);
});

test("a step does not begin if its tool has ended meanwhile", verifies("TOOL-12"), async () => {
  const play = playWithHeldRenewals({ waitsForStep: false });
  await play.askForStep();
  play.letRenewalsGo();
  expect(await play.running).toMatchObject({ status: "completed" });
  await settled();
  expect(play.charged).toEqual([]);
  const types = (await play.log()).map(({ event }) => event.type);
  expect(types).toContain("tool_finished");
  expect(types).not.toContain("tool_step_finished");
});

test("a step does not begin if the time of its call is up meanwhile", verifies("TOOL-12", "REC-4"), async () => {
  const play = playWithHeldRenewals({ waitsForStep: true, timeoutMs: 2 * leaseMs });
  await play.askForStep();
  await play.clock.advance(leaseMs);
  play.letRenewalsGo();
  expect(await play.running).toMatchObject({ status: "completed" });
  await settled();
  expect(play.charged).toEqual([]);
  const result = (await play.log()).find(({ event }) => event.type === "tool_finished")?.event;
  expect(result).toMatchObject({ outcome: "error" });
});
