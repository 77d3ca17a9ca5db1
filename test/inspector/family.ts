/**
 * Agents that ask each other: each is a tool of the one before it.
 */
import { type Agent, createAgent, type Store } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { readFile } from "./desk.js";

const usage = { inputTokens: 1_200, outputTokens: 80, costUsd: 0.0048 };

/** An agent whose agent has an agent, and so on. The last one reads a file, and its price is not known. */
export function nested(store: Store, depth: number): Agent {
  const names = ["lead", "planner", "researcher", "reader", "clerk"];
  const name = names[names.length - depth] ?? "clerk";
  const below = depth === 1 ? null : nested(store, depth - 1);
  const call =
    below === null
      ? { name: "read_file", input: { path: "src/queue.ts" } }
      : { name: below.options.name ?? "", input: { task: `Find out how the queue drains (${depth - 1})` } };
  const steps =
    below === null
      ? [{ text: "I read it.", calls: [call] }, { text: "It takes one item at a time." }]
      : [
          { text: `The ${name} asks the next one.`, calls: [call], usage },
          { text: `The ${name} knows: one item at a time.`, usage },
        ];
  return createAgent({
    name,
    store,
    model: createScriptedModel(steps, { id: below === null ? "some/unpriced" : "some/llm-large" }),
    tools: below === null ? [readFile] : [below.asTool({ description: "Finds something out." })],
  });
}
