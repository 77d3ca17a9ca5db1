import { describe, expect, test } from "vitest";
import { createAgent } from "../../src/index.js";
import { compileInput } from "../../src/runtime/tools/schema.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { compileGlob } from "../../src/tools/files/glob.js";
import { createFileTools } from "../../src/tools/index.js";
import { createTempFolder, runTool } from "../tools/folder.js";
import { verifies } from "../verifies.js";

/** Takes longer than anybody waits on what it does not fit. */
const astray = "^(a+)+$";
const wrong = `${"a".repeat(60)}!`;

describe("a regular expression that goes astray", verifies("SEC-15"), () => {
  test.each([
    {
      name: "pattern",
      schema: { type: "object", properties: { text: { type: "string", pattern: astray } } },
      value: { text: wrong },
    },
    {
      name: "patternProperties",
      schema: { type: "object", patternProperties: { [astray]: { type: "number" } } },
      value: { [wrong]: 1 },
    },
    {
      name: "a pattern deep down",
      schema: { type: "object", properties: { all: { items: { anyOf: [{ type: "number" }, { pattern: astray }] } } } },
      value: { all: [1, wrong] },
    },
  ])("in a schema ($name) is cut off, and what it was to check is refused", async ({ schema, value }) => {
    const { validate } = compileInput(schema);
    expect(await validate(value)).toEqual({
      ok: false,
      issues: [{ path: "", message: expect.stringContaining("it took longer than 250 ms") }],
    });
    expect(await validate({})).toEqual({ ok: true, value: {} });
  });

  test("costs a call, not the run", async () => {
    const input = { type: "object", properties: { text: { type: "string", pattern: astray } } };
    const tool = { name: "take", description: "Takes a text.", input, execute: () => "taken" };
    const model = createScriptedModel([
      {
        calls: [
          { name: "take", input: { text: wrong } },
          { name: "take", input: { text: "aaa" } },
        ],
      },
      { text: "Done." },
    ]);
    expect(await createAgent({ model, tools: [tool] }).run("Go")).toMatchObject({ status: "completed", text: "Done." });
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({
      parts: [{ isError: true, output: { text: expect.stringContaining("250 ms") } }, { output: { text: "taken" } }],
    });
  });

  test("is none where files are searched and named: a text is taken literally, a pattern has no groups", async () => {
    const tools = createFileTools({ root: createTempFolder({ "a.txt": `${wrong}\n${astray}` }) });
    expect(await runTool(tools, "search_files", { text: astray })).toContain(`a.txt:2: ${astray}`);
    expect(compileGlob(`${"*a".repeat(50)}b`)(wrong)).toBe(false);
  });
});
