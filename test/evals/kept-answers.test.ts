/**
 * Kept answers: what was asked before is not paid again.
 */
import { appendFileSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type EvalCase,
  evaluate,
  formatReport,
  inRecord,
  openAnswers,
  rubric,
  sameAnswer,
  toExitCode,
} from "../../src/evals/index.js";
import { createAgent, type Model } from "../../src/index.js";
import { createScriptedModel, type ScriptedModel } from "../../src/testing/index.js";
import { verifies } from "../verifies.js";

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "pawl-answers-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A case that is written by hand. */
const byHand = (name: string, text: string): EvalCase => ({
  v: 1,
  name,
  turns: [{ input: [{ role: "user", parts: [{ type: "text", text }] }] }],
  expected: { text: text.toUpperCase() },
});

const cases = ["one", "two", "three"].map((word) => byHand(word, word));

/** Answers of scripted models are not kept; this one stands for a model of a provider. */
const asProviderModel = ({ isScripted: _, ...model }: ScriptedModel): Model => model;

function createShouter(asked: string[] = [], id = "shouter"): Model {
  return asProviderModel(
    createScriptedModel(
      ({ messages }) => {
        const part = messages[0]?.parts[0];
        const text = part?.type === "text" ? part.text : "";
        asked.push(text);
        return { text: text.toUpperCase() };
      },
      { id, price: { input: 100_000, output: 100_000 }, record: false },
    ),
  );
}

const usage = { prices: { shouter: { input: 100_000, output: 100_000 }, judge: { input: 100_000, output: 100_000 } } };
/** 10 tokens in and 5 out. */
const costOfCall = 1.5;

describe("Kept answers", verifies("EVAL-2#resume", "EVAL-2#judges"), () => {
  test("are found again if the first attempt of a call had failed", async () => {
    const answers = join(createFolder(), "answers.jsonl");
    let attempts = 0;
    const model = asProviderModel(
      createScriptedModel(
        () => {
          attempts += 1;
          return attempts === 1 ? { error: { kind: "overloaded", message: "busy" } } : { text: "ONE" };
        },
        { id: "shouter", record: false },
      ),
    );
    const agent = createAgent({ model, retry: { baseDelayMs: 1, maxDelayMs: 1 } });
    const play = () =>
      evaluate({ name: "retried", agent, cases: [byHand("one", "one")], judges: [sameAnswer()], answers });
    expect((await play()).asked).toBe(2);
    expect(await play()).toMatchObject({ asked: 0, kept: 1 });
  });

  test("make a second run free, of judges too, and a changed prompt pays again", async () => {
    const answers = join(createFolder(), "deep/answers.jsonl");
    const judge = createAgent({
      model: asProviderModel(
        createScriptedModel(() => ({ text: '{"why":"It is loud.","score":0.5}' }), { id: "judge", record: false }),
      ),
      usage,
    });
    const play = (systemPrompt: string) =>
      evaluate({
        name: "shouts",
        agent: createAgent({ model: createShouter(), systemPrompt, usage }),
        cases,
        judges: [sameAnswer(), rubric({ name: "loud", agent: judge, rubric: "Score how loud it is." })],
        answers,
        prices: usage.prices,
      });
    const first = await play("Shout.");
    expect([first.asked, first.kept, first.paidUsd]).toEqual([6, 0, 6 * costOfCall]);
    expect(first.trials[0]?.scores.loud).toEqual({ score: 0.5, passed: null, why: "It is loud." });
    expect(first.variants.agent?.passed).toBe(3);
    expect(await play("Shout.")).toMatchObject({ asked: 0, kept: 6, paidUsd: 0, unpriced: 0 });
    // The judge is shown the same, so only the answers are asked for anew.
    expect(await play("Shout!")).toMatchObject({ asked: 3, kept: 3 });
    expect(statSync(answers).mode & 0o777).toBe(0o600);
  });

  test("are not those of a scripted model, so a changed script is seen, also without a budget", async () => {
    const answers = join(createFolder(), "answers.jsonl");
    const play = (text: string) =>
      evaluate({
        name: "scripted",
        agent: createAgent({ model: createScriptedModel(() => ({ text }), { record: false }) }),
        cases: [byHand("one", "one")],
        judges: [sameAnswer()],
        answers,
        budgetUsd: 0,
      });
    expect((await play("ONE")).variants.agent?.passed).toBe(1);
    expect(await play("two")).toMatchObject({ asked: 1, kept: 0, variants: { agent: { passed: 0 } } });
  });

  test("are named by a report in which a trial failed and no model was asked", async () => {
    const answers = openAnswers();
    const agent = createAgent({ model: createShouter() });
    const failing = { ...byHand("one", "one"), expected: { text: "TWO" } };
    const play = () => evaluate({ name: "shouts", agent, cases: [failing], judges: [sameAnswer()], answers });
    expect(formatReport(await play())).not.toContain("--fresh");
    expect(formatReport(await play())).toContain(
      "\nAll answers were kept from before; pawl eval --fresh asks the models again.\n",
    );
  });

  test("are not shared by repetitions, nor by two models of one id", async () => {
    const [asked, other]: [string[], string[]] = [[], []];
    const agent = {
      now: createAgent({ model: createShouter(asked) }),
      later: createAgent({ model: createShouter(other) }),
    };
    const report = await evaluate({ name: "shouts", agent, cases, judges: [sameAnswer()], repeat: 2 });
    expect([asked.length, other.length, report.trials.length]).toEqual([6, 6, 12]);
    const model = createShouter(asked);
    const shared = { now: createAgent({ model }), strict: createAgent({ model, hooks: [] }) };
    expect(
      await evaluate({ name: "shouts", agent: shared, concurrency: 1, cases, judges: [sameAnswer()] }),
    ).toMatchObject({
      asked: 3,
      kept: 3,
    });
  });

  test("are all that is used once the budget is spent", async () => {
    const answers = openAnswers();
    const asked: string[] = [];
    const play = (budgetUsd: number) =>
      evaluate({
        name: "shouts",
        agent: createAgent({ model: createShouter(asked), usage }),
        cases,
        judges: [inRecord()],
        answers,
        budgetUsd,
        concurrency: 1,
      });
    const report = await play(costOfCall);
    expect([asked, report.leftOut, report.trials.length, toExitCode(report)]).toEqual([["one"], 2, 1, 4]);
    expect(await play(0)).toMatchObject({ asked: 0, leftOut: 2, paidUsd: 0 });
  });

  test("survive a line that was cut off, and another process at the same file", async () => {
    const path = join(createFolder(), "answers.jsonl");
    const key = { model: "m", hash: "h", repetition: 1, count: 0 };
    const answer = [{ kind: "done", finishReason: { unified: "stop" }, usage: {} }] as const;
    openAnswers(path).add(key, answer);
    appendFileSync(path, '{"model":"m","hash":"torn');
    const one = openAnswers(path);
    const other = openAnswers(path);
    expect(one.get(key)).toEqual(answer);
    one.add({ ...key, count: 1 }, answer);
    other.add({ ...key, count: 2 }, answer);
    expect([0, 1, 2].map((count) => openAnswers(path).get({ ...key, count }))).toEqual([answer, answer, answer]);
  });
});
