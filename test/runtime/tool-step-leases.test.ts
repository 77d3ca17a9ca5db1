/**
 * A tool step that makes sure of the lease before it begins: its call may end meanwhile, and then it does not begin. A
 * step that tidies up may begin after an abort, and makes sure of the same.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, defineTool, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock, settled } from "../../src/testing/test-clock.js";
import { createDeferred } from "../support/agents.js";
import { verifies } from "../verifies.js";

const leaseMs = 15_000;

type Play = {
  readonly timeoutMs?: number;
  readonly graceMs?: number;
  readonly waitsForStep: boolean;
  readonly cleanup?: true;
  /** The step fails at its first try. */
  readonly failsOnce?: true;
  /** Whether another process runs the tool again. Default: true. */
  readonly isDurable?: false;
};

/** A process whose renewals of its lease hang, from the time that the test says on until it lets them go. Commits, too. */
function playWithHeldRenewals(options: Play) {
  const inner = createMemoryStore();
  const renewal = createDeferred();
  const committing = createDeferred();
  const asked = createDeferred();
  const said = createDeferred<string>();
  let isHeld = false;
  let isCommitHeld = false;
  const store: Store = {
    ...inner,
    async renew(...given) {
      if (isHeld) await renewal.promise;
      return inner.renew(...given);
    },
    async commit(...given) {
      const committed = await inner.commit(...given);
      if (isCommitHeld) await committing.promise;
      return committed;
    },
  };
  const clock = createTestClock();
  const started = createDeferred();
  const goOn = createDeferred();
  const charged: string[] = [];
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    input: { type: "object" },
    ...(options.isDurable === false ? {} : { durable: true }),
    ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
    ...(options.graceMs === undefined ? {} : { graceMs: options.graceMs }),
    async execute(_input, { step }) {
      started.resolve();
      await goOn.promise;
      const charge = ({ idempotencyKey, tries }: { readonly idempotencyKey: string; readonly tries: number }) => {
        charged.push(idempotencyKey);
        if (options.failsOnce === true && tries === 1) throw new Error("The bank is away.");
      };
      const charging = step("charge", charge, {
        ...(options.cleanup === undefined ? {} : { cleanup: options.cleanup }),
        ...(options.failsOnce === undefined
          ? {}
          : { retry: { attempts: 2, backoff: { baseMs: 4 * leaseMs, maxMs: 4 * leaseMs } } }),
      });
      charging.then(
        () => said.resolve("ran"),
        (error) => said.resolve(error.name),
      );
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
    /** What the tool is told of its step: "ran", or the name of the error. */
    said: said.promise,
    log: () => inner.read("s"),
    async abort() {
      await started.promise;
      await agent.session("s").abort();
    },
    /** Another process, for which nothing hangs, goes on with the session. */
    takeOver: () =>
      createAgent({ model, tools: [pay], store: inner, clock, leaseMs })
        .session("s")
        .resume(),
    /** The tool asks for its step while a commit hangs. The store has it, and the process does not know. */
    async askDuringCommit(ms: number) {
      isCommitHeld = true;
      await clock.advance(ms);
      goOn.resolve();
      await asked.promise;
      await settled();
    },
    letCommitsGo() {
      isCommitHeld = false;
      committing.resolve();
    },
    /** The lease may be over when the tool asks for its step, and nobody can say whether it is. */
    async askForStep() {
      await started.promise;
      isHeld = true;
      await clock.advance(leaseMs + 1);
      goOn.resolve();
      await asked.promise;
      await settled();
    },
    /** The lease may be over when the step is due to be tried again. */
    async waitForNextTry() {
      await started.promise;
      goOn.resolve();
      await asked.promise;
      await settled();
      isHeld = true;
      await clock.advance(4 * leaseMs);
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

test("a step is tried again once the process is sure of its lease", verifies("TOOL-12"), async () => {
  const play = playWithHeldRenewals({ waitsForStep: true, failsOnce: true });
  await play.waitForNextTry();
  expect(play.charged).toHaveLength(1);
  play.letRenewalsGo();
  expect(await play.running).toMatchObject({ status: "completed" });
  expect(play.charged).toHaveLength(2);
});

test("a step is not tried again if another process has the session", verifies("TOOL-12"), async () => {
  const play = playWithHeldRenewals({ waitsForStep: true, failsOnce: true, isDurable: false });
  await play.waitForNextTry();
  await play.takeOver();
  play.letRenewalsGo();
  await settled();
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

test("a step that tidies up begins within the grace, once the lease is sure", verifies("TOOL-12"), async () => {
  const play = playWithHeldRenewals({ waitsForStep: true, cleanup: true, graceMs: 10 * leaseMs });
  await play.abort();
  await play.askForStep();
  expect(play.charged).toEqual([]);
  play.letRenewalsGo();
  expect(await play.running).toMatchObject({ status: "aborted" });
  expect([await play.said, play.charged.length]).toEqual(["ran", 1]);
});

test("a step that tidies up does not begin if the grace is over meanwhile", verifies("TOOL-12"), async () => {
  const play = playWithHeldRenewals({ waitsForStep: true, cleanup: true, graceMs: 2 * leaseMs });
  await play.abort();
  await play.askForStep();
  await play.clock.advance(leaseMs);
  play.letRenewalsGo();
  expect(await play.running).toMatchObject({ status: "aborted" });
  expect([await play.said, play.charged]).toEqual(["AbortError", []]);
});

test("a step that tidies up does not begin if another process has the session", verifies("TOOL-12"), async () => {
  const play = playWithHeldRenewals({ waitsForStep: true, cleanup: true, graceMs: 10 * leaseMs });
  await play.abort();
  await play.askForStep();
  void play.takeOver();
  await settled();
  play.letRenewalsGo();
  await settled();
  expect(play.charged).toEqual([]);
});

test("a step that tidies up waits for a commit that may end its call", verifies("TOOL-12"), async () => {
  const play = playWithHeldRenewals({ waitsForStep: true, cleanup: true, graceMs: 5_000 });
  await play.abort();
  await play.askDuringCommit(5_001);
  expect(play.charged).toEqual([]);
  play.letCommitsGo();
  expect(await play.running).toMatchObject({ status: "aborted" });
  expect([await play.said, play.charged]).toEqual(["AbortError", []]);
});
