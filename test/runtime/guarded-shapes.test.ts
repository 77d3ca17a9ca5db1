/**
 * An answer with a shape beside a guard: what of its partial objects anybody is shown.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  type Agent,
  createAgent,
  createMemoryStore,
  type GuardOptions,
  guard,
  type ModelDelta,
  type Session,
  type StreamItem,
} from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { createDeferred } from "../support/agents.js";
import { verifies } from "../verifies.js";

const shape = z.object({ bird: z.string(), songs: z.array(z.string()) });
const answer = '{"bird":"the heron","songs":["kraak","gogogo"]}';

/** A model that says the answer piece by piece; partial objects come as the clock moves. */
function slowly(clock: ReturnType<typeof createTestClock>) {
  async function* deltas(): AsyncGenerator<ModelDelta> {
    for (const text of answer.match(/.{1,4}/g) ?? []) {
      yield { kind: "text-delta", id: "1", text };
      await clock.advance(60);
    }
    yield { kind: "done", finishReason: { unified: "stop" }, usage: {} };
  }
  return createScriptedModel([{ deltas: deltas() }]);
}

async function told(hook: Partial<GuardOptions>, act: (session: Session) => Promise<void> = async () => {}) {
  const clock = createTestClock();
  const store = createMemoryStore();
  const agent: Agent = createAgent({ model: slowly(clock), hooks: [guard({ name: "g", ...hook })], clock, store });
  const stream = agent.runStream("Which bird?", { sessionId: "s", output: shape });
  const items: StreamItem[] = [];
  const reading = (async () => {
    for await (const item of stream) items.push(item as StreamItem);
  })();
  await act(agent.session("s"));
  await reading;
  const log = JSON.stringify(await store.read("s"));
  return {
    items,
    types: items.map(({ type }) => type),
    result: await stream.result,
    log,
    shown: JSON.stringify(items),
  };
}

const partials = (items: readonly StreamItem[]) => items.filter((item) => item.type === "partial_output");
const refuses: GuardOptions["output"] = ({ text }) => (text.includes("heron") ? { trip: "It tells." } : undefined);

/** A guard that looks until the run is aborted. */
function looksForEver() {
  const looking = createDeferred();
  const output: GuardOptions["output"] = async (_, { signal }) => {
    looking.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  };
  const abort = async (session: Session) => {
    await looking.promise;
    await session.abort();
  };
  return { output, abort };
}

describe("partial objects beside a guard", verifies("OUT-3", "FIN-11"), () => {
  test("that holds the answer back: none is shown of an answer that it refuses", async () => {
    const { items, result, log, shown } = await told({ output: refuses, hold: true });
    expect(result).toMatchObject({ status: "failed", reason: "output_refused" });
    expect(partials(items)).toEqual([]);
    expect(shown).not.toContain("heron");
    expect(log).not.toContain("heron");
  });

  test("that holds the answer back: the value comes whole once it passes, before the end", async () => {
    const { items, types, result } = await told({ output: () => undefined, hold: true });
    expect(result).toMatchObject({ status: "completed", output: { bird: "the heron" } });
    expect(partials(items).at(-1)).toMatchObject({ value: JSON.parse(answer) });
    expect(types.lastIndexOf("partial_output")).toBeLessThan(types.indexOf("final"));
  });

  test("that does not: they are withdrawn with their attempt, and none comes after that", async () => {
    const { items, types, result, log } = await told({ output: refuses });
    expect(result).toMatchObject({ status: "failed", reason: "output_refused" });
    expect(partials(items).length).toBeGreaterThan(3);
    const withdrawn = types.indexOf("attempt_withdrawn");
    expect(items[withdrawn]).toMatchObject({ modelCallIndex: 1, attempt: 1 });
    expect(partials(items).at(-1)).toMatchObject({ modelCallIndex: 1, attempt: 1 });
    expect(types.lastIndexOf("partial_output")).toBeLessThan(withdrawn);
    expect(result).not.toHaveProperty("output");
    expect(log).not.toContain("heron");
  });

  test("that was still looking when the run was aborted: none is shown of what it holds back", async () => {
    const { output, abort } = looksForEver();
    const { items, result, log, shown } = await told({ output, hold: true }, abort);
    expect(result).toMatchObject({ status: "aborted" });
    expect(partials(items)).toEqual([]);
    expect(shown).not.toContain("heron");
    expect(log).not.toContain("heron");
    expect(result.partial).toBeUndefined();
  });

  test("that was still looking when the run was aborted: what was shown is the text of an answer that was cut", async () => {
    const { output, abort } = looksForEver();
    const { items, types, result } = await told({ output }, abort);
    expect(result).toMatchObject({ status: "aborted", partial: answer });
    expect(result).not.toHaveProperty("output");
    expect(types.lastIndexOf("partial_output")).toBeLessThan(types.indexOf("final"));
    expect(partials(items).at(-1)).toMatchObject({ value: JSON.parse(answer) });
  });
});
