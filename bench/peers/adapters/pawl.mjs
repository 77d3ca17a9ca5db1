/**
 * Pawl as its users get it, from the built package: validation, hooks, an observer and limits on.
 */
import { z } from "zod";
import { createAgent, createMemoryStore } from "../../../dist/index.js";
import { prompt, systemPrompt, toolDescription, usage } from "../work.mjs";

const tokens = { inputTokens: usage.input, outputTokens: usage.output };

function modelOf(work) {
  return {
    id: "bench",
    async *stream({ messages }) {
      const newest = messages.at(-1);
      const { texts, call } = work.answerTo(newest.role === "tool" ? textOf(newest) : null);
      yield { kind: "start" };
      yield { kind: "text-start", id: "t" };
      for (const text of texts) yield { kind: "text-delta", id: "t", text };
      yield { kind: "text-end", id: "t" };
      if (call !== null) yield { kind: "tool-call", id: call.id, name: call.name, input: JSON.stringify(call.input) };
      yield { kind: "done", finishReason: { unified: call === null ? "stop" : "tool-calls" }, usage: tokens };
    },
  };
}

function textOf({ parts }) {
  return parts.at(-1).output.text;
}

const counted = { events: 0, hooks: 0 };
const count = () => {
  counted.hooks += 1;
};

/** Looks at each step and call, and changes nothing. */
const hook = { name: "bench", beforeLLMCall: count, beforeToolCall: count, afterToolCall: count };
const observer = {
  name: "bench",
  onEvent() {
    counted.events += 1;
  },
};

export function agentFor(work, { store, model = modelOf(work), hooks = [hook], observers = [observer] }) {
  const tool = {
    name: "add",
    description: toolDescription,
    input: z.strictObject({ a: z.number(), b: z.number() }),
    needsApproval: work.needsApproval,
    execute: (input) => work.add(input),
  };
  return createAgent({
    model,
    tools: [tool],
    systemPrompt,
    hooks,
    observers,
    store,
    limits: { maxSteps: work.steps + 2 },
  });
}

/** One whole run; returns the data that is needed to go on later. */
export async function runOnce(agent, work, options = {}) {
  const run = agent.runStream(prompt, options);
  for await (const item of run)
    if (item.type === "delta" && item.delta.kind === "text-delta") work.consume(item.delta.text);
  const result = await run.result;
  if (result.status !== (work.needsApproval ? "awaiting_human" : "completed"))
    throw new Error(`The run is ${result.status}: ${JSON.stringify(result)}`);
  return result.sessionId;
}

export async function open(work, { store } = {}) {
  const agent = agentFor(work, { store: store ?? createMemoryStore() });
  return { run: (options) => runOnce(agent, work, options) };
}
