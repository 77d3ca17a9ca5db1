/**
 * Tools that have steps and that ask. What each does depends on its input alone, as that of a durable tool must.
 *
 * A step gives another value each time it runs. So a step that ran twice, or a value in the wrong place, is seen.
 */
import type { Json } from "../../../src/core/data/message.js";
import { markHeld } from "../../../src/ports/held-question.js";
import type {
  Answered,
  Question,
  Signalled,
  StepContext,
  StepOptions,
  Tool,
  ToolContext,
} from "../../../src/ports/tool.js";
import { StepError } from "../../../src/runtime/tools/step-error.js";
import { settled } from "../../../src/testing/test-clock.js";
import { createStepStarted } from "../../../src/testing/world/facts.js";
import type { SeededRandom } from "../../../src/testing/world/seeded-random.js";
import type { World } from "../../../src/testing/world/world.js";
import { type Input, recordOutput, recordStart, type ToolDeps, timeoutMs } from "./tools.js";

export const steppedTools = ["stepped", "tidying", "asking", "piecewise", "persistent"] as const;

/** Tools that models call in worlds in which time matters. */
export const timedTools = ["sleeping", "signalled", "polling"] as const;

/** Simulations may share a store. */
export const toSignalKey = ({ sessionId }: World, key: string) => `${sessionId} ${key}`;

/** How often calls of `persistent` are tried again after they failed. */
export const retriesOfPersistent = 2;

/** A fifth of the worlds have tools with steps. Those that are named here come up among the other tools. */
export function drawSteppedTools(chance: SeededRandom): readonly string[] {
  if (!chance.happens(0.2)) return [];
  const some = steppedTools.filter(() => chance.happens(0.6));
  return [...some, ...some, ...some];
}

type SimulatedStepOptions = StepOptions & {
  readonly fails?: true;
  readonly bytes?: number;
  readonly keyed?: true;
  /** It takes no notice of an abort, and goes on long after the grace. */
  readonly deaf?: true;
};

/** The steps of one attempt of a call, as the world sees them. */
type StepRunner = {
  readonly step: (name: string, options?: SimulatedStepOptions) => Promise<Json>;
  readonly ask: (question: Question<Json>) => Promise<Answered<Json>>;
  readonly sleep: (name: string, ms: number) => Promise<Json>;
  /** Waits for a signal whose value is a number. */
  readonly waitFor: (name: string, key: string, timeoutMs: number) => Promise<Json>;
  /** The code of the error that this throws; what it gives otherwise. */
  readonly catchStepError: (act: Promise<Json>) => Promise<Json>;
};

export function createSteppedTools(deps: ToolDeps): readonly Tool<Input>[] {
  const tool = (name: string, act: (steps: StepRunner, n: number) => Promise<Json>, more: Partial<Tool<Input>>) => ({
    name,
    description: name,
    input: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
    execute: async (input: Input, context: ToolContext) => {
      recordStart(deps, name, input, context, context.signal);
      try {
        const given = await act(createStepRunner(deps, context), input.n);
        return recordOutput(deps, context, `${name} ${input.n}: ${JSON.stringify(given).slice(0, 2_000)}`);
      } catch (error) {
        recordOutput(deps, context, null);
        throw error;
      }
    },
    ...more,
  });
  return [
    tool("stepped", runStepped, { durable: true }),
    tool("tidying", runTidying, { durable: true, timeoutMs, graceMs: 300 }),
    tool("asking", runAsking, { durable: true }),
    tool("holding", ({ ask }, n) => runHolding(ask, n), { recover: "rerun" }),
    tool("sleeping", runSleeping, { durable: true }),
    tool("signalled", runSignalled, { durable: true }),
    tool("polling", runPolling, { durable: true }),
    tool("piecewise", ({ step }, n) => runInSequence(step, ["one", "two", `three ${n}`]), { recover: "ask" }),
    tool("persistent", runPersisting, {
      durable: true,
      retry: { attempts: retriesOfPersistent + 1, backoff: { baseMs: 200 } },
    }),
  ];
}

