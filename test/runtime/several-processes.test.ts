/**
 * Two agents over one store stand for two processes: each has its own holder and its own lease.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, PawlError, type Store } from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { createTestClock, settled, type TestClock } from "../../src/testing/test-clock.js";
import { collect, createDeferred, createGateTool } from "../support/agents.js";
import { createPausedReleaseStore } from "../support/paused-release-store.js";
import { verifies } from "../verifies.js";

const asked = { name: "risky", description: "Asks first.", input: { type: "object" }, needsApproval: true } as const;

describe("a session that waits for a person", () => {
  test(
    "takes another request as the next run, and is claimed for it once",
    verifies("LOOP-8#one-process"),
    async () => {
      const inner = createMemoryStore();
      let claims = 0;
      const store: Store = {
        ...inner,
        claim(...options) {
          claims += 1;
          return inner.claim(...options);
        },
      };
      const agent = createAgent({
        model: createScriptedModel([{ calls: [{ name: "risky" }] }, { text: "Done." }, { text: "The next." }]),
        tools: [{ ...asked, execute: () => "ran" }],
        store,
      });
      expect(await agent.run("First", { sessionId: "s" })).toMatchObject({ status: "awaiting_human" });
      claims = 0;
      const next = await agent.run("Second", { sessionId: "s" });
      expect(next).toMatchObject({ status: "interrupted", reason: "held_back" });
      expect(claims).toBe(1);
      const session = agent.session("s");
      const [waiting] = await session.pendingApprovals();
      await session.answer(waiting?.callKey ?? "", { type: "approve" });
      expect(await agent.run("Second", { sessionId: "s", runId: next.runId })).toMatchObject({ text: "The next." });
    },
  );
});

describe("resume", () => {
  test(
    "on a run that another process holds gives that run's result, not an earlier one's",
    verifies("REC-5"),
    async () => {
      const gate = createGateTool();
      const store = createMemoryStore();
      const script = [{ text: "First." }, { calls: [{ name: "gate" }] }, { text: "Second." }];
      const holder = createAgent({ model: createScriptedModel(script), tools: [gate.tool], store });
      const other = createAgent({ model: createScriptedModel([]), tools: [gate.tool], store });
      await holder.run("One", { sessionId: "s" });
      const second = holder.run("Two", { sessionId: "s" });
      await gate.started;
      const resumed = other.session("s").resume();
      gate.open("opened");
      expect(await resumed).toEqual(await second);
      expect(await resumed).toMatchObject({ text: "Second." });
    },
  );
});

/** A store whose holder sleeps once its tools are to run: the commit is in the store, and acknowledged when the test says so. */
function createSleepyStore() {
  const inner = createMemoryStore();
  const acknowledge = createDeferred();
  const written = createDeferred();
  let isAsleep = false;
  const store: Store = {
    ...inner,
    async commit(lease, commit) {
      const result = await inner.commit(lease, commit);
      if (commit.state.status === "tool_running") {
        isAsleep = true;
        written.resolve();
        await acknowledge.promise;
        isAsleep = false;
      }
      return result;
    },
    renew: (...which) => (isAsleep ? Promise.reject(new Error("asleep")) : inner.renew(...which)),
  };
  return { inner, store, written: written.promise, wake: acknowledge.resolve };
}

describe("a holder that slept past its lease", () => {
  test.each([
    ["starts nothing, though its commit was acknowledged", async (clock: TestClock) => clock.jump(60_000), 0],
    ["does so too where the clock was set back meanwhile", (clock: TestClock) => clock.advance(20_000), -20_000],
  ])("%s", verifies("REC-1", "REC-9"), async (_, sleep, jump) => {
    const clock = createTestClock();
    const sleepy = createSleepyStore();
    const gate = createGateTool();
    const holder = (store: Store, steps: readonly ScriptedStep[]) =>
      createAgent({ model: createScriptedModel(steps), tools: [gate.tool], store, clock });
    const result = holder(sleepy.store, [{ calls: [{ name: "gate" }] }]).run("Go", { sessionId: "s" });
    await sleepy.written;
    await sleep(clock);
    const other = holder(sleepy.inner, [{ text: "Done." }]);
    expect(await other.session("s").resume()).toMatchObject({ status: "completed" });
    clock.jump(jump);
    sleepy.wake();
    expect(await result).toMatchObject({ status: "interrupted", reason: "lease_lost" });
    expect(gate.runs()).toBe(0);
  });
});

describe("a lease that is renewed while it is given back", () => {
  test("is not lost: the run's result is told", verifies("REC-2"), async () => {
    const clock = createTestClock();
    const { store: held, inner, written, acknowledge } = createPausedReleaseStore();
    const store: Store = {
      ...held,
      async renew(...which) {
        await written;
        const gone = await inner.renew(...which);
        acknowledge();
        return gone;
      },
    };
    const gate = createGateTool();
    const model = createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "Done." }]);
    const result = createAgent({ model, tools: [gate.tool], store, clock }).run("Go");
    await gate.started;
    await clock.advance(5_000);
    gate.open("opened");
    expect(await result).toMatchObject({ status: "completed", text: "Done." });
  });
});

