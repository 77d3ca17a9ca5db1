/**
 * The agents of recorded sessions: what their models say, by step, and tools of every kind. They say and do the same whenever
 * they are asked, so that what was recorded can be carried on.
 */
import { defineTool, done, type Json, type ModelRequest, type Tool } from "../../src/index.js";
import { createRetryPolicy } from "../../src/runtime/model/retry.js";
import { createScriptedModel, type ScriptedCall, type ScriptedStep } from "../../src/testing/scripted-model.js";
import type { Bench, Parts } from "./bench.js";

const numbers = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;
const never = new Promise<never>(() => {});

export function tool(name: string, more: Partial<Tool> = {}): Tool {
  return defineTool({ name, description: `Does ${name}.`, input: numbers, execute: () => `${name} is done`, ...more });
}

/** It starts, and its process dies before it ends. */
const endless = (name: string, more: Partial<Tool>): Tool =>
  tool(name, { execute: (_, { attempt }) => (attempt === 1 ? never : `${name} is done at last`), ...more });

export const tools: readonly Tool[] = [
  tool("look", { readOnly: true }),
  tool("data", { execute: () => ({ found: [1, "two", null] }) }),
  tool("picture", {
    execute: () => ({
      type: "content",
      parts: [
        { type: "text", text: "A dot." },
        { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=" },
      ],
    }),
  }),
  tool("broken", {
    execute() {
      throw new Error("it broke");
    },
  }),
  tool("alone", { sequential: true }),
  tool("forbidden"),
  tool("guarded", { needsApproval: true }),
  tool("questioned"),
  tool("expiring"),
  tool("finish", { execute: () => done("All is done.") }),
  endless("again", { recover: "rerun" }),
  endless("once", { recover: "fail", graceMs: 700 }),
  endless("unsure", { recover: "ask" }),
  endless("traced", { recover: { reconcile: async () => ({ status: "finished", output: "found out" }) } }),
  endless("untraced", { recover: { reconcile: async () => ({ status: "unknown" }) } }),
  { name: "outside", description: "Is done elsewhere.", input: numbers },
];

export const call = (name: string, input: Json = { n: 1 }): ScriptedCall => ({ name, input });

/** An agent whose model says the steps of a run by their numbers, and nothing more to say after the last. */
export function agentOf(script: (request: ModelRequest) => ScriptedStep | undefined, more: Partial<Parts> = {}): Parts {
  return {
    name: "recorded",
    model: createScriptedModel((request) => script(request) ?? { text: "Nothing more." }, { record: false }),
    tools,
    retry: createRetryPolicy({ baseDelayMs: 1_000 }, () => 0),
    canExecuteTool({ tool: { name } }) {
      if (name === "forbidden") return { verdict: "deny", reason: "nobody may" };
      if (name === "questioned") return { verdict: "ask", question: "May it?" };
      return name === "expiring" ? { verdict: "ask", expiresInMs: 60_000 } : "allow";
    },
    ...more,
  };
}

/** The steps of every run, in order. */
export const steps =
  (...script: readonly ScriptedStep[]) =>
  ({ modelCallIndex }: ModelRequest) =>
    script[modelCallIndex - 1];

const nap = tool("nap", {
  durable: true,
  async execute(_input, { sleep }) {
    await sleep("nap", { ms: 60_000 });
    return "nap is over";
  },
});

/** An agent that hands work to another one, which uses this tool. */
export function family(bench: Bench, used: "look" | "guarded" | "nap"): Parts {
  const takesTime = () => new Promise<string>((resolve) => bench.clock.after(1_000, () => resolve("guarded is done")));
  const guarded = tool("guarded", { needsApproval: true, execute: takesTime });
  const researcher = bench.start(
    agentOf(steps({ calls: [call(used)] }, { text: "It is a catch." }), {
      name: "researcher",
      tools: [...tools.map((one) => (one.name === "guarded" ? guarded : one)), ...(used === "nap" ? [nap] : [])],
    }),
  ).agent;
  const delegate = { name: "researcher", input: { task: "What is a pawl?" } };
  return agentOf(steps({ calls: [delegate, call("look")] }, { text: "A pawl is a catch." }), {
    tools: [...tools, researcher.asTool({ description: "Researches a question." })],
    limits: { maxTokens: 10_000 },
  });
}
