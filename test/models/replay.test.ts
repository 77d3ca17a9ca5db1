/**
 * Recording a model, and answering from the recording.
 */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, type Model } from "../../src/index.js";
import { recordedAttempts } from "../../src/inspect.js";
import { createReplayModel, readRecording, recordModel } from "../../src/models/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { collect, createEchoTool, isEvent } from "../support/agents.js";
import { verifies } from "../verifies.js";

const folder = mkdtempSync(join(tmpdir(), "pawl-recordings-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const newPath = () => {
  files += 1;
  return join(folder, "deep", `${files}.jsonl`);
};

const overloaded: ScriptedStep = {
  text: "Half of it",
  error: { kind: "overloaded", message: "529", statusCode: 529 },
  usage: { inputTokens: 3 },
};
const script: readonly ScriptedStep[] = [
  { reasoning: "Look first.", text: "Looking.", calls: [{ name: "echo", input: { n: 1 } }], chunk: 4 },
  overloaded,
  { text: "It is 1." },
];

const retry = { baseDelayMs: 0 };

/** A run of the script, recorded. */
async function recorded(steps: readonly ScriptedStep[] = script) {
  const path = newPath();
  const echo = createEchoTool();
  const model = recordModel(createScriptedModel(steps, { id: "scripted/one" }), { path });
  const agent = createAgent({ model, tools: [echo.tool], systemPrompt: "Be brief.", retry });
  const items = await collect(agent.runStream("What is it?"));
  return { path, items, agent, lines: readFileSync(path, "utf8").trimEnd().split("\n") };
}

describe("a recording", verifies("REC-6#replay"), () => {
  test("has a line for each attempt: the exact request and every delta", async () => {
    const { lines, path } = await recorded();
    expect(lines).toHaveLength(3);
    const [first, failed] = lines.map((line) => JSON.parse(line));
    expect(first).toMatchObject({
      v: 1,
      model: "scripted/one",
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      request: {
        modelCallIndex: 1,
        attempt: 1,
        systemPrompt: "Be brief.",
        messages: [{ role: "user", parts: [{ type: "text", text: "What is it?" }] }],
        tools: [{ name: "echo" }],
      },
    });
    expect(first.deltas.filter((delta: { kind: string }) => delta.kind === "tool-input-delta").length).toBeGreaterThan(
      1,
    );
    expect(failed.deltas.at(-1)).toEqual({ kind: "error", failure: overloaded.error, usage: { inputTokens: 3 } });
    expect(failed.hash).toBe(JSON.parse(lines[2] ?? "").hash);
    if (process.platform !== "win32") expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("answers the same requests with the same deltas, failed attempts included", async () => {
    const { path, items } = await recorded();
    const model = createReplayModel(path, { id: "scripted/one" });
    const echo = createEchoTool();
    const again = createAgent({ model, tools: [echo.tool], systemPrompt: "Be brief.", retry });
    const repeated = await collect(again.runStream("What is it?"));
    const deltas = (all: typeof items) =>
      all.flatMap((item) => (item.type === "delta" ? [{ ...item.delta, runId: "" }] : []));
    expect(deltas(repeated)).toEqual(deltas(items));
    expect(repeated.filter(isEvent).map(({ type }) => type)).toEqual(items.filter(isEvent).map(({ type }) => type));
    expect(model.differences).toEqual([]);
    expect(model.remaining()).toBe(0);
  });

  test.each([
    ["the system prompt", { systemPrompt: "Be very brief." }, "What is it?", "systemPrompt"],
    [
      "a tool",
      { tools: [{ ...createEchoTool().tool, description: "Says it." }] },
      "What is it?",
      "tools[0].description",
    ],
    ["a message", {}, "What is that?", "messages[0].parts[0].text"],
  ])("tells where a request differs from it: %s", async (_, changes, input, path) => {
    const recording = await recorded();
    const model = createReplayModel(recording.path);
    const agent = createAgent({ model, tools: [createEchoTool().tool], systemPrompt: "Be brief.", retry, ...changes });
    const result = await agent.run(input);
    expect(result).toMatchObject({ status: "failed", reason: "model_error" });
    expect(result.status === "failed" && result.error?.message).toContain(path);
    expect(model.differences).toMatchObject([{ modelCallIndex: 1, attempt: 1, path }]);
    expect(model.remaining()).toBe(3);
  });

  test("gives its attempts in order where that is asked for, and keeps the differences", async () => {
    const { path } = await recorded();
    const model = createReplayModel(path, { match: "order" });
    const agent = createAgent({ model, tools: [createEchoTool().tool], systemPrompt: "Be briefer.", retry });
    expect(await agent.run("What is it?")).toMatchObject({ status: "completed", text: "It is 1." });
    expect(model.differences.map(({ path: where }) => where)).toEqual(["systemPrompt", "systemPrompt", "systemPrompt"]);
  });

  test("that is used up says so", async () => {
    const { path } = await recorded([{ text: "Once." }]);
    const model = createReplayModel(path);
    const agent = createAgent({ model, tools: [createEchoTool().tool], systemPrompt: "Be brief.", retry });
    await agent.run("What is it?");
    const second = await agent.run("What is it?");
    expect(second.status === "failed" && second.error?.message).toContain("no attempt left");
  });

  test("of a session is its log: the messages are compared, and what the model said comes again", async () => {
    const store = createMemoryStore();
    const live = createAgent({ model: createScriptedModel(script), tools: [createEchoTool().tool], store, retry });
    const first = await live.run("What is it?", { sessionId: "s", runId: "r" });
    const attempts = recordedAttempts("s", await store.read("s"));
    expect(attempts.map(({ request }) => [request.modelCallIndex, request.attempt])).toEqual([
      [1, 1],
      [2, 1],
      [2, 2],
    ]);
    const again = createAgent({ model: createReplayModel(attempts), tools: [createEchoTool().tool], retry });
    expect(await again.run("What is it?", { sessionId: "s", runId: "r" })).toEqual(first);
    const other = createAgent({ model: createReplayModel(attempts), tools: [createEchoTool().tool], retry });
    const elsewhere = await other.run("What was it?");
    expect(elsewhere.status === "failed" && elsewhere.error?.message).toContain("messages[0].parts[0].text");
  });
});

describe("whatever a model does", verifies("REC-6#replay"), () => {
  const request = { sessionId: "s", runId: "r", modelCallIndex: 1, attempt: 1, messages: [], tools: [] } as const;
  const endOf = (path: string) => readRecording(path).map(({ deltas }) => deltas.at(-1));

  test("its attempt is recorded with an end: thrown, cut short, aborted", async () => {
    const path = newPath();
    const broken: Model = {
      id: "broken",
      // biome-ignore lint/correctness/useYield: it fails before it says anything.
      async *stream() {
        throw new Error("no line");
      },
    };
    await expect(collect(recordModel(broken, { path }).stream(request, new AbortController().signal))).rejects.toThrow(
      "no line",
    );
    const silent: Model = {
      id: "silent",
      async *stream() {
        yield { kind: "start" };
      },
    };
    await collect(recordModel(silent, { path }).stream(request, new AbortController().signal));
    const controller = new AbortController();
    for await (const delta of recordModel(createScriptedModel([{ text: "One two" }]), { path }).stream(
      request,
      controller.signal,
    ))
      if (delta.kind === "text-delta") controller.abort();
    for await (const _ of recordModel(silent, { path }).stream(request, new AbortController().signal)) break;
    expect(endOf(path)).toMatchObject([
      { kind: "error", failure: { kind: "provider", message: "no line" } },
      { kind: "error", failure: { kind: "network" } },
      { kind: "error", failure: { kind: "cancelled" } },
      { kind: "error", failure: { kind: "cancelled" } },
    ]);
  });

  test("a line that was never finished is taken off, and the rest still counts", async () => {
    const { path } = await recorded([{ text: "One." }]);
    appendFileSync(path, '{"v":1,"hash":');
    expect(readRecording(path)).toHaveLength(1);
    recordModel(createScriptedModel([]), { path });
    expect(readFileSync(path, "utf8").endsWith("\n")).toBe(true);
    expect(readRecording(path)).toHaveLength(1);
  });

  test("a file that is no recording is refused with its line", () => {
    const path = join(folder, "other.jsonl");
    for (const [text, why] of [
      ["{\n", "line 1"],
      ['{"v":2}\n', "its format is 2"],
      ['{"v":1,"model":"m","request":{},"deltas":[]}\n', "its request is incomplete"],
      ['{"v":1,"model":"m","request":{"messages":[],"tools":[],"attempt":1},"deltas":[1]}\n', "no valid deltas"],
    ] as const) {
      writeFileSync(path, text);
      expect(() => createReplayModel(path)).toThrow(why);
    }
    expect(() => createReplayModel(join(folder, "none.jsonl"))).toThrow("cannot be read");
    expect(() => recordModel(createScriptedModel([]), { path: join(path, "below") })).toThrow("cannot be written");
  });
});
