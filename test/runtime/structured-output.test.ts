import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { createAgent, createMemoryStore, done, type RunResult } from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { awaitFinalResult, collect, createEchoTool, createGateTool, filterEventsOfType } from "../support/agents.js";
import { verifies } from "../verifies.js";

const report = z.object({
  title: z.string().min(3),
  files: z.array(z.object({ path: z.string(), lines: z.number() })),
});
const answer = { title: "Notes", files: [{ path: "a.md", lines: 3 }] };
const fits: ScriptedStep = { text: JSON.stringify(answer) };
const wrong: ScriptedStep = { text: JSON.stringify({ title: "No", files: [{ path: 1, lines: 3 }] }) };

const jsonSchema = {
  type: "object",
  properties: { count: { type: "integer", minimum: 1 } },
  required: ["count"],
} as const;

type Completed<Result> = Extract<Result, { readonly status: "completed" }>;

function outputOf<Result extends RunResult | RunResult<unknown>>(
  result: Result,
): Completed<Result> extends { readonly output: infer Output } ? Output : never {
  if (result.status !== "completed") throw new Error(JSON.stringify(result));
  return result.output as ReturnType<typeof outputOf<Result>>;
}

describe("an answer with a shape", () => {
  test("is parsed, checked and typed", verifies("OUT-1"), async () => {
    const agent = createAgent({ model: createScriptedModel([fits]) });
    const result = await agent.run("Report", { output: report });
    const output = outputOf(result);
    expectTypeOf(output).toEqualTypeOf<z.infer<typeof report>>();
    expect(output).toEqual(answer);
    expect(result.text).toBe(fits.text);
    const plain = await createAgent({ model: createScriptedModel([{ text: "Hi." }]) }).run("Hi");
    expect(plain).not.toHaveProperty("output");
  });

  test("takes JSON Schema, and JSON between fences", verifies("OUT-1"), async () => {
    const agent = createAgent({ model: createScriptedModel([{ text: '```json\n{ "count": 2 }\n```' }]) });
    expect(outputOf(await agent.run<{ count: number }>("Count", { output: jsonSchema }))).toEqual({ count: 2 });
  });

  test("gives what the schema makes of it, while the log keeps what the model said", verifies("OUT-1"), async () => {
    const store = createMemoryStore();
    const agent = createAgent({ model: createScriptedModel([{ text: '{"when":"2026-11-22"}' }]), store });
    const output = z.object({
      when: z.string().transform((text) => new Date(text)),
      who: z.string().default("nobody"),
    });
    const run = agent.runStream("When?", { output, sessionId: "s" });
    const items = await collect(run);
    expect(outputOf(await run.result)).toEqual({ when: new Date("2026-11-22"), who: "nobody" });
    expect(filterEventsOfType(items, "final")[0]?.result).toMatchObject({ output: { when: "2026-11-22" } });
    expect(await agent.session("s").result()).toMatchObject({ output: { when: "2026-11-22" } });
  });

  test("asks for the provider's JSON mode, and says so in words", verifies("OUT-1"), async () => {
    const model = createScriptedModel([{ calls: [{ name: "echo" }] }, fits]);
    const { tool } = createEchoTool();
    const agent = createAgent({ model, tools: [tool], systemPrompt: "Be brief." });
    expect(outputOf(await agent.run("Report", { output: report }))).toEqual(answer);
    for (const request of model.requests) {
      expect(request.responseFormat).toMatchObject({
        type: "json",
        schema: {
          type: "object",
          required: ["title", "files"],
          additionalProperties: false,
          properties: { files: { items: { additionalProperties: false } } },
        },
      });
      expect(request.systemPrompt).toMatch(/^Be brief\.\n\n.*JSON Schema/);
      expect(request.tools.map(({ name }) => name)).toEqual(["echo"]);
    }
  });

  test("may come from the done tool", verifies("OUT-1"), async () => {
    const finish = {
      name: "finish",
      description: "Ends.",
      input: { type: "object" },
      execute: () => done('{"count":3}'),
    };
    const agent = createAgent({ model: createScriptedModel([{ calls: [{ name: "finish" }] }]), tools: [finish] });
    expect(await agent.run("Count", { output: jsonSchema })).toMatchObject({ reason: "done", output: { count: 3 } });
  });

  test("is refused where its schema cannot be used", verifies("OUT-1"), async () => {
    const agent = createAgent({ model: createScriptedModel([fits]) });
    await expect(agent.run("Go", { output: { type: "array" } })).rejects.toMatchObject({ code: "bad_configuration" });
  });
});