async function runInSequence(step: StepRunner["step"], names: readonly string[]): Promise<Json> {
  const given: Json[] = [];
  for (const name of names) given.push(await step(name));
  return given;
}

async function runStepped({ step, catchStepError }: StepRunner, n: number): Promise<Json> {
  switch (n % 6) {
    case 0:
      // A service that honors keys gives the same again.
      return [await step("one", { keyed: true }), await step("two", { keyed: true }), await step("three")];
    case 1:
      return runInSequence(step, ["page", "page", "page"]);
    case 2: {
      const branches = ["a", "b", "c"].map((name) => runInSequence(step, [`${name} 1`, `${name} 2`]));
      return [...(await Promise.all(branches)), await step("last")];
    }
    case 3:
      return [await catchStepError(step("charge", { once: true })), await step("note")];
    case 4: {
      // A lease may be over in the longer wait.
      const retryMs = n % 12 === 10 ? 20_000 : 50;
      const failure = await catchStepError(
        step("try", { fails: true, retry: { attempts: 2, backoff: { baseMs: retryMs } } }),
      );
      return [failure, await catchStepError(step("wait", { timeoutMs: 300 })), await step("other")];
    }
    default: {
      const large = await step("large", { bytes: 70_000 });
      return [JSON.stringify(large).length, await step("small"), await catchStepError(step("tidy", { cleanup: true }))];
    }
  }
}

/** Tidies up after a step that may go on long after the grace of an abort. */
async function runTidying({ step, catchStepError }: StepRunner, n: number): Promise<Json> {
  const lastingValue = await step("lasting", n % 2 === 0 ? { deaf: true } : {});
  return [lastingValue, await catchStepError(step("tidy", { cleanup: true })), await step("last")];
}

async function runAsking({ step, ask }: StepRunner, n: number): Promise<Json> {
  const question = (name: string, more: Partial<Question<Json>> = {}): Question<Json> => ({
    message: `${name}?`,
    name,
    schema: { type: "number" },
    ...more,
  });
  switch (n % 4) {
    case 0:
      return [await step("before"), await ask(question("ask")), await step("after")];
    case 1:
      return [...(await Promise.all(["x", "y"].map((name) => ask(question(name))))), await step("after")];
    case 2:
      return [...(await Promise.all([step("beside"), ask(question("ask"))])), await ask(question("again"))];
    default:
      return [await ask(question("soon", { expiresInMs: 2_000 })), await step("after")];
  }
}

async function runSleeping({ step, ask, sleep }: StepRunner, n: number): Promise<Json> {
  const question = { message: "now?", name: "ask", schema: { type: "number" }, expiresInMs: 4_000 };
  switch (n % 4) {
    case 0:
      return [await step("before"), await sleep("short", 300), await step("after")];
    case 1:
      return [await sleep("long", 20_000), await step("after")];
    case 2:
      return [...(await Promise.all([sleep("beside", 3_000), step("other")])), await sleep("again", 8_000)];
    default:
      return [...(await Promise.all([sleep("beside", 10_000), ask(question)])), await step("after")];
  }
}

async function runSignalled({ step, waitFor, sleep }: StepRunner, n: number): Promise<Json> {
  switch (n % 4) {
    case 0:
      return [await step("before"), await waitFor("one", "k0", 30_000), await waitFor("two", "k0", 20_000)];
    case 1:
      return [...(await Promise.all([waitFor("x", "k0", 9_000), waitFor("y", "k1", 5_000)])), await step("after")];
    case 2:
      return Promise.all([waitFor("a", "k1", 12_000), waitFor("b", "k1", 12_000)]);
    default:
      return Promise.all([sleep("beside", 2_000), waitFor("a", "k1", 7_000)]);
  }
}

/** Looks whether there is a signal, and sleeps longer each time. */
async function runPolling({ waitFor, sleep }: StepRunner, n: number): Promise<Json> {
  const given: Json[] = [];
  for (let times = 1; times <= 3; times += 1) {
    given.push(await waitFor("look", n % 2 === 0 ? "k0" : "k1", n % 3 === 0 ? 0 : 2_000));
    await sleep("pause", 500 * 4 ** times);
  }
  return given;
}

