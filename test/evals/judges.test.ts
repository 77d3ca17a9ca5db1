/**
 * Judges: those of Pawl, of other libraries, and models whose verdicts are compared with the labels of people.
 */
import { describe, expect, test } from "vitest";
import {
  calls,
  costs,
  createCase,
  type EvalCase,
  evaluate,
  formatJunit,
  formatReport,
  inRecord,
  type Judge,
  type JudgeFunction,
  labelKey,
  never,
  prefers,
  rubric,
  sameAnswer,
  sameCalls,
  sameEnd,
  sameHooks,
  simulated,
  toExitCode,
} from "../../src/evals/index.js";
import { compareScores, isWorse, signTest } from "../../src/evals/statistics.js";
import { createAgent, createMemoryStore, defineTool, type Json, type Message, type Model } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { verifies } from "../verifies.js";

const lookUp = defineTool({
  name: "look_up",
  description: "Looks an order up.",
  input: {
    type: "object",
    properties: { order: { type: "string" }, detail: { type: "string", default: "short" } },
    required: ["order"],
  },
  readOnly: true,
  execute: ({ order }) => ({ order, state: "sent" }),
});

function lastText(messages: readonly Message[]): string {
  const part = messages.findLast(({ role }) => role === "user")?.parts[0];
  return part?.type === "text" ? part.text : "";
}

/** Looks the named order up and says what became of it; in other words than `words`. */
function createDesk(words = "It is", order = /\d+/, more: Parameters<typeof createAgent>[0] | object = {}) {
  const model: Model = createScriptedModel(
    ({ messages }) => {
      const last = messages.at(-1)?.parts[0];
      if (last?.type === "tool_result")
        return { text: `${words} ${JSON.stringify(last.output).includes("sent") ? "sent" : "lost"}.` };
      return { calls: [{ name: "look_up", input: { order: order.exec(lastText(messages))?.[0] ?? "0" } }] };
    },
    { record: false, id: `desk ${words}` },
  );
  return createAgent({ name: "desk", model, tools: [lookUp], ...more });
}

async function recordCase(label?: EvalCase["label"]): Promise<EvalCase> {
  const store = createMemoryStore();
  const agent = createDesk("It is", /\d+/, { store });
  await agent.run("Where is order 7?", { sessionId: "s" });
  if (label !== undefined) {
    const { by = "ada", ...verdict } = label;
    await agent.session("s").setData({ set: { [labelKey]: verdict } }, { by });
  }
  await agent.shutdown();
  return createCase(store, "s", { name: label === undefined ? "plain" : `${label.good}` });
}

async function scoresOf(judge: Judge | JudgeFunction, agent = createDesk(), cases?: readonly EvalCase[]) {
  const report = await evaluate({ name: "judges", agent, cases: cases ?? [await recordCase()], judges: [judge] });
  return Object.values(report.trials[0]?.scores ?? {})[0];
}

const proven = verifies("EVAL-2#judges");

describe("A judge", proven, () => {
  test("says what differs", async () => {
    const renamed = createDesk("Now it is");
    expect(await scoresOf(sameAnswer(), renamed)).toEqual({
      score: 0,
      passed: false,
      why: '"It is sent.", now "Now it is sent."',
    });
    const other = createDesk("It is", /order/);
    expect(await scoresOf(sameCalls(), other)).toMatchObject({
      why: expect.stringContaining('call 1: desk/look_up {"detail":"short","order":"7"} ok, now'),
    });
    expect(await scoresOf(inRecord(), other)).toMatchObject({
      why: 'desk/look_up {"order":"order"} is not in the record',
    });
    expect(await scoresOf(sameEnd(), other)).toMatchObject({
      score: 0,
      why: "completed (stop), now aborted (aborted)",
    });
    expect(await scoresOf(calls("look_up", { order: "8" }))).toMatchObject({
      score: 0,
      why: 'look_up ran with {"order":"7"}',
    });
    expect(await scoresOf(calls("look_up", { order: "7", detail: "short" }))).toMatchObject({ score: 1 });
    expect(await scoresOf(never("look_up"))).toEqual({ score: 0, passed: false, broken: true });
    expect(await scoresOf(costs({ atMost: 0.5 }))).toMatchObject({ why: "1.00 times the recorded cost" });
    expect(await scoresOf(sameHooks())).toEqual({ score: 1, passed: true });
  });

  test("of a trial that left the record still sees the calls that it made", async () => {
    const made: string[] = [];
    const look: JudgeFunction = ({ calls: all, steps }) => {
      made.push(`${steps} ${all.map(({ tool, outcome }) => `${tool} ${outcome}`).join()}`);
      return true;
    };
    await scoresOf(look, createDesk("It is", /order/));
    expect(made).toEqual(["1 look_up error"]);
  });

  test("of another library is taken as it is, and one that throws scores 0", async () => {
    const scorer = ({ output, expected }: { readonly output: Json; readonly expected: Json | undefined }) => ({
      name: "Half",
      score: output === expected ? 0.5 : 0,
      metadata: { rationale: "half of it" },
    });
    expect(await scoresOf({ name: "Half", judge: scorer, atLeast: 0.4 })).toEqual({
      score: 0.5,
      passed: true,
      why: "half of it",
    });
    const broken = () => {
      throw new Error("no reference");
    };
    expect(await scoresOf(broken)).toEqual({ score: 0, passed: false, why: "the judge failed: no reference" });
    expect(await scoresOf(() => 7)).toMatchObject({
      why: "the judge failed: its score is 7, but must be a number from 0 to 1",
    });
    expect(await scoresOf(() => null)).toBeUndefined();
  });
});