describe("an answer that does not fit", () => {
  test("is sent back once with what failed", verifies("OUT-2"), async () => {
    const model = createScriptedModel([wrong, fits]);
    const agent = createAgent({ model, limits: { maxStopPreventions: 0 } });
    const run = agent.runStream("Report", { output: report });
    const items = await collect(run);
    expect(outputOf(await run.result)).toEqual(answer);
    expect(filterEventsOfType(items, "steered")).toMatchObject([{ source: "output" }]);
    const told = JSON.stringify(model.requests[1]?.messages.at(-1));
    expect(told).toContain("title:");
    expect(told).toContain("files[0].path:");
  });

  test.each([
    { name: "of another shape", bad: wrong, says: "files[0].path" },
    { name: "that is no JSON", bad: { text: "It went well." }, says: "not JSON" },
  ])("$name twice ends the run, with the raw text", verifies("OUT-2"), async ({ bad, says }) => {
    const model = createScriptedModel([bad, bad, fits]);
    const result = await createAgent({ model }).run("Report", { output: report });
    expect(result).toMatchObject({
      status: "failed",
      reason: "invalid_output",
      text: bad.text,
      steps: 2,
      error: { code: "invalid_output", message: expect.stringContaining(says) },
    });
    expect(model.requests).toHaveLength(2);
  });

  test("is not sent back past a limit", verifies("OUT-2"), async () => {
    const agent = createAgent({ model: createScriptedModel([wrong, fits]), limits: { maxTokens: 10 } });
    expect(await agent.run("Report", { output: report })).toMatchObject({ reason: "invalid_output", text: wrong.text });
  });
});

describe("after a restart", () => {
  const even = z.object({ count: z.number().refine((count) => count % 2 === 0, "must be even") });

  async function cutOff() {
    const store = createMemoryStore();
    const gate = createGateTool();
    const model = createScriptedModel([{ calls: [{ name: "gate" }] }]);
    const first = createAgent({ model, tools: [gate.tool], store });
    void first.run("Count", { sessionId: "s", output: even });
    await gate.started;
    await first.shutdown({ graceMs: 0 });
    return (script: readonly ScriptedStep[]) => {
      const next = createScriptedModel(script);
      return { next, session: createAgent({ model: next, tools: [gate.tool], store }).session("s") };
    };
  }

  test("the answer is asked for and checked as before, by its JSON Schema", verifies("OUT-1", "OUT-2"), async () => {
    const { next, session } = (await cutOff())([{ text: '{"count":"two"}' }, { text: '{"count":3}' }]);
    expect(await session.resume()).toMatchObject({ status: "completed", output: { count: 3 } });
    expect(next.requests[0]?.responseFormat).toMatchObject({ type: "json" });
  });

  test("and by the schema itself where that is given again", verifies("OUT-1", "OUT-2"), async () => {
    const { session } = (await cutOff())([{ text: '{"count":3}' }, { text: '{"count":4}' }]);
    const result = await session.resume({ output: even });
    expectTypeOf(outputOf(result)).toEqualTypeOf<{ count: number }>();
    expect(outputOf(result)).toEqual({ count: 4 });
  });
});

/** A tool that notes the dependencies it is given. */
function lookTool(seen: unknown[], output: unknown = "ok") {
  return {
    name: "look",
    description: "Looks.",
    input: { type: "object" },
    execute: (_: unknown, { deps }: { readonly deps: unknown }) => {
      seen.push(deps);
      return output;
    },
  };
}

describe("dependencies", () => {
  test("of tools are replaced for a run", verifies("TOOL-8"), async () => {
    const seen: unknown[] = [];
    const asked: unknown[] = [];
    const agent = createAgent({
      model: createScriptedModel((request) =>
        request.modelCallIndex === 1 ? { calls: [{ name: "look" }] } : { text: "Done." },
      ),
      tools: [lookTool(seen)],
      deps: { clock: "real", mail: "real" },
      canExecuteTool: (_call, { deps }) => {
        asked.push(deps);
        return "allow";
      },
    });
    await agent.run("Go", { dependencyOverrides: { mail: "fake" } });
    await agent.run("Go");
    const expected = [
      { clock: "real", mail: "fake" },
      { clock: "real", mail: "real" },
    ];
    expect(seen).toEqual(expected);
    expect(asked).toEqual(expected);
  });

  test("stay replaced while the run waits for a person", verifies("TOOL-8"), async () => {
    const seen: unknown[] = [];
    const agent = createAgent({
      model: createScriptedModel([{ calls: [{ name: "look" }] }]),
      tools: [lookTool(seen, done("Seen."))],
      canExecuteTool: () => "ask",
    });
    const waiting = await agent.run("Go", { sessionId: "s", dependencyOverrides: { mail: "fake" } });
    const callKey = waiting.status === "awaiting_human" ? waiting.approvals[0]?.callKey : undefined;
    await agent.session("s").answer(callKey ?? "", { type: "approve" });
    expect((await awaitFinalResult(agent.session("s"))).status).toBe("completed");
    expect(seen).toEqual([{ mail: "fake" }]);
  });
});
