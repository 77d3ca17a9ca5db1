/**
 * What an author's code returns may throw when it is read, or read differently the second time.
 */
import { describe, expect, test } from "vitest";
import { type AgentOptions, createAgent, done, type Permission, TaskComplete } from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { createEchoTool } from "../support/agents.js";
import { verifies } from "../verifies.js";

const call: ScriptedStep = { calls: [{ name: "echo" }] };

/** An object whose members throw when they are read. */
function throwing(...names: readonly string[]): never {
  const members = names.map((name) => [
    name,
    {
      enumerable: true,
      get() {
        throw new Error(`no ${name} today`);
      },
    },
  ]);
  return Object.defineProperties({}, Object.fromEntries(members)) as never;
}

/** A permission whose verdict is another one each time that it is read. */
function changing(...verdicts: readonly string[]): Permission {
  let reads = 0;
  return {
    get verdict() {
      reads += 1;
      return verdicts[Math.min(reads, verdicts.length) - 1];
    },
  } as Permission;
}

async function play(options: Partial<AgentOptions>, steps: readonly ScriptedStep[] = [call, { text: "Done." }]) {
  const { tool, inputs } = createEchoTool();
  const model = createScriptedModel(steps);
  const result = await createAgent({ model, tools: [tool], ...options }).run("Go");
  return { result, ran: inputs.length, told: JSON.stringify(model.requests.at(-1)?.messages.at(-1)) };
}

describe("a permission", verifies("SEC-5#library"), () => {
  test.each([
    { name: "whose verdict throws", answer: throwing("verdict") },
    { name: "whose reason throws", answer: { verdict: "deny" as const }, getter: "reason" },
    { name: "whose question throws", answer: { verdict: "ask" as const }, getter: "question" },
    { name: "whose time throws", answer: { verdict: "ask" as const }, getter: "expiresInMs" },
  ])("$name is a denial", async ({ answer, getter }) => {
    const given =
      getter === undefined ? answer : Object.create(throwing(getter), Object.getOwnPropertyDescriptors(answer));
    const { result, ran, told } = await play({ canExecuteTool: () => given });
    expect(result).toMatchObject({ status: "completed" });
    expect(ran).toBe(0);
    expect(told).toContain("the permission check failed (its answer cannot be read: no ");
  });

  test("is read once", async () => {
    expect(await play({ canExecuteTool: () => changing("deny", "allow") })).toMatchObject({ ran: 0 });
    expect(await play({ canExecuteTool: async () => changing("allow", "deny") })).toMatchObject({ ran: 1 });
  });
});

test("a retry policy whose answer throws gives up", verifies("RTRY-2"), async () => {
  const failing: ScriptedStep = { error: { kind: "network", message: "The line is down." } };
  const { result } = await play({ retry: { decide: () => throwing("retryInMs") } }, [failing]);
  expect(result).toMatchObject({ status: "failed", reason: "model_error" });
});

test.each(["beforeToolCall", "afterToolCall", "beforeStop", "beforeLLMCall", "beforeRun"] as const)(
  "an answer of %s that throws is refused",
  verifies("HOOK-2"),
  async (point) => {
    const name = { beforeRun: "input", beforeLLMCall: "systemPrompt", beforeToolCall: "input" } as const;
    const member = point === "afterToolCall" ? "output" : point === "beforeStop" ? "message" : name[point];
    const { result } = await play({ hooks: [{ name: "odd", [point]: () => throwing(member), onFailure: "open" }] });
    expect(result).toMatchObject({ status: "completed", text: "Done." });
  },
);

test.each([
  { name: "returns", execute: () => Object.assign(done("x"), { message: throwing("toString") }) },
  {
    name: "throws",
    execute() {
      throw Object.assign(new TaskComplete(), { done: Object.assign(done("x"), { message: throwing("toString") }) });
    },
  },
])(
  "a tool that $name a done signal that cannot be read has an error result",
  verifies("FIN-7"),
  async ({ execute }) => {
    const tool = { name: "echo", description: "Ends.", input: { type: "object" }, execute };
    const { result } = await play({ tools: [tool] });
    expect(result).toMatchObject({ status: "completed", text: "Done." });
  },
);
