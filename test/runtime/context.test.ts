/**
 * What a model is sent beside the conversation.
 */
import { describe, expect, test } from "vitest";
import { type ContextManager, type ContextView, createAgent, createMemoryStore, type Hint } from "../../src/index.js";
import { modelRequests } from "../../src/inspect.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { collect, createEchoTool, filterEvents, filterEventsOfType } from "../support/agents.js";
import { verifies } from "../verifies.js";

const look = { name: "echo", input: { n: 1 } } as const;
const steps: readonly ScriptedStep[] = [
  { calls: [look] },
  { calls: [{ ...look, input: { n: 2 } }] },
  { text: "Done." },
];
const hint = (name: string, texts: readonly (string | undefined)[]): Hint => {
  let asked = 0;
  return { name, text: () => texts[Math.min(asked++, texts.length - 1)] };
};

describe("the context of a call", () => {
  test(
    "has what stays the same first, and hints last, each time that they say something new",
    verifies("CTX-1"),
    async () => {
      const model = createScriptedModel(steps);
      const store = createMemoryStore();
      const context = { data: { project: "pawl" }, hints: [hint("branch", ["main", "main", "fix"])] };
      const agent = createAgent({ model, tools: [createEchoTool().tool], systemPrompt: "Be brief.", context, store });
      await agent.run("Go", { sessionId: "s" });
      const [first, second, third] = model.requests;
      expect(model.requests.map(({ systemPrompt }) => systemPrompt)).toEqual(
        Array(3).fill("Be brief.\n\nproject: pawl"),
      );
      expect(first?.messages.map(({ role }) => role)).toEqual(["user", "user"]);
      expect(second?.messages.map(({ role }) => role)).toEqual(["user", "user", "assistant", "tool"]);
      expect(third?.messages.at(-1)).toMatchObject({ parts: [{ text: expect.stringContaining("branch: fix") }] });
      // Each request goes on from the one before: what a provider has cached of it stays good.
      expect(second?.messages.slice(0, 2)).toEqual(first?.messages);
      expect(third?.messages.slice(0, 4)).toEqual(second?.messages);
      expect(await collect(modelRequests(store, "s"))).toMatchObject(
        model.requests.map(({ messages }) => ({ messages })),
      );
    },
  );

  test(
    "is told of a run's own prompt in the place of the agent's, and enters input once",
    verifies("CTX-1"),
    async () => {
      const views: ContextView[] = [];
      const manager = {
        build(view: ContextView): ReturnType<ContextManager["build"]> {
          views.push({ ...view, messages: [...view.messages] });
          const { systemPrompt = "", runSystemPrompt = systemPrompt, tools } = view;
          const append =
            view.appended === null ? ([{ role: "user", parts: [{ type: "text", text: "Mind." }] }] as const) : [];
          return {
            systemPrompt: `${runSystemPrompt}!`,
            tools: tools.slice(0, 1),
            messages: [...view.messages, ...append],
            append,
          };
        },
      };
      const model = createScriptedModel(steps);
      const agent = createAgent({
        model,
        tools: [createEchoTool().tool, createEchoTool("other").tool],
        systemPrompt: "A",
        context: { manager, data: { a: "b" } },
      });
      await agent.run("Go", { systemPrompt: "B", sessionId: "s" });
      expect(model.requests.map(({ systemPrompt }) => systemPrompt)).toEqual(["B!", "B!", "B!"]);
      expect(model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual(Array(3).fill(["echo"]));
      expect(JSON.stringify(model.requests.at(-1)?.messages).match(/"Go"|Mind\./g)).toEqual(['"Go"', "Mind."]);
      expect(views[0]).toMatchObject({
        systemPrompt: "A",
        runSystemPrompt: "B",
        run: { sessionId: "s", data: { a: "b" } },
      });
    },
  );

  test("that cannot be built ends the run; a hint that throws is left out, and told", verifies("CTX-1"), async () => {
    const broken = () => {
      throw new Error("broken");
    };
    const ends = createAgent({ model: createScriptedModel(steps), context: { manager: { build: broken } } });
    expect(await ends.run("Go")).toMatchObject({
      status: "failed",
      reason: "hook_failed",
      error: { message: expect.stringContaining("broken") },
    });
    const model = createScriptedModel([{ text: "Done." }]);
    const stream = createAgent({ model, context: { hints: [{ name: "time", text: broken }] } }).runStream("Go");
    expect(filterEventsOfType(filterEvents(await collect(stream)), "hook_failed")).toMatchObject([
      { name: "hint time", outcome: "threw" },
    ]);
    expect(model.requests[0]?.messages).toHaveLength(1);
    expect(() => createAgent({ model, context: { hints: [{ name: "x" }] as never } })).toThrow("hints");
  });
});
