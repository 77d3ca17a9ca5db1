/**
 * What small models get wrong in the arguments of a call, for tools that forgive it.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createView } from "../../src/cli/conversation/view/view.js";
import { createRenderer } from "../../src/cli/render/renderer.js";
import { toPlainText } from "../../src/cli/screen/line.js";
import {
  type AnyTool,
  createAgent,
  createMemoryStore,
  defineTool,
  type Json,
  type PublicEvent,
  type StreamItem,
} from "../../src/index.js";
import { traceSession } from "../../src/inspect.js";
import { createScriptedModel, type Script } from "../../src/testing/index.js";
import { createFileTools } from "../../src/tools/index.js";

const schema = {
  type: "object",
  properties: {
    text: { type: "string" },
    count: { type: "integer" },
    ratio: { type: "number" },
    isDeep: { type: "boolean" },
    maybe: { type: ["integer", "null"] },
    inner: {
      type: "object",
      properties: { size: { type: "number" } },
      required: ["size"],
      additionalProperties: false,
    },
    list: { type: "array", items: { type: "integer" } },
    either: { anyOf: [{ type: "integer" }, { type: "boolean" }] },
  },
  required: ["text"],
  additionalProperties: false,
} as const;

/** Runs one call, and gives what the tool got, the events and the store. */
async function called(input: Json | string, options: Partial<AnyTool> = { lenientInput: true }) {
  const got: unknown[] = [];
  const tool = {
    ...defineTool({
      name: "take",
      description: "Takes.",
      input: schema,
      execute: (value) => {
        got.push(value);
        return "taken";
      },
    }),
    ...options,
  };
  const call = typeof input === "string" ? { name: "take", raw: input } : { name: "take", input };
  const play = await run([tool], [{ calls: [call] }, { text: "Done." }]);
  return { ...play, got };
}

async function run(tools: readonly AnyTool[], script: Script) {
  const store = createMemoryStore();
  const model = createScriptedModel(script);
  const agent = createAgent({ name: "a", model, tools, store });
  const items: StreamItem[] = [];
  for await (const item of agent.runStream("go", { sessionId: "s" })) items.push(item);
  const events = items.filter((item): item is PublicEvent => "seq" in item);
  const call = events.find((event) => event.type === "tool_call");
  const result = events.find((event) => event.type === "tool_result");
  const text = result?.type === "tool_result" && result.output.type === "text" ? result.output.text : "";
  return { store, agent, model, items, call, text };
}

describe("a tool with lenientInput", () => {
  test.each([
    [{ text: "a", required: ["text"] }, { text: "a" }, ["required is left out"]],
    [{ text: "a", count: "1" }, { text: "a", count: 1 }, ["count is read as 1"]],
    [
      { text: "a", ratio: " -0.5 ", isDeep: "True" },
      { text: "a", ratio: -0.5, isDeep: true },
      ["ratio is read as -0.5", "isDeep is read as true"],
    ],
    [
      { text: "a", maybe: "3", list: [1, "2"] },
      { text: "a", maybe: 3, list: [1, 2] },
      ["maybe is read as 3", "list[1] is read as 2"],
    ],
    [
      { text: "a", inner: { size: "2", unit: "m" } },
      { text: "a", inner: { size: 2 } },
      ["inner.size is read as 2", "inner.unit is left out"],
    ],
    [
      { text: "a", is_deep: "false" },
      { text: "a", isDeep: false },
      ["isDeep is read as false", "is_deep is read as isDeep"],
    ],
  ])("takes %j as %j, and the log says what was changed", async (input, expected, changes) => {
    const { got, call } = await called(input);
    expect(got).toEqual([expected]);
    expect(call).toMatchObject({ input: expected, repair: { by: "input", changes } });
  });

  test.each([
    ["an integer with a fraction", { text: "a", count: "1.5" }, "count: must be of type integer"],
    ["a name that is nearly that of a missing property", { text: "a", isDep: true }, "isDep: is not a property"],
    ["a text where a number is wanted", { text: "a", ratio: "half" }, "ratio: must be of type number"],
    ["alternatives", { text: "a", either: "1" }, "either"],
  ])("refuses %s, and says what is wrong", async (_, input, message) => {
    const { got, text, call } = await called(input);
    expect(got).toEqual([]);
    expect(text).toContain(message);
    expect(call).not.toHaveProperty("repair");
  });

  test("changes nothing if a required property is missing: the model reads all that is wrong", async () => {
    const { got, text } = await called({ texts: "a", count: "1" });
    expect(got).toEqual([]);
    expect(text).toContain("texts: is not a property that the schema has");
    expect(text).toContain('count: must be of type integer; got the string "1"');
  });

  test("leaves what fits as it is", async () => {
    const { got, call } = await called({ text: "1", either: true });
    expect(got).toEqual([{ text: "1", either: true }]);
    expect(call).not.toHaveProperty("repair");
  });

  test("mends broken JSON first", async () => {
    const { got, call } = await called('{"text": "a", "count": "2",}');
    expect(got).toEqual([{ text: "a", count: 2 }]);
    expect(call).toMatchObject({ repair: { by: "json", changes: ["count is read as 2"] } });
  });

  test("asks a person about the input that would run", async () => {
    const { items } = await called({ text: "a", extra: 1 }, { lenientInput: true, needsApproval: true });
    const asked = items.find((item) => item.type === "approval_requested");
    expect(asked).toMatchObject({ input: { text: "a" } });
  });

  test("shows in the trace and on both screens", async () => {
    const { store, items } = await called({ text: "a", extra: 1 });
    const records = await traceSession(store, "s");
    const step = records.find((record) => record.type === "step");
    expect(step).toMatchObject({ calls: [{ repair: { by: "input", changes: ["extra is left out"] } }] });
    const view = createView();
    for (const item of items) view.show(item, 80, 1_000);
    const note = "take, as the model meant it: extra is left out";
    expect(view.takeHistory().map(toPlainText)).toContain(note);
    const renderer = createRenderer({ style: (_, text) => text, columns: 80 });
    expect(
      items
        .flatMap((item) => renderer.show(item))
        .map(({ text }) => text)
        .join(""),
    ).toContain(note);
  });
});