/** Goes on while its questions are open. Whoever runs it again is asked anew. */
async function runHolding(ask: StepRunner["ask"], n: number): Promise<Json> {
  const askHeld = (name: string) => ask(markHeld({ message: `${name}?`, name, schema: { type: "number" } }));
  const both = await Promise.all([askHeld(`who ${n}`), askHeld("when")]);
  return [...both, await askHeld("where")];
}

/** Throws an error of its own, so that the call is tried again. */
async function runPersisting({ step, catchStepError }: StepRunner, n: number): Promise<Json> {
  const first = await step("kept");
  const charged = await catchStepError(step("charge", { once: true }));
  const tried = await catchStepError(step("fails", { fails: true }));
  if (n % 2 === 0) throw new Error(`it is of no use: ${JSON.stringify([first, charged, tried])}`);
  return [first, charged, tried];
}

function createStepRunner(deps: ToolDeps, context: ToolContext): StepRunner {
  const { world, process } = deps;
  const { callKey, sessionId, attempt } = context;
  const counts = new Map<string, number>();
  const nextKey = (name: string) => {
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return count === 1 ? name : `${name}#${count}`;
  };
  const identifyStep = (step: string) => ({ sessionId, process: process().name, callKey, attempt, step });

  async function recordGiven<Value extends Json | Answered<Json> | Signalled<Json>>(
    step: string,
    act: () => Promise<Value>,
  ): Promise<Value> {
    void world.include(waitFewTurns());
    try {
      const value = await act();
      world.record({ type: "step_given", ...identifyStep(step), given: { value } });
      return value;
    } catch (error) {
      if (error instanceof StepError)
        world.record({ type: "step_given", ...identifyStep(step), given: { error: error.code } });
      throw error;
    } finally {
      void world.include(waitFewTurns());
    }
  }

  async function runStepBody(
    key: string,
    { idempotencyKey, signal, tries }: StepContext,
    options: SimulatedStepOptions = {},
  ) {
    const { fails, bytes, keyed = false, deaf = false } = options;
    world.record(createStepStarted(identifyStep(key), options, tries));
    if (deaf) await world.turn(process(), "slow tool");
    else await world.turn(process(), `step ${key} works`, signal);
    if (signal.aborted && !deaf) throw signal.reason;
    const value = deps.ledger.get(idempotencyKey) ?? `${key} ${world.nextNumber()}`;
    if (keyed) deps.ledger.set(idempotencyKey, value);
    await world.turn(process(), `step ${key} answers`);
    if (fails === true && world.chance.happens(0.5)) throw Object.assign(new Error("it failed"), { code: "busy" });
    return bytes === undefined ? value : { value, rest: "x".repeat(bytes) };
  }

  return {
    step(name, options = {}) {
      const key = nextKey(name);
      const { fails: _, bytes: __, keyed: ___, deaf: ____, ...stepOptions } = options;
      return recordGiven(key, () => context.step(name, (given) => runStepBody(key, given, options), stepOptions));
    },
    ask: (question) => recordGiven(nextKey(question.name ?? "ask"), () => context.ask(question)),
    async sleep(name, ms) {
      await recordGiven(nextKey(name), async () => {
        await context.sleep(name, { ms });
        return { type: "expired" };
      });
      return null;
    },
    async waitFor(name, key, timeoutMs) {
      const options = { key: toSignalKey(world, key), timeoutMs, schema: { type: "number" } };
      const signalled = await recordGiven(nextKey(name), () => context.waitFor<Json>(name, options));
      return signalled.type === "expired" ? null : `${signalled.id} ${signalled.value}`;
    },
    async catchStepError(act) {
      try {
        return await act;
      } catch (error) {
        if (error instanceof StepError) return error.code;
        throw error;
      }
    },
  };
}

/** Turns of the event loop that a tool which runs again may need until it gets its next recorded result. */
async function waitFewTurns(): Promise<void> {
  for (let turn = 0; turn < 6; turn += 1) await settled();
}
