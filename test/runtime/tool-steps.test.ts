/**
 * Tool steps: what a tool has done is kept before it goes on, and a tool that runs again is given it.
 */
import { describe, expect, test } from "vitest";
import {
  type AnyTool,
  createMemoryStore,
  defineTool,
  StepError,
  type Store,
  type ToolContext,
} from "../../src/index.js";
import { traceSession } from "../../src/inspect.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { collect, createDeferred, filterEventsOfType } from "../support/agents.js";
import { createDurableAgent, readEvents } from "../support/durable-tool.js";
import { createFailingStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const ids = { sessionId: "s", runId: "r" } as const;

async function stepsOf(store: Store) {
  return (await readEvents(store)).filter((event) => event.type === "tool_step_finished");
}

async function resultOf(store: Store): Promise<string> {
  const finished = (await readEvents(store)).find((event) => event.type === "tool_finished");
  return finished?.output === undefined ? "" : JSON.stringify(finished.output);
}

/** Runs until the store fails at a commit, then again with a whole store: the tool runs twice. */
async function inTwoLives(
  execute: (context: ToolContext) => unknown,
  { failing, more = {} }: { readonly failing: number; readonly more?: Partial<AnyTool> },
) {
  const inner = createMemoryStore();
  const { store, failCommits, repair } = createFailingStore(inner);
  failCommits(failing);
  const first = await createDurableAgent(execute, more, { store }).run("Go", ids);
  expect(first).toMatchObject({ status: "interrupted" });
  repair();
  const second = await createDurableAgent(execute, more, { store }).session("s").resume();
  return { store: inner, second };
}

describe("a step", () => {
  test("is committed before the tool goes on, as JSON both times", verifies("TOOL-12"), async () => {
    const store = createMemoryStore();
    const seen: unknown[] = [];
    const agent = createDurableAgent(
      async ({ step, idempotencyKey }) => {
        const given = await step("look", ({ idempotencyKey: key }) => ({ at: new Date(0), key, none: undefined }));
        seen.push(given, (await stepsOf(store)).length);
        expect(given.key).toBe(`${idempotencyKey}/look`);
        expect(await step("nothing", () => {})).toBeUndefined();
        return given.at;
      },
      {},
      { store },
    );
    expect(await agent.run("Go", ids)).toMatchObject({ status: "completed" });
    expect(seen).toEqual([{ at: "1970-01-01T00:00:00.000Z", key: "s/r/1/1/look" }, 1]);
    expect(await stepsOf(store)).toMatchObject([
      { step: "look", outcome: "ok", attempt: 1, value: { key: "s/r/1/1/look" } },
      { step: "nothing", outcome: "ok" },
    ]);
  });

  test("is not run again by a tool that runs again", verifies("TOOL-12", "REC-1"), async () => {
    const ran: string[] = [];
    const work = async ({ step, attempt }: ToolContext) => {
      const one = await step("one", () => {
        ran.push(`one in ${attempt}`);
        return { n: 1 };
      });
      const two = await step("two", () => {
        ran.push(`two in ${attempt}`);
        return one.n + 1;
      });
      return `given ${two}`;
    };
    // Commits: the start, the answer, step one, step two.
    const { store, second } = await inTwoLives(work, { failing: 4 });
    expect(second).toMatchObject({ status: "completed" });
    expect(ran).toEqual(["one in 1", "two in 1", "two in 2"]);
    expect(await resultOf(store)).toContain("given 2");
    expect((await stepsOf(store)).map((event) => [event.step, event.attempt])).toEqual([
      ["one", 1],
      ["two", 2],
    ]);
  });

  test("that failed fails again in the same way", verifies("TOOL-12"), async () => {
    const caught: unknown[] = [];
    let ran = 0;
    const work = async ({ step }: ToolContext) => {
      try {
        await step("charge", () => {
          ran += 1;
          throw Object.assign(new TypeError("no card"), { code: "card_declined" });
        });
      } catch (error) {
        caught.push(error);
        await step("note", () => "noted");
      }
      return "ended";
    };
    const { store } = await inTwoLives(work, { failing: 4 });
    expect(ran).toBe(1);
    expect(caught).toHaveLength(2);
    expect(caught[0]).toBeInstanceOf(StepError);
    expect(caught[0]).toMatchObject({ code: "step_failed", step: "charge", reason: "card_declined" });
    expect({ ...(caught[1] as StepError) }).toEqual({ ...(caught[0] as StepError) });
    expect((caught[1] as StepError).message).toBe((caught[0] as StepError).message);
    expect((await stepsOf(store)).map(({ step, outcome }) => `${step} ${outcome}`)).toEqual([
      "charge error",
      "note ok",
    ]);
  });

  test("that may run once is in doubt after a crash within it", verifies("TOOL-12"), async () => {
    let ran = 0;
    const work = async ({ step }: ToolContext) => {
      try {
        return await step("charge", () => (ran += 1), { once: true });
      } catch (error) {
        return (error as StepError).code;
      }
    };
    // Commits: the start, the answer, the start of the step, its end.
    const { store } = await inTwoLives(work, { failing: 4 });
    expect(ran).toBe(1);
    expect(await resultOf(store)).toContain("step_in_doubt");
  });

  test("that may run once stays in doubt when its call is tried again", verifies("TOOL-12", "TOOL-15"), async () => {
    let ran = 0;
    const seen: string[] = [];
    const work = async ({ step }: ToolContext) => {
      const charged = await step("charge", () => (ran += 1), { once: true }).catch((error: StepError) => error.code);
      seen.push(String(charged));
      throw new Error("the service is away");
    };
    const retry = { attempts: 2, backoff: { baseMs: 0 } };
    // Commits: the start, the answer, the start of the step, its end.
    const { store } = await inTwoLives(work, { failing: 4, more: { retry } });
    expect(ran).toBe(1);
    expect(seen).toEqual(["step_in_doubt", "step_in_doubt"]);
    expect((await readEvents(store)).filter(({ type }) => type === "tool_failed")).toHaveLength(1);
  });

  test("names are counted in a loop", verifies("TOOL-12"), async () => {
    const ran: number[] = [];
    const work = async ({ step }: ToolContext) => {
      const given: number[] = [];
      for (let page = 1; page <= 3; page += 1)
        given.push(
          await step("page", () => {
            ran.push(page);
            return page * 10;
          }),
        );
      return given.join(" ");
    };
    const { store } = await inTwoLives(work, { failing: 5 });
    expect(ran).toEqual([1, 2, 3, 3]);
    expect(await resultOf(store)).toContain("10 20 30");
    expect((await stepsOf(store)).map(({ step }) => step)).toEqual(["page", "page#2", "page#3"]);
  });

  test("side by side are given in the order in which they ended", verifies("TOOL-12"), async () => {
    const orders: string[] = [];
    const work = async ({ step }: ToolContext) => {
      const order: string[] = [];
      const fast = createDeferred();
      const note = (name: string) => () => void order.push(name);
      await Promise.all([
        step("slow", () => fast.promise).then(note("slow")),
        step("fast", () => "at once")
          .then(note("fast"))
          .then(fast.resolve),
      ]);
      orders.push(order.join(" "));
      return step("last", () => order);
    };
    // Commits: the start, the answer, the fast step, the slow one, the last one.
    await inTwoLives(work, { failing: 5 });
    expect(orders).toEqual(["fast slow", "fast slow"]);
  });

  test("with a large value is kept in a blob, which a fork copies", verifies("TOOL-12"), async () => {
    const large = "x".repeat(100_000);
    let ran = 0;
    const work = async ({ step }: ToolContext) => {
      const text = await step("read", () => {
        ran += 1;
        return large;
      });
      await step("after", () => 1);
      return text.length;
    };
    const { store } = await inTwoLives(work, { failing: 4 });
    expect(ran).toBe(1);
    expect(await resultOf(store)).toContain("100000");
    const [first] = await stepsOf(store);
    expect(first?.valueBlob?.bytes).toBe(100_002);
    const fork = await createDurableAgent(work, {}, { store }).session("s").fork({ sessionId: "f" });
    expect(fork.id).toBe("f");
    expect(await store.getBlob("f", first?.valueBlob?.blob ?? "")).not.toBeNull();
  });

  test("whose value is too large fails, and is not run again", verifies("TOOL-12"), async () => {
    const store = createMemoryStore();
    const agent = createDurableAgent(({ step }) => step("read", () => "x".repeat(5_000_000)), {}, { store });
    await agent.run("Go", ids);
    expect(await resultOf(store)).toContain("the maximum is 4194304");
    expect(await stepsOf(store)).toMatchObject([{ outcome: "error", fault: { code: "step_too_large" } }]);
  });

  test("takes no longer than its time, and is tried again if its author says so", verifies("TOOL-12"), async () => {
    const store = createMemoryStore();
    const clock = createTestClock();
    const tries: number[] = [];
    const begun = createDeferred();
    const agent = createDurableAgent(
      async ({ step }) => {
        const given = await step(
          "flaky",
          ({ tries: n }) => {
            tries.push(n);
            if (n < 3) throw new Error("not yet");
            return n;
          },
          { retry: { attempts: 5, backoff: { baseMs: 0 } } },
        );
        begun.resolve();
        const slow = await step("slow", () => new Promise(() => {}), { timeoutMs: 50 }).catch((error) => error.code);
        return `${given} ${slow}`;
      },
      {},
      { store, clock },
    );
    const running = agent.run("Go", ids);
    for (let turn = 0; turn < 20; turn += 1) await clock.advance(10);
    await begun.promise;
    for (let turn = 0; turn < 20; turn += 1) await clock.advance(10);
    await running;
    expect(tries).toEqual([1, 2, 3]);
    expect(await resultOf(store)).toContain("3 step_timeout");
    expect(await stepsOf(store)).toMatchObject([{ tries: 3 }, { fault: { code: "step_timeout" } }]);
  });

  test("is shown once, and stands in the trace", verifies("TOOL-12"), async () => {
    const store = createMemoryStore();
    const agent = createDurableAgent(({ step }) => step("look", () => ({ n: 1 })), {}, { store });
    const items = await collect(agent.runStream("Go", ids));
    expect(filterEventsOfType(items, "tool_step")).toMatchObject([
      { name: "work", step: "look", outcome: "ok", output: { n: 1 }, callKey: "r/1/1" },
    ]);
    const trace = await traceSession(store, "s");
    expect(trace.flatMap((one) => (one.type === "step" ? one.calls : []))).toMatchObject([
      { name: "work", steps: [{ step: "look", outcome: "ok" }] },
    ]);
  });
});

describe("a tool whose code does not fit its steps", () => {
  test("is told that a step has another name, and neither step runs", verifies("TOOL-12"), async () => {
    const clock = createTestClock();
    const inner = createMemoryStore();
    const { store, failCommits, repair } = createFailingStore(inner);
    failCommits(4);
    const before = createDurableAgent(
      async ({ step }) => {
        await step("charge", () => 1);
        await step("mail", () => 2);
      },
      {},
      { store, clock },
    );
    expect(await before.run("Go", ids)).toMatchObject({ status: "interrupted" });
    repair();
    const ran: string[] = [];
    const after = createDurableAgent(({ step }) => step("pay", () => void ran.push("pay")), {}, { store, clock });
    const resumed = after.session("s").resume();
    for (let turn = 0; turn < 30; turn += 1) await clock.advance(500);
    expect(await resumed).toMatchObject({ status: "completed" });
    expect(ran).toEqual([]);
    expect(await resultOf(inner)).toMatch(/"charge\\" was recorded next, and it asks for \\"pay/);
  });

  test("is told when it ends without a recorded step", verifies("TOOL-12"), async () => {
    let life = 0;
    const { store } = await inTwoLives(
      async ({ step }: ToolContext) => {
        life += 1;
        if (life === 1) await step("charge", () => 1);
        if (life === 1) await step("more", () => 1);
        return "fine";
      },
      { failing: 4 },
    );
    expect(await resultOf(store)).toMatch(/"charge\\" was recorded next, and it asks for nothing more/);
  });

  test.each([
    ["names that come twice side by side", "step_ambiguous"],
    ["a step within a step", "step_nested"],
    ["a step within a step, after a wait", "step_nested"],
  ])("is told of %s in its first run", verifies("TOOL-12"), async (what, code) => {
    const store = createMemoryStore();
    const agent = createDurableAgent(
      async ({ step }) => {
        try {
          if (code === "step_ambiguous") await Promise.all([step("a", () => 1), step("a", () => 2)]);
          else
            await step("outer", async () => {
              if (what.includes("wait")) await Promise.resolve();
              return step("inner", () => 1);
            });
        } catch (error) {
          return (error as StepError).message.includes(code) ? code : ((error as StepError).code ?? String(error));
        }
        return "fine";
      },
      {},
      { store },
    );
    await agent.run("Go", ids);
    const result = await resultOf(store);
    if (code === "step_nested") expect((await stepsOf(store))[0]?.fault?.cause).toBe(code);
    else expect(result).toContain(code);
  });

  test("may not give a step any name, nor any option", verifies("TOOL-12"), async () => {
    const store = createMemoryStore();
    const faults: string[] = [];
    const agent = createDurableAgent(
      async ({ step }) => {
        const wrong = [
          () => step("", () => 1),
          () => step("a#2", () => 1),
          () => step("a/b", () => 1),
          () => step("x".repeat(201), () => 1),
          () => step("a\n", () => 1),
          () => step("a", 1 as never),
          () => step("a", () => 1, { tries: 3 } as never),
          () => step("a", () => 1, { retry: { attempts: 0 } }),
        ];
        for (const act of wrong) await act().catch((error) => faults.push(error.code));
        return "ended";
      },
      {},
      { store },
    );
    await agent.run("Go", ids);
    expect(faults).toEqual(Array(8).fill("bad_input"));
    expect(await stepsOf(store)).toEqual([]);
  });

  test("is refused if it is durable and recovers in another way", verifies("TOOL-12"), () => {
    const make = () =>
      defineTool({
        name: "a",
        description: "a",
        input: { type: "object" },
        durable: true,
        recover: "ask",
        execute: () => 1,
      });
    expect(make).toThrow(/is durable/);
  });
});

describe("when a call ends from outside", () => {
  test("an abort lets a step end, refuses the next one, and allows cleaning up", verifies("TOOL-12"), async () => {
    const store = createMemoryStore();
    const begun = createDeferred();
    const seen: unknown[] = [];
    const agent = createDurableAgent(
      async ({ step }) => {
        const first = await step("slow", ({ signal }) => {
          begun.resolve();
          return new Promise((resolve) => signal.addEventListener("abort", () => resolve("cut short")));
        });
        seen.push(first, await step("next", () => 1).catch((error) => error.name));
        seen.push(await step("undo", ({ signal }) => (signal.aborted ? "cut short" : "undone"), { cleanup: true }));
        return "ended";
      },
      {},
      { store },
    );
    const running = agent.run("Go", ids);
    await begun.promise;
    await agent.session("s").abort();
    expect(await running).toMatchObject({ status: "aborted" });
    expect(seen).toEqual(["cut short", "AbortError", "undone"]);
    expect((await stepsOf(store)).map(({ step }) => step)).toEqual(["slow", "undo"]);
  });

  test("an abort does not reach a step that tidies up", verifies("TOOL-12"), async () => {
    const begun = createDeferred();
    const aborted = createDeferred();
    const seen: boolean[] = [];
    const agent = createDurableAgent(async ({ step, signal: ofCall }) => {
      ofCall.addEventListener("abort", () => aborted.resolve());
      const tidy = async ({ signal }: { readonly signal: AbortSignal }) => {
        begun.resolve();
        await aborted.promise;
        seen.push(ofCall.aborted, signal.aborted);
      };
      await step("tidy", tidy, { cleanup: true });
    });
    const running = agent.run("Go", ids);
    await begun.promise;
    await agent.session("s").abort();
    expect(await running).toMatchObject({ status: "aborted" });
    expect(seen).toEqual([true, false]);
  });

  test("after the grace the tool comes to its end, and its result is late", verifies("TOOL-12"), async () => {
    const store = createMemoryStore();
    const begun = createDeferred();
    const slow = createDeferred<string>();
    const ended = createDeferred();
    const agent = createDurableAgent(
      async ({ step }) => {
        const given = await step("slow", () => {
          begun.resolve();
          return slow.promise;
        });
        ended.resolve();
        return `given ${given}`;
      },
      { graceMs: 0 },
      { store },
    );
    const running = agent.run("Go", ids);
    await begun.promise;
    await agent.session("s").abort();
    expect(await running).toMatchObject({ status: "aborted" });
    slow.resolve("late");
    await ended.promise;
    expect(await stepsOf(store)).toEqual([]);
    const late = async () =>
      (await store.inbox("s")).length + (await readEvents(store)).filter((e) => e.type === "late_result").length;
    await expect.poll(late).toBe(1);
  });

  test("after the grace no step begins, not even one that tidies up", verifies("TOOL-12"), async () => {
    const begun = createDeferred();
    const slow = createDeferred<string>();
    const refused = createDeferred<string>();
    const ran: string[] = [];
    const agent = createDurableAgent(
      async ({ step }) => {
        await step("slow", () => {
          begun.resolve();
          return slow.promise;
        });
        const undo = step("undo", () => ran.push("undo"), { cleanup: true });
        refused.resolve(await undo.then(String, (error) => error.name));
      },
      { graceMs: 0 },
    );
    const running = agent.run("Go", ids);
    await begun.promise;
    await agent.session("s").abort();
    expect(await running).toMatchObject({ status: "aborted" });
    slow.resolve("late");
    expect([await refused.promise, ran]).toEqual(["AbortError", []]);
  });

  test("a failed store lets nothing of the tool go on", verifies("TOOL-12"), async () => {
    const went: string[] = [];
    const work = async ({ step, attempt }: ToolContext) => {
      try {
        await step("charge", () => 1);
        went.push(`on in ${attempt}`);
      } catch {
        went.push(`refunds in ${attempt}`);
      } finally {
        went.push(`finally in ${attempt}`);
      }
      return 1;
    };
    await inTwoLives(work, { failing: 3 });
    expect(went).toEqual(["on in 2", "finally in 2"]);
  });

  test("a shutdown lets a durable tool go after its step", verifies("TOOL-12"), async () => {
    const store = createMemoryStore();
    const begun = createDeferred();
    const first = createDeferred<number>();
    const ran: string[] = [];
    const work = async ({ step }: ToolContext) => {
      const one = await step("one", () => {
        begun.resolve();
        ran.push("one");
        return first.promise;
      });
      const two = await step("two", () => {
        ran.push("two");
        return 2;
      });
      return `given ${one + two}`;
    };
    const agent = createDurableAgent(work, {}, { store });
    const running = agent.run("Go", ids);
    await begun.promise;
    const leaving = agent.shutdown({ graceMs: 60_000 });
    first.resolve(1);
    await leaving;
    expect(await running).toMatchObject({ status: "interrupted", reason: "shutdown" });
    expect(ran).toEqual(["one"]);
    expect((await stepsOf(store)).map(({ step }) => step)).toEqual(["one"]);
    expect(await createDurableAgent(work, {}, { store }).session("s").resume()).toMatchObject({ status: "completed" });
    expect(ran).toEqual(["one", "two"]);
    expect(await resultOf(store)).toContain("given 3");
  });
});

describe("what steps say of a call that is in doubt", () => {
  const work = async ({ step }: ToolContext) => {
    await step("first", () => 1);
    await step("second", () => 2);
    return "ended";
  };

  test("a result that says that the call was interrupted names them", verifies("TOOL-12"), async () => {
    const { store } = await inTwoLives(work, { failing: 4, more: { durable: false, recover: "fail" } });
    const requests = await collect(
      createDurableAgent(work, { durable: false }, { store }).session("s").events({ follow: false }),
    );
    expect(JSON.stringify(filterEventsOfType(requests, "tool_result"))).toContain("Finished tool steps: first.");
  });

  test("a person who is asked learns them", verifies("TOOL-12"), async () => {
    const { second } = await inTwoLives(work, { failing: 4, more: { durable: false, recover: "ask" } });
    expect(second).toMatchObject({ status: "awaiting_human", approvals: [{ why: "recovery" }] });
    expect(JSON.stringify(second)).toContain("do not run again: first.");
  });

  test("a tool that looks itself gets them", verifies("TOOL-12"), async () => {
    const asked: unknown[] = [];
    const recover = {
      reconcile: async ({ steps }: { readonly steps: unknown }) => {
        asked.push(steps);
        return { status: "finished", output: "found" } as const;
      },
    };
    await inTwoLives(work, { failing: 4, more: { durable: false, recover } });
    expect(asked).toEqual([[{ step: "first", outcome: "ok", value: 1 }]]);
  });
});

describe("a replay", () => {
  const order = async ({ step }: ToolContext) => {
    const price = await step("price", () => 7);
    return step("charge", () => `charged ${price}`);
  };

  test("runs no tool, or durable ones with their recorded steps", verifies("TOOL-12"), async () => {
    const store = createMemoryStore();
    await createDurableAgent(order, {}, { store }).run("Go", ids);
    const never = () => Promise.reject(new Error("it ran"));
    expect(await createDurableAgent(never, {}, { store }).session("s").replay()).toMatchObject({ difference: null });
    expect(await createDurableAgent(order, {}, { store }).session("s").replay({ durable: "present" })).toMatchObject({
      difference: null,
    });
  });

  test("reads large values of steps, and leaves out calls that were cut off", verifies("TOOL-12"), async () => {
    const store = createMemoryStore();
    const begun = createDeferred();
    const work = async ({ step }: ToolContext) => {
      const text = await step("read", () => "x".repeat(100_000));
      await step("wait", ({ signal }) => {
        begun.resolve();
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("cut off"))));
      });
      return text.length;
    };
    const agent = createDurableAgent(work, {}, { store });
    const running = agent.run("Go", ids);
    await begun.promise;
    await agent.session("s").abort();
    expect(await running).toMatchObject({ status: "aborted" });
    expect(await agent.session("s").replay({ durable: "present" })).toMatchObject({ difference: null });
    const whole = createDurableAgent(
      async ({ step }) => (await step("read", () => "x".repeat(100_000))).length,
      {},
      { store },
    );
    await whole.run("Go", { sessionId: "large" });
    expect(await whole.session("large").replay({ durable: "present" })).toMatchObject({ difference: null });
  });

  test("finds a step that is new, and one that has another name, and runs neither", verifies("TOOL-12"), async () => {
    const store = createMemoryStore();
    await createDurableAgent(order, {}, { store }).run("Go", ids);
    let ran = 0;
    const more = async (context: ToolContext) => {
      const text = await order(context);
      await context.step("mail", () => (ran += 1));
      return text;
    };
    const added = await createDurableAgent(more, {}, { store }).session("s").replay({ durable: "present" });
    expect(added.difference).toMatchObject({ event: "tool_finished", recorded: "ok", present: "error" });
    const renamed = await createDurableAgent(async () => "charged 7", {}, { store })
      .session("s")
      .replay({ durable: "present" });
    expect(renamed.difference).toMatchObject({ event: "tool_finished", recorded: "ok", present: "error" });
    expect(ran).toBe(0);
  });
});

test("a context that is copied keeps all that the tool has", verifies("TOOL-12"), async () => {
  const store = createMemoryStore();
  const agent = createDurableAgent(
    async (context) => {
      const own = { ...context, deps: "mine" };
      own.data.set("seen", own.messages.length);
      const { step, signal } = own;
      return { gave: await step("one", () => 1), aborted: signal.aborted, deps: own.deps };
    },
    {},
    { store },
  );
  expect(await agent.run("Go", { sessionId: "s" })).toMatchObject({ status: "completed" });
  const finished = (await readEvents(store)).find(({ type }) => type === "tool_finished");
  expect(finished).toMatchObject({ output: { type: "json", value: { gave: 1, aborted: false, deps: "mine" } } });
  expect(await agent.session("s").data()).toEqual({ seen: 1 });
});
