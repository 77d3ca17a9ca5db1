/**
 * An agent with one durable tool, and the log of its session.
 */

import type { Event } from "../../src/core/index.js";
import { type Agent, type AnyTool, createAgent, type Store, type ToolContext } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";

/** An agent whose model calls the tool once, and then ends. `toolOptions` are of the tool, `agentOptions` of the agent. */
export function createDurableAgent(
  execute: (context: ToolContext) => unknown,
  toolOptions: Partial<AnyTool> = {},
  agentOptions: object = {},
): Agent {
  const tool: AnyTool = {
    name: "work",
    description: "Works.",
    input: { type: "object" },
    durable: true,
    execute: (_input: unknown, context: ToolContext) => execute(context),
    ...toolOptions,
  };
  const model = createScriptedModel(({ messages }) =>
    messages.some(({ role }) => role === "tool") ? { text: "Done." } : { calls: [{ name: "work" }] },
  );
  return createAgent({ model, tools: [tool], ...agentOptions });
}

export async function readEvents(store: Store): Promise<readonly Event[]> {
  return (await store.read("s")).map(({ event }) => event);
}
