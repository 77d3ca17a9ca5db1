/**
 * What a session used, as the inspector counts it from the trace of a real run.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore } from "../../src/index.js";
import { sessionTracePage } from "../../src/inspect.js";
import { addRecords, emptyCosts, sumRunUsage, usageOfRun } from "../../src/inspector/state/costs.js";
import { countOmittedFiles, replaceText, textOfRequest } from "../../src/inspector/state/fork.js";
import { diffLines, toSideBySide } from "../../src/inspector/state/line-diff.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { verifies } from "../verifies.js";
import { readFile } from "./desk.js";

const used = (inputTokens: number, costUsd?: number) => ({
  usage: { inputTokens, outputTokens: 10, ...(costUsd === undefined ? {} : { costUsd }) },
});

async function recordsOf(prices: boolean) {
  const store = createMemoryStore();
  const model = createScriptedModel(
    [
      { calls: [{ name: "read_file", input: { path: "a" } }], ...used(100, prices ? 0.5 : undefined) },
      { text: "One.", ...used(200, prices ? 0.25 : undefined) },
      { text: "Two.", ...used(300) },
    ],
    { id: "some/llm" },
  );
  const agent = createAgent({ name: "a", store, model, tools: [readFile] });
  const first = await agent.run("One", { sessionId: "s" });
  const second = await agent.run("Two", { sessionId: "s" });
  const { records } = await sessionTracePage(store, "s", { limit: 500 });
  return { records, first, second };
}

describe("what a session used", () => {
  test("is counted by run, step and model, as the results of the runs have it", verifies("UI-1#more"), async () => {
    const { records, first, second } = await recordsOf(true);
    const costs = addRecords(emptyCosts, records);
    expect(costs.runs.map((run) => usageOfRun(run, null))).toEqual([first.usage, second.usage]);
    expect(costs.steps.map(({ index, usage }) => [index, usage.inputTokens, usage.costUsd])).toEqual([
      [1, 100, 0.5],
      [2, 200, 0.25],
      [1, 300, undefined],
    ]);
    expect(costs.models).toMatchObject([
      { model: "some/llm", attempts: 3, usage: { inputTokens: 600, partial: true } },
    ]);
    expect(sumRunUsage(costs, null)).toMatchObject({
      inputTokens: 600,
      outputTokens: 30,
      costUsd: 0.75,
      partial: true,
    });
  });

  test("is unknown if nobody knows it, and never 0", verifies("UI-1#more"), async () => {
    const { records } = await recordsOf(false);
    const total = sumRunUsage(addRecords(emptyCosts, records), null);
    expect(total.costUsd).toBeUndefined();
    expect(total.cacheReadTokens).toBeUndefined();
  });

  test("is the same if it comes page by page, and counts a run under way", async () => {
    const { records, second } = await recordsOf(true);
    const whole = addRecords(emptyCosts, records);
    expect(records.reduce((costs, record) => addRecords(costs, [record]), emptyCosts)).toEqual(whole);
    const open = addRecords(
      emptyCosts,
      records.filter(({ type, runId }) => type !== "run_finished" || runId !== second.runId),
    );
    const last = open.runs.at(-1);
    expect(last?.usage).toBeNull();
    expect(last === undefined ? null : usageOfRun(last, null)).toMatchObject({ inputTokens: 300 });
    const { runId } = second;
    expect(sumRunUsage(open, { runId, usage: { inputTokens: 900 } })).toMatchObject({ inputTokens: 1_200 });
  });
});

describe("a fork", () => {
  const text = { type: "text", text: "Look at it" } as const;
  const file = { type: "file", mediaType: "image/png", data: "aGk=" } as const;
  const input = [{ role: "user", parts: [text, file, { ...file, data: `blob:${"0".repeat(64)}/9` }] }] as const;

  test("asks in other words, and keeps the files that it can", () => {
    expect(textOfRequest(input)).toBe("Look at it");
    expect(replaceText("Look again", input)).toEqual([{ type: "text", text: "Look again" }, file]);
    expect(countOmittedFiles(input)).toBe(1);
    expect(replaceText("Look again", [{ role: "user", parts: [text] }])).toBe("Look again");
  });
});

test("a difference stands side by side, with what was removed beside what took its place", () => {
  expect(toSideBySide(diffLines("a\nb\nc\nd", "a\nB\nd\ne"))).toEqual([
    { old: "a", next: "a", isSame: true },
    { old: "b", next: "B", isSame: false },
    { old: "c", next: null, isSame: false },
    { old: "d", next: "d", isSame: true },
    { old: null, next: "e", isSame: false },
  ]);
});
