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
};

function createTreasury({ store, model = createPayer(), systemPrompt = "Pay.", tool = "pay" }: Changes = {}): Agent {
  const pay = defineTool({
    name: tool,
    description: "Pays.",
    input: { type: "object", properties: { cents: { type: "integer" } }, required: ["cents"] },
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

test("Rules fail an eval that is not worse than its baseline", async () => {
  const made = await recordRent();
  const rules = [never("pay"), calls("pay", { cents: 900 }), costs({ atMost: 2 })];
  const baseline = await play({ cases: [made], judges: rules });
  const report = await play({ cases: [made], judges: rules, baseline });
  expect(report.variants.agent).toMatchObject({ broken: ["never pay"], worse: [], newlyFailing: [] });
  expect(toExitCode(report)).toBe(5);
  expect(formatReport(report)).toMatch(/never pay +0\.0%.*BROKEN[\s\S]*\nFailed: never pay broken\.\n$/);
  // Version 0.1 wrote no `noVerdicts`.
  const written = JSON.stringify(report, (key, value) => (key === "noVerdicts" ? undefined : value));
  expect(formatReport(JSON.parse(written))).toBe(formatReport(report));
});

test("A report says with how few cases no judge can be worse, and what it comes to by the strict rule", async () => {
  const made = await recordRent();
  const named = (count: number) => Array.from({ length: count }, (_, index) => ({ ...made, name: `rent-${index}` }));
  const agent = createTreasury({ systemPrompt: "Never pay." });
  const judges = [sameCalls()];
  const compare = async (count: number) =>
    play({ agent, cases: named(count), judges, baseline: await play({ cases: named(count), judges }) });

  const few = await compare(4);
  expect(toExitCode(few)).toBe(0);
  expect(formatReport(few)).toMatch(/\n4 cases cannot show more than chance: that takes at least 5\..*\nNot worse/);
  expect(formatReport(few, { strict: true })).toMatch(/\nFailed: 4 cases passed in the baseline\.\n$/);

  const enough = await compare(5);
  expect(toExitCode(enough)).toBe(5);
  expect(formatReport(enough)).not.toContain("chance");
  expect(formatReport(enough)).toMatch(/\nFailed: worse by sameCalls\.\n$/);
});