describe("A model as judge", proven, () => {
  const createJudge = (text: (question: string) => string) =>
    createAgent({
      model: createScriptedModel(({ messages }) => ({ text: text(lastText(messages)) }), {
        record: false,
        id: "judge",
      }),
    });

  test("is compared with the labels of people, and told what was wrong", async () => {
    const cases = [await recordCase({ good: true }), await recordCase({ good: false, note: "too short" })];
    const questions: string[] = [];
    const kind = createJudge((question) => {
      questions.push(question);
      return '{"why":"Fine.","score":0.9}';
    });
    const report = await evaluate({
      name: "judges",
      agent: createDesk(),
      cases,
      judges: [rubric({ name: "kind", agent: kind, rubric: "Is it helpful?" }), sameAnswer()],
    });
    expect(report.agreement).toEqual({ kind: { labels: 2, agreed: 1, tooStrict: 0, tooKind: 1, noVerdict: 0 } });
    expect(formatReport(report)).toContain("kind agrees with 1 of 2 labels: too strict 0 times, too kind once");
    expect(report.trials.map(({ scores }) => scores.sameAnswer)).toEqual([{ score: 1, passed: true }, undefined]);
    // A bad answer is no reference; its complaint is. The recorded answers are judged without either.
    expect(questions.filter((question) => question.includes("too short"))).toHaveLength(1);
    expect(questions.filter((question) => question.includes("referenceAnswer"))).toHaveLength(1);
  });

  test.each([
    ["does not fill the schema", { text: '{"type":"object"}' }, "invalid_output"],
    ["is cut off", { text: '{"why":"It', finish: "length" }, "output_limit"],
    ["cannot be reached", { error: { kind: "auth", message: "The key is wrong." } }, "The key is wrong."],
  ] as const)(
    "that %s has no verdict, which the report counts and which fails where a bound is set",
    async (_, turn, why) => {
      const judge = createAgent({ model: createScriptedModel(() => turn, { record: false, id: "judge" }) });
      const report = await evaluate({
        name: "judges",
        agent: createDesk(),
        cases: [await recordCase({ good: true })],
        judges: [
          rubric({ name: "shown", agent: judge, rubric: "Is it helpful?" }),
          rubric({ name: "bound", agent: judge, rubric: "Is it helpful?", atLeast: 0.5 }),
          prefers({ name: "liked", agent: judge, rubric: "Be clear." }),
        ],
      });
      const [trial] = report.trials;
      expect(trial).toMatchObject({ passed: false, scores: { bound: { score: 0, passed: false } } });
      expect(Object.keys(trial?.scores ?? {})).toEqual(["bound"]);
      expect(Object.keys(trial?.noVerdict ?? {})).toEqual(["shown", "bound", "liked"]);
      expect(trial?.noVerdict?.shown).toContain(why);
      expect(toExitCode(report)).toBe(5);
      expect(report.agreement.shown).toMatchObject({ labels: 0, noVerdict: 1 });
      const text = formatReport(report);
      for (const name of ["shown", "bound", "liked"])
        expect(text).toMatch(new RegExp(`! ${name} gave no verdict on 1 of 1 trial: no verdict: .*${why}`));
      expect(text).toContain("✗ true: bound: no verdict: ");
      const junit = formatJunit(report);
      expect(junit).toMatch(/<failure message="bound: no verdict: /);
      expect(junit).toMatch(/<system-out>shown: no verdict: /);
    },
  );

  test("that only reports does not fail a trial without a verdict, and no verdict is not a score", async () => {
    const judge = createJudge(() => "Fine.");
    const report = await evaluate({
      name: "judges",
      agent: createDesk(),
      cases: [await recordCase()],
      judges: [rubric({ agent: judge, rubric: "Is it helpful?" })],
    });
    expect(report.variants.agent).toMatchObject({
      passed: 1,
      scores: {},
      noVerdicts: { rubric: { trials: 1, reasons: 1 } },
    });
    expect(toExitCode(report)).toBe(0);
    expect(formatReport(report)).toContain("! rubric gave no verdict on 1 of 1 trial");
  });

  test("prefers an answer only if it does so in both orders", async () => {
    const better = (question: string, wanted: string) =>
      JSON.stringify({ why: "Better.", better: question.indexOf(`"first": "${wanted}`) >= 0 ? "first" : "second" });
    const now = createDesk("Now it is");
    const score = async (text: (question: string) => string) =>
      (await scoresOf(prefers({ agent: createJudge(text), rubric: "Be clear." }), now))?.score;
    expect(await score((question) => better(question, "Now it is"))).toBe(1);
    expect(await score((question) => better(question, "It is sent."))).toBe(0);
    expect(await score(() => '{"why":"The first is first.","better":"first"}')).toBe(0.5);
  });

  test("makes up the results of a tool, and rules say nothing of such a trial", async () => {
    const librarian = createJudge((question) => (question.includes('"order": "order"') ? "lost" : "sent"));
    const report = await evaluate({
      name: "judges",
      agent: createDesk("It is", /order/),
      cases: [await recordCase()],
      judges: [inRecord(), never("look_up"), costs({ atMost: 0.1 })],
      tools: { look_up: simulated(librarian, { about: "A shop." }) },
    });
    expect(report.trials[0]).toMatchObject({ passed: true, isSimulated: true, text: "It is lost.", asked: 3 });
    expect(Object.keys(report.trials[0]?.scores ?? {})).toEqual(["inRecord"]);
  });
});

test("Scores are worse only if the interval and the sign test agree", proven, () => {
  expect(signTest(5, 0)).toBeCloseTo(1 / 32);
  expect(signTest(8, 2)).toBeCloseTo(56 / 1024);
  expect(signTest(0, 0)).toBe(1);
  expect(signTest(0, 9)).toBeCloseTo(1);
  expect(signTest(3_000, 0)).toBeLessThan(1e-300);
  const pairs = (worse: number, same: number) =>
    Array.from({ length: worse + same }, (_, index) => ({ before: 1, now: index < worse ? 0 : 1 }));
  expect(isWorse(compareScores(pairs(12, 88)), 7)).toBe(true);
  expect(isWorse(compareScores(pairs(4, 96)), 7)).toBe(false);
  expect(compareScores(pairs(12, 88))).toEqual(compareScores(pairs(12, 88)));
});

test("A judge that does not answer fails its trial at the time limit, and its agent is stopped", async () => {
  const cases = [await recordCase()];
  const aborted: string[] = [];
  const silent: JudgeFunction = (_, { signal }) => {
    signal.addEventListener("abort", () => aborted.push("silent"));
    return new Promise(() => {});
  };
  const model = createScriptedModel(() => ({ text: "Never.", wait: new Promise(() => {}) }), { record: false });
  const asking = rubric({ agent: createAgent({ name: "judge", model }), rubric: "Is it good?", atLeast: 1 });
  const { trials } = await evaluate({
    name: "silent",
    agent: createDesk(),
    cases,
    judges: [silent, asking],
    trialTimeoutMs: 2_000,
  });
  expect(trials[0]?.scores.silent).toMatchObject({ score: 0, why: "the judge failed: it took longer than 2000 ms" });
  expect(trials[0]?.scores.rubric).toMatchObject({ score: 0, why: "the judge failed: it took longer than 2000 ms" });
  expect(aborted).toEqual(["silent"]);
});

test("An eval that is stopped waits neither for a judge nor for its agent", async () => {
  const plain = [await recordCase()];
  const play = async (cases: readonly EvalCase[], createJudge: (stop: () => void) => Judge | JudgeFunction) => {
    const stopping = new AbortController();
    const judge = createJudge(() => stopping.abort(new Error("enough")));
    return evaluate({ name: "stopped", agent: createDesk(), cases, judges: [judge], signal: stopping.signal });
  };
  const createRubric = (stop: () => void) => {
    const model = createScriptedModel(
      () => {
        setImmediate(stop);
        return { text: "Never.", wait: new Promise(() => {}) };
      },
      { record: false },
    );
    return rubric({ agent: createAgent({ name: "judge", model }), rubric: "Is it good?" });
  };
  await expect(play(plain, createRubric)).rejects.toThrow("enough");
  const createDeaf = (stop: () => void): JudgeFunction => {
    return () => {
      stop();
      return new Promise(() => {});
    };
  };
  await expect(play(plain, createDeaf)).rejects.toThrow("enough");
  // The judge is compared with the label of the recorded answer, which the trial does not judge.
  const createCompared = (stop: () => void): Judge => ({
    name: "compared",
    isCompared: true,
    judge: ({ variant }) => {
      if (variant !== "") return true;
      stop();
      return new Promise(() => {});
    },
  });
  await expect(play([await recordCase({ good: true })], createCompared)).rejects.toThrow("enough");
});

test("A trial has no time limit if that is Infinity", async () => {
  const { trials } = await evaluate({
    name: "unlimited",
    agent: createDesk(),
    cases: [await recordCase()],
    judges: [sameEnd()],
    trialTimeoutMs: Number.POSITIVE_INFINITY,
  });
  expect(trials[0]).toMatchObject({ passed: true, status: "completed" });
});