describe("one that waits for a session whose holder died", () => {
  test("tries again where the store fails as it takes over", verifies("REC-3"), async () => {
    const clock = createTestClock();
    const inner = createMemoryStore();
    const gate = createGateTool();
    const holder = createAgent({
      model: createScriptedModel([{ calls: [{ name: "gate" }] }]),
      tools: [gate.tool],
      store: { ...inner, renew: async () => [], commit: stopping(inner) },
      clock,
    });
    void holder.run("One", { sessionId: "s" });
    await gate.started;
    let failures = 0;
    const store: Store = {
      ...inner,
      async read(...which) {
        const held = (await inner.list())[0]?.holder;
        if (held?.id === taker && failures < 1) {
          failures += 1;
          throw new PawlError("store_failed", "Once.");
        }
        return inner.read(...which);
      },
      async claim(sessionId, options) {
        taker = options.holder.id;
        return inner.claim(sessionId, options);
      },
    };
    let taker = "";
    const script = [{ text: "One is done." }, { text: "Two is done." }];
    const second = createAgent({ model: createScriptedModel(script), tools: [gate.tool], store, clock }).run("Two", {
      sessionId: "s",
    });
    await clock.advance(60_000);
    expect(failures).toBe(1);
    expect(await second).toMatchObject({ status: "completed", text: "Two is done." });
  });
});

/** Commits up to the first tool call, and never answers again. */
function stopping(store: Store): Store["commit"] {
  let stopped = false;
  return async (lease, commit) => {
    if (stopped) return new Promise(() => {});
    stopped = commit.state.status === "tool_running";
    return store.commit(lease, commit);
  };
}

describe("an approval that was given while nobody drove the session", () => {
  test("starts its call, though others of the step are in doubt", verifies("REC-3"), async () => {
    const clock = createTestClock();
    const store = createMemoryStore();
    const gate = createGateTool();
    const approved: number[] = [];
    const risky = { ...asked, execute: () => approved.push(1) };
    const calls = [{ name: "gate" }, { name: "risky" }];
    const dead = createAgent({ model: createScriptedModel([{ calls }]), tools: [gate.tool, risky], store, clock });
    void dead.run("Go", { sessionId: "s" });
    await gate.started;
    clock.jump(60_000);
    const heir = createAgent({
      model: createScriptedModel([{ text: "Done." }]),
      tools: [gate.tool, risky],
      store,
      clock,
    });
    const session = heir.session("s");
    const [waiting] = await session.pendingApprovals();
    await session.answer(waiting?.callKey ?? "", { type: "approve" });
    expect(await session.resume()).toMatchObject({ status: "completed" });
    expect(approved).toEqual([1]);
    const outcomes = (await collect(session.events({ follow: false }))).flatMap((event) =>
      event.type === "tool_result" ? [`${event.name} ${event.outcome}`] : [],
    );
    expect(outcomes).toEqual(["gate interrupted", "risky ok"]);
  });
});

describe("a process that shuts down", () => {
  test("takes up nothing that it had not begun, and says so", verifies("LOOP-7"), async () => {
    const inner = createMemoryStore();
    const claiming = createDeferred();
    const claim = createDeferred();
    const store: Store = {
      ...inner,
      async claim(...which) {
        claiming.resolve();
        await claim.promise;
        return inner.claim(...which);
      },
    };
    const model = createScriptedModel([{ text: "Never." }]);
    const agent = createAgent({ model, store });
    const result = agent.run("Go", { sessionId: "s", runId: "r" });
    await claiming.promise;
    const down = agent.shutdown();
    claim.resolve();
    await down;
    expect(await result).toMatchObject({ status: "interrupted", reason: "shutdown" });
    expect(model.requests).toHaveLength(0);
    await expect(agent.run("More", { sessionId: "s" })).rejects.toMatchObject({ code: "shut_down" });
    const other = createAgent({ model: createScriptedModel([{ text: "Done." }]), store: inner });
    expect(await other.run("Go", { sessionId: "s", runId: "r" })).toMatchObject({ status: "completed", text: "Done." });
  });
});

test(
  "whoever waits for a steer's id in another process is told that it gives no run",
  verifies("LOOP-11"),
  async () => {
    const gate = createGateTool();
    const inner = createMemoryStore();
    let hidden = true;
    const store: Store = { ...inner, inbox: async (id) => (hidden ? [] : await inner.inbox(id)) };
    const tools = [gate.tool, { ...asked, execute: () => "ran" }];
    const script = [{ calls: [{ name: "gate" }, { name: "risky" }] }];
    const holder = createAgent({ model: createScriptedModel(script), tools, store });
    const other = createAgent({ model: createScriptedModel([]), tools, store: inner });
    const held = holder.run("Go", { sessionId: "s" });
    await gate.started;
    // The steer is still in the inbox when somebody asks for a run of its id.
    await other.session("s").send("Quick", { mode: "steer", runId: "mine" });
    const refused = expect(other.run("Two", { sessionId: "s", runId: "mine" })).rejects.toMatchObject({
      code: "bad_input",
    });
    await settled();
    hidden = false;
    gate.open("opened");
    expect(await held).toMatchObject({ status: "awaiting_human" });
    await refused;
  },
);