test("without lenientInput, arguments that do not fit are refused", async () => {
  const { got, text } = await called({ text: "a", required: ["text"] }, {});
  expect(got).toEqual([]);
  expect(text).toContain("required: is not a property that the schema has");
});

test("the built-in tools are lenient", async () => {
  const root = mkdtempSync(join(tmpdir(), "pawl-lenient-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  writeFileSync(join(root, "a.txt"), "one\ntwo\nthree\n");
  const input = { path: "a.txt", startLine: "2", end_line: "2", required: ["path"] };
  const { text } = await run(createFileTools({ root }), [{ calls: [{ name: "read_file", input }] }, { text: "Done." }]);
  expect(text).toContain("two");
  expect(text).not.toContain("three");
});

describe("an unknown tool", () => {
  const tool = (name: string) =>
    defineTool({ name, description: "Does.", input: { type: "object" }, execute: () => "done" });

  test("is told with the tools that there are, the nearest first", async () => {
    const { text } = await run(["list_files", "edit_file", "shell"].map(tool), [
      { calls: [{ name: "edit_fil", input: {} }] },
      { text: "Done." },
    ]);
    expect(text).toBe(
      "Error: Unknown tool 'edit_fil'. The tools are: edit_file, list_files, shell, read_output, search_output.",
    );
  });

  test("is told with a bounded list", async () => {
    const names = Array.from({ length: 300 }, (_, at) => `tool_${"x".repeat(40)}_${at}`);
    const { text } = await run(names.map(tool), [{ calls: [{ name: "nope", input: {} }] }, { text: "Done." }]);
    expect(text.length).toBeLessThan(2_200);
    expect(text).toMatch(/, and \d+ more\.$/);
  });
});

test("the reason of a schema error is on the screen whole, at 40 columns too", async () => {
  const input = { text: 1, count: "many", ratio: "half", unknown_property_of_the_model: true };
  const { items } = await called(input);
  const view = createView();
  for (const item of items) view.show(item, 40, 1_000);
  const shown = view.takeHistory().map(toPlainText).join("\n");
  const renderer = createRenderer({ style: (_, text) => text, columns: 40 });
  const rendered = items
    .flatMap((item) => renderer.show(item))
    .map(({ text }) => text)
    .join("");
  for (const text of [shown, rendered]) {
    const words = text.replace(/\s+/g, " ").replaceAll(" │ ", " ");
    expect(words).toContain('count: must be of type integer; got the string "many"');
    expect(words).toContain("ratio: must be of type number");
    expect(words).toContain("unknown_property_of_the_model is left out");
  }
});
