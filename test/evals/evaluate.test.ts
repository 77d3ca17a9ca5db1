/**
 * Cases from recorded sessions, and their trials.
 */
import { describe, expect, test } from "vitest";
import {
  calls,
  costs,
  createCase,
  type EvalCase,
  type EvalOptions,
  evaluate,
  formatJunit,
  formatReport,
  inRecord,
  never,
  sameAnswer,
  sameCalls,
  sameEnd,
  sameSteps,
  toExitCode,
} from "../../src/evals/index.js";
import { type Agent, createAgent, createMemoryStore, defineTool, type Model, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";

/** What happened outside: trials must add nothing. */
const world = { modelCalls: 0, payments: 0 };

/** Pays what the request names, unless the prompt forbids it. */
function createPayer(tool = "pay"): Model {
  return createScriptedModel(({ messages, systemPrompt }) => {
    world.modelCalls += 1;
    const isOver = messages.at(-1)?.role === "tool";
    if (isOver || systemPrompt?.includes("Never pay") === true) return { text: "Done." };
    return { calls: [{ name: tool, input: { cents: 900 } }] };
  });
}

type Changes = {
  readonly store?: Store;
  readonly model?: Model;
  readonly systemPrompt?: string;
  readonly tool?: string;
  readonly maximum?: number;
};

function createTreasury({
  store,
  model = createPayer(),
  systemPrompt = "Pay.",
  tool = "pay",
  maximum = 10_000,
}: Changes = {}): Agent {
  const pay = defineTool({
    name: tool,
    description: "Pays.",
    input: { type: "object", properties: { cents: { type: "integer", maximum } }, required: ["cents"] },
    needsApproval: ({ cents }) => Number(cents) > 500,
    execute: ({ cents }) => {
      world.payments += 1;
      return `paid ${cents}`;
    },
  });
  return createAgent({
    name: "treasury",
    model,
    tools: [pay],
    systemPrompt,
    ...(store === undefined ? {} : { store }),
  });
}

async function recordRent(): Promise<EvalCase> {
  const store = createMemoryStore();
  const agent = createTreasury({ store });
  const waiting = await agent.run("Pay the rent.", { sessionId: "rent" });
  if (waiting.status !== "awaiting_human") throw new Error(waiting.status);
  await agent.session("rent").answer(waiting.approvals[0]?.callKey ?? "", { type: "approve" });
  await agent.session("rent").resume();
  return createCase(store, "rent");
}

const judges = [sameEnd(), inRecord(), sameCalls(), sameAnswer()];
const play = async (changes: Partial<EvalOptions> = {}) =>
  evaluate({ name: "rent", agent: createTreasury(), judges, ...changes, cases: changes.cases ?? [await recordRent()] });

describe("A case of a recorded session", () => {
  test("holds what people and tools answered, and passes without running a tool", async () => {
    const made = await recordRent();
    expect(made.answers).toEqual([{ agent: "treasury", tool: "pay", input: { cents: 900 }, answer: "approve" }]);
    expect(made.calls).toMatchObject([{ tool: "pay", output: { type: "text", text: "paid 900" } }]);
    const before = world.payments;
    const report = await play({ cases: [made] });
    expect(report.variants.agent).toMatchObject({ passed: 1, trials: 1 });
    expect(world.payments).toBe(before);
    expect(toExitCode(report)).toBe(0);
  });

  test("ends a trial at a call that is not in the record", async () => {
    const cases = [await recordRent()];
    const before = world.payments;
    const agent = createTreasury({ model: createPayer("transfer"), tool: "transfer" });
    const report = await play({ agent, cases, unanswered: "approve" });
    expect(report.trials[0]).toMatchObject({ passed: false, status: "aborted" });
    expect(report.trials[0]?.departure).toContain('treasury/transfer {"cents":900} is not in the record');
    expect(world.payments).toBe(before);
    expect(toExitCode(report)).toBe(5);
    expect(formatJunit(report)).toContain("<failure");
  });

  test("is asked from an entry on, and everything before it is taken from the record", async () => {
    const made = { ...(await recordRent()), at: 1 };
    world.modelCalls = 0;
    const report = await play({ agent: createTreasury({ systemPrompt: "Never pay." }), cases: [made] });
    expect(report.variants.agent?.passed).toBe(1);
    expect(world.modelCalls).toBe(1);
  });

  test("is played step by step, and the recorded answers go on", async () => {
    const agent = createTreasury({ systemPrompt: "Never pay." });
    const report = await play({ agent, play: "steps", judges: [sameSteps()] });
    expect(report.trials[0]?.scores.sameSteps).toMatchObject({ score: 0.5 });
    expect(report.trials[0]?.status).toBe("completed");
  });
});

describe("A report says why", () => {
  test("a call no longer runs: its tool has another name, or its schema refuses the input", async () => {
    const cases = [await recordRent()];
    const renamed = await play({ agent: createTreasury({ tool: "transfer" }), cases });
    expect(renamed.trials[0]?.scores.sameCalls?.why).toMatch(
      /^call 1: treasury\/pay \{"cents":900\} ok \(asked\), now error: Unknown tool 'pay'/,
    );
    const strict = createTreasury({ maximum: 500 });
    const refused = await play({ agent: strict, cases });
    expect(refused.trials[0]?.scores.sameCalls?.why).toMatch(/, now error: [\s\S]*500/);
  });

  test("a model failed", async () => {
    const model = createScriptedModel(() => ({ error: { kind: "invalid_request", message: "down" } }));
    const report = await play({ agent: createTreasury({ model }) });
    expect(report.trials[0]?.scores.sameEnd?.why).toMatch(/, now failed \(model_error: .*down/);
    expect(formatReport(report)).toContain("down");
  });
});

test("Rules fail an eval that is not worse than its baseline", async () => {
  const made = await recordRent();
  const rules = [never("pay"), calls("pay", { cents: 900 }), costs({ atMost: 2 })];
  const baseline = await play({ cases: [made], judges: rules });
  const report = await play({ cases: [made], judges: rules, baseline });
  expect(report.variants.agent).toMatchObject({ broken: ["never pay"], worse: [], newlyFailing: [] });
  expect(toExitCode(report)).toBe(5);
  expect(formatReport(report)).toMatch(
    /never pay +0\.0%.*BROKEN[\s\S]*\nFailed: never pay broken, 1 of 1 trial failed\.\n$/,
  );
  // Version 0.1 wrote no `noVerdicts`.
  const written = JSON.stringify(report, (key, value) => (key === "noVerdicts" ? undefined : value));
  expect(formatReport(JSON.parse(written))).toBe(formatReport(report));
});

describe("A baseline", () => {
  const judges = [sameCalls()];
  const named = async (count: number) => {
    const made = await recordRent();
    return Array.from({ length: count }, (_, index) => ({ ...made, name: `rent-${index}` }));
  };
  const agent = createTreasury({ systemPrompt: "Never pay." });

  test("of too few cases decides nothing: a failed trial fails, even if it also failed in the baseline", async () => {
    for (const before of [createTreasury(), agent]) {
      const cases = await named(4);
      const baseline = await play({ agent: before, cases, judges });
      const report = await play({ agent, cases, judges, baseline });
      expect(toExitCode(report)).toBe(5);
      expect(formatReport(report)).toMatch(
        /\n4 cases in common with the baseline cannot show more than chance: at least 5 are needed\. Until then, any failed trial fails\.\nFailed: 4 of 4 trials failed\.\n$/,
      );
      expect(formatJunit(report).match(/<failure/g)).toHaveLength(4);
    }
  });

  test("of other cases decides nothing either", async () => {
    const cases = await named(6);
    const baseline = await play({ cases: await named(5), judges });
    const others = cases.map((one) => ({ ...one, name: `other-${one.name}` }));
    const report = await play({ agent, cases: others, judges, baseline });
    expect(toExitCode(report)).toBe(5);
  });

  test("of whole runs is not compared with single steps", async () => {
    const cases = await named(5);
    const baseline = await play({ agent, cases, judges });
    const report = await play({ agent, cases, judges: [sameSteps()], play: "steps", baseline });
    expect([report.hasBaseline, toExitCode(report)]).toEqual([false, 5]);
  });

  test("of enough cases decides, and the JUnit file has no failure if nothing is worse", async () => {
    const cases = await named(5);
    const good = await play({ cases, judges });
    const bad = await play({ agent, cases, judges });
    const worse = await play({ agent, cases, judges, baseline: good });
    expect(toExitCode(worse)).toBe(5);
    expect(formatReport(worse)).toMatch(/\nFailed: worse by sameCalls\.\n$/);
    expect(formatJunit(worse).match(/<failure/g)).toHaveLength(5);

    const same = await play({ agent, cases, judges, baseline: bad });
    expect(toExitCode(same)).toBe(0);
    expect(formatReport(same)).toMatch(/\nNot worse than the baseline\.\n$/);
    expect(formatJunit(same)).toContain('tests="5" failures="0" errors="0" skipped="5"');
    expect(formatJunit(same)).toMatch(/<skipped message="Failed, but the eval is not worse than the baseline: /);
  });

  test("with strict, one newly failing case fails, in the JUnit file as well", async () => {
    const cases = await named(8);
    const baseline = await play({ cases, judges });
    let count = 0;
    const changing = () => {
      count += 1;
      return count === 1 ? agent : createTreasury();
    };
    const report = await play({ agent: changing, cases, judges, baseline, concurrency: 1 });
    expect([toExitCode(report), toExitCode(report, { strict: true })]).toEqual([0, 5]);
    expect(formatReport(report, { strict: true })).toMatch(/\nFailed: 1 case passed in the baseline\.\n$/);
    expect(formatJunit(report)).not.toContain("<failure");
    expect(formatJunit(report, { strict: true }).match(/<failure/g)).toHaveLength(1);
  });

  test("that a judge without a bound is worse than fails the JUnit file, although every trial passed", async () => {
    const cases = await named(5);
    const lower = (score: number) => [{ name: "tone", atLeast: null, judge: () => score }];
    const baseline = await play({ cases, judges: lower(1) });
    const report = await play({ cases, judges: lower(0.2), baseline });
    expect(report.variants.agent?.passed).toBe(5);
    expect(toExitCode(report)).toBe(5);
    expect(formatJunit(report)).toContain('<failure message="worse by tone"/>');
  });
});

test("Several reports go into one JUnit file, and one that the budget cut short has an error", async () => {
  const report = await play();
  const other = { ...report, name: "others", leftOut: 2 };
  const junit = formatJunit([report, other]);
  expect(junit).toMatch(/<testsuite name="rent\.agent"[\s\S]*<testsuite name="others\.agent"/);
  expect(junit).toContain('<error message="2 trials omitted because of the budget."/>');
  expect(junit.match(/<testsuites>/g)).toHaveLength(1);
});
