/**
 * Scores of sessions in production, which workers make.
 */
import { describe, expect, test } from "vitest";
import {
  createScores,
  type Judge,
  type JudgeFunction,
  type OnlineScore,
  rubric,
  type ScoreAlert,
  toScoreSessionId,
} from "../../src/evals/index.js";
import {
  createAgent,
  createMemoryStore,
  createWorker,
  deleteSession,
  type Store,
  type WorkerReport,
} from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/index.js";
import { verifies } from "../verifies.js";

const createEcho = (store: Store) =>
  createAgent({
    name: "echo",
    store,
    model: createScriptedModel(
      ({ messages }) => {
        const part = messages.at(-1)?.parts[0];
        return { text: part?.type === "text" ? part.text : "" };
      },
      { record: false },
    ),
  });

test(
  "Judges of one name are refused, because their verdicts could not be told apart",
  verifies("EVAL-2#judges"),
  () => {
    const judgeAgent = createAgent({ name: "judge", model: createScriptedModel([]) });
    const judge = rubric({ agent: judgeAgent, rubric: "Is it good?" });
    expect(() =>
      createScores([
        { judge, sample: 1 },
        { judge, sample: 1 },
      ]),
    ).toThrow('Two judges are named "rubric"');
  },
);

describe("A worker with scores", verifies("EVAL-2#judges"), () => {
  test("lets a model judge each ended session once, however many workers there are", async () => {
    const store = createMemoryStore();
    const echo = createEcho(store);
    await echo.run("Well done.", { sessionId: "one" });
    await echo.run("Badly done.", { sessionId: "two" });
    const model = createScriptedModel(({ messages }) => {
      const isGood = JSON.stringify(messages.at(-1)).includes("Well done.");
      return { text: JSON.stringify({ why: isGood ? "Good." : "Bad.", score: isGood ? 1 : 0 }) };
    });
    const judgeAgent = createAgent({ name: "judge", model });
    const found: OnlineScore[] = [];
    const createScorer = () =>
      createWorker({
        store,
        agents: [echo],
        scores: createScores([{ judge: rubric({ agent: judgeAgent, rubric: "Is it good?" }), sample: 1 }], {
          since: 0,
          onScore: (score) => found.push(score),
        }),
      });
    const [first, second] = [createScorer(), createScorer()];
    await Promise.all([first.runUntilIdle(), second.runUntilIdle()]);
    const scores = found.map(({ sessionId, score }) => `${sessionId} ${score}`).sort();
    expect(scores).toEqual(["one 1", "one 1", "two 0", "two 0"]);
    expect(model.requests).toHaveLength(2);
    // A later verdict about the same session does not show the judge the earlier one.
    await echo.run("Well done.", { sessionId: "two" });
    await first.runUntilIdle();
    expect(model.requests.at(-1)?.messages).toHaveLength(1);
    expect(found.at(-1)).toMatchObject({ sessionId: "two", judge: "rubric", score: 1 });
    const verdicts = await createAgent({ name: "judge", model, store }).session(toScoreSessionId("two")).state();
    expect(verdicts.status).toBe("completed");
    // Verdicts are not judged.
    await first.runUntilIdle();
    expect(model.requests).toHaveLength(3);
  });

  test("judges a share of the sessions, the same in each process", async () => {
    const store = createMemoryStore();
    const echo = createEcho(store);
    for (let index = 0; index < 60; index += 1) await echo.run("Hello.", { sessionId: `s${index}` });
    const judge = async (sample: number, agents?: readonly string[]) => {
      const found = new Set<string>();
      const length: JudgeFunction = ({ text }) => text.length === 6;
      const scores = createScores([{ judge: length, sample, ...(agents === undefined ? {} : { agents }) }], {
        since: 0,
        onScore: ({ sessionId }) => found.add(sessionId),
      });
      await createWorker({ store, agents: [echo], scores }).runUntilIdle();
      return found;
    };
    const third = await judge(0.3);
    expect(third.size).toBeGreaterThan(5);
    expect(third.size).toBeLessThan(35);
    expect(await judge(0.3)).toEqual(third);
    expect((await judge(1)).size).toBe(60);
    expect((await judge(1, ["others"])).size).toBe(0);
  });

  test("raises an alert if a block of scores is worse than the block before, and names the worst sessions", async () => {
    const store = createMemoryStore();
    const echo = createEcho(store);
    const alerts: ScoreAlert[] = [];
    const good: JudgeFunction = ({ text }) => !text.includes("bad");
    const judge = { name: "good", judge: good };
    const scores = createScores([{ judge, sample: 1, window: 20, alert: (alert) => alerts.push(alert) }], { since: 0 });
    const worker = createWorker({ store, agents: [echo], scores });
    const answer = async (words: string, count: number, from: number) => {
      for (let index = 0; index < count; index += 1) await echo.run(words, { sessionId: `s${from + index}` });
      await worker.runUntilIdle();
    };
    await answer("fine", 40, 0);
    expect(alerts).toEqual([]);
    await answer("fine", 10, 40);
    await answer("bad", 10, 50);
    expect(alerts).toMatchObject([{ judge: "good", change: { before: 1, now: 0.5, worse: 10, better: 0 } }]);
    expect(alerts[0]?.worst).toHaveLength(5);
    expect(alerts[0]?.worst[0]).toMatchObject({ score: 0 });
  });

  test("reports a look that failed, and looks again", async () => {
    const reports: WorkerReport[] = [];
    const store = createMemoryStore();
    let looks = 0;
    const scores = {
      async catchUp() {
        looks += 1;
        if (looks === 1) throw new Error("no judge");
      },
    };
    const worker = createWorker({ store, agents: [], scores, onReport: (report) => reports.push(report) });
    await worker.runUntilIdle();
    await worker.runUntilIdle();
    expect(reports).toMatchObject([{ type: "scores_failed", error: { message: "no judge" } }]);
    expect(looks).toBe(2);
  });

  test("judges the other sessions if one cannot be judged, names it, and tries it three times", async () => {
    const store = createMemoryStore();
    const echo = createEcho(store);
    for (const sessionId of ["one", "two", "three"]) await echo.run("Hello.", { sessionId });
    let attempts = 0;
    const picky: JudgeFunction = ({ case: { name } }) => {
      if (name !== "two") return true;
      attempts += 1;
      throw new Error("no verdict");
    };
    const found: string[] = [];
    const reports: WorkerReport[] = [];
    const scores = createScores([{ judge: picky, sample: 1 }], {
      since: 0,
      onScore: ({ sessionId }) => found.push(sessionId),
    });
    const worker = createWorker({ store, agents: [echo], scores, onReport: (report) => reports.push(report) });
    for (let look = 0; look < 5; look += 1) await worker.runUntilIdle();
    expect(found.sort()).toEqual(["one", "three"]);
    expect(attempts).toBe(3);
    const failures = reports.filter(({ type }) => type === "scores_failed");
    expect(failures).toHaveLength(3);
    expect(failures[0]).toMatchObject({ sessionId: "two", error: { message: "no verdict" } });
  });

  test("reports each score once, although a later judge of the session fails and is asked again", async () => {
    const store = createMemoryStore();
    const echo = createEcho(store);
    await echo.run("Hello.", { sessionId: "one" });
    let attempts = 0;
    const failing: JudgeFunction = () => {
      attempts += 1;
      if (attempts < 3) throw new Error("no verdict");
      return false;
    };
    const found: string[] = [];
    const judges = [
      { name: "kind", judge: () => true },
      { name: "failing", judge: failing },
    ];
    const scores = createScores(
      judges.map((judge) => ({ judge, sample: 1 })),
      { since: 0, onScore: ({ judge, score }) => found.push(`${judge} ${score}`) },
    );
    const worker = createWorker({ store, agents: [echo], scores });
    for (let look = 0; look < 4; look += 1) await worker.runUntilIdle();
    expect(found).toEqual(["kind 1", "failing 0"]);
  });

  test("reports once that a model gave no verdict, and lets the other judges go on", async () => {
    const store = createMemoryStore();
    const echo = createEcho(store);
    await echo.run("Hello.", { sessionId: "one" });
    const judgeAgent = createAgent({ name: "judge", model: createScriptedModel(() => ({ text: "Fine." })) });
    const found: OnlineScore[] = [];
    const reports: WorkerReport[] = [];
    const scores = createScores(
      [
        { judge: rubric({ agent: judgeAgent, rubric: "Is it good?" }), sample: 1 },
        { judge: { name: "spoke", judge: ({ text }) => text !== "" }, sample: 1 },
      ],
      { since: 0, onScore: (score) => found.push(score) },
    );
    const worker = createWorker({ store, agents: [echo], scores, onReport: (report) => reports.push(report) });
    for (let look = 0; look < 3; look += 1) await worker.runUntilIdle();
    expect(found.map(({ judge, score }) => [judge, score])).toEqual([["spoke", 1]]);
    const message = expect.stringContaining(
      "rubric: no verdict: the agent that was asked gave no answer (invalid_output",
    );
    expect(reports.filter(({ type }) => type === "scores_failed")).toMatchObject([
      { sessionId: "one", error: { message } },
    ]);
  });

  test("does not wait for a judge beyond its time limit", async () => {
    const store = createMemoryStore();
    const echo = createEcho(store);
    for (const sessionId of ["one", "two"]) await echo.run("Hello.", { sessionId });
    const aborted: string[] = [];
    const silent: JudgeFunction = ({ case: { name } }, { signal }) => {
      if (name === "two") return true;
      signal.addEventListener("abort", () => aborted.push(name));
      return new Promise(() => {});
    };
    const found: string[] = [];
    const failed: (string | undefined)[] = [];
    const scores = createScores([{ judge: silent, sample: 1 }], {
      since: 0,
      judgeTimeoutMs: 20,
      onScore: ({ sessionId }) => found.push(sessionId),
    });
    const onReport = (report: WorkerReport) => {
      if (report.type === "scores_failed") failed.push(report.sessionId);
    };
    await createWorker({ store, agents: [echo], scores, onReport }).runUntilIdle();
    expect([found, failed, aborted]).toEqual([["two"], ["one"], ["one"]]);
  });

  test("stops although a judge ignores it, and leaves a model's unfinished verdict to the next worker", async () => {
    const store = createMemoryStore();
    const echo = createEcho(store);
    await echo.run("Hello.", { sessionId: "s" });
    let asked = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const createJudge = (first: ScriptedStep) =>
      rubric({
        agent: createAgent({
          name: "judge",
          model: createScriptedModel(() => {
            asked();
            return first;
          }),
        }),
        rubric: "Is it good?",
      });
    const deaf: JudgeFunction = () => new Promise(() => {});
    const found: string[] = [];
    const createScorer = (judges: readonly (Judge | JudgeFunction)[]) =>
      createWorker({
        store,
        agents: [echo],
        scores: createScores(
          judges.map((judge) => ({ judge, sample: 1 })),
          { since: 0, onScore: ({ judge, score }) => found.push(`${judge} ${score}`) },
        ),
      });
    const verdict = { text: JSON.stringify({ why: "Good.", score: 1 }) };
    const first = createScorer([createJudge({ ...verdict, wait: new Promise(() => {}) }), deaf]);
    const running = first.run();
    await isAsked;
    await first.stop({ graceMs: 500 });
    await running;
    expect(found).toEqual([]);
    const second = createScorer([deaf]);
    const alsoRunning = second.run();
    await second.stop({ graceMs: 0 });
    await alsoRunning;
    await createScorer([createJudge(verdict)]).runUntilIdle();
    expect(found).toEqual(["rubric 1"]);
  });

  test("makes verdicts that are deleted with their session", async () => {
    const store = createMemoryStore();
    const echo = createEcho(store);
    await echo.run("Hello.", { sessionId: "s" });
    const model = createScriptedModel([{ text: JSON.stringify({ why: "Good.", score: 1 }) }]);
    const judge = rubric({ agent: createAgent({ name: "judge", model }), rubric: "Is it good?" });
    const scores = createScores([{ judge, sample: 1 }], { since: 0 });
    await createWorker({ store, agents: [echo], scores }).runUntilIdle();
    expect(await store.list({ limit: 10 })).toHaveLength(2);
    const now = Date.now();
    expect(await deleteSession(store, "s", { now })).toBe(true);
    expect(await store.list({ limit: 10 })).toEqual([]);
    expect(await deleteSession(store, "s", { now })).toBe(false);
  });
});
