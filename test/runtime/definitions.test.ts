/**
 * Mistakes in definitions are told where they are written.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type AnyTool, createAgent, defineTool } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";

const proven = verifies("TOOL-1#schema");
const model = createScriptedModel([{ text: "Done." }]);
const tool = { name: "find", description: "Finds.", input: { type: "object" }, execute: () => "x" } as const;

const withInput = (input: unknown) => () => createAgent({ model, tools: [{ ...tool, input } as AnyTool] });

describe("a record of schemas, as MCP's SDK takes it, is no schema of an input", () => {
  test("and the error says what to wrap it in", proven, () => {
    expect(withInput({ order: z.string() })).toThrow(
      /The tool "find".* record with the schema of "order", not a schema itself: wrap it in z\.object\(\{ … \}\)/,
    );
    expect(withInput({ type: "object", properties: { order: z.string() } })).toThrow(/`properties` is a record/);
    expect(withInput({})).not.toThrow();
    expect(withInput(z.object({ order: z.string() }))).not.toThrow();
    expect(withInput({ type: "object", properties: { order: { type: "string" } } })).not.toThrow();
  });

  test("also where an answer has a shape", proven, async () => {
    const agent = createAgent({ model });
    await expect(agent.run("Go.", { output: { order: z.string() } as never })).rejects.toThrow(/wrap it in z\.object/);
  });
});

test("an agent among the handoffs is told from a handoff", proven, () => {
  const billing = createAgent({ name: "billing", model });
  expect(() => createAgent({ model, handoffs: [billing as never] })).toThrow(
    /handoffs\[0\] is an agent\..*\{ name: "billing", description: .*agent: \(\) => agent \}/,
  );
});

test("defineTool refuses a name that no provider takes, and a tool without a description", proven, () => {
  for (const name of ["find it", "a.b", "", "n".repeat(65)])
    expect(() => defineTool({ ...tool, name })).toThrow(/A tool cannot be named/);
  const { description: _, ...nameless } = tool;
  expect(() => defineTool(nameless as never)).toThrow(/"find" has no description/);
});

test(
  "a tool that asks and is not durable is told to its author as a failed hook, not to the model alone",
  proven,
  async () => {
    const asking = defineTool({
      ...tool,
      execute: async (_input, { ask }) => ask({ message: "Which one?", schema: { type: "string" } }),
    });
    const script = createScriptedModel([{ calls: [{ name: "find" }] }, { text: "Done." }]);
    const agent = createAgent({ model: script, tools: [asking] });
    const events = [];
    for await (const item of agent.runStream("Go.")) if (item.type === "hook_failed") events.push(item);
    expect(events).toMatchObject([
      { name: "tool find", outcome: "refused", message: expect.stringContaining("only a tool with durable: true may") },
    ]);
  },
);
