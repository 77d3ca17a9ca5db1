/**
 * `createAgent` with its defaults: it accepts AI SDK models, stores sessions in memory, and runs in this process.
 */
import { asModel } from "./models/ai-sdk/adapter.js";
import type { LanguageModel } from "./models/ai-sdk/language-model.js";
import { contextWindows } from "./models/facts/context-windows.js";
import { listPrices } from "./models/facts/prices.js";
import { createHolder, isHolderDead } from "./platform/holder.js";
import type { Model } from "./ports/model.js";
import type { AgentOptions as Options } from "./runtime/api/agent-options.js";
import { type Agent as Built, buildAgent } from "./runtime/api/build-agent.js";
import { createMemoryStore } from "./stores/memory/index.js";
import { createOutputTools } from "./tools/outputs/output-tools.js";

/** A `Model`, or a language model of the AI SDK (specification v3 or v4). */
export type AnyModel = Model | LanguageModel;

/** Options of an agent. Only `model` is required. */
// biome-ignore lint/suspicious/noExplicitAny: a list of options of agents with different deps has no narrower type.
export type AgentOptions<Deps = any, Params = any> = Options<AnyModel, Deps, Params>;

/**
 * Runs requests, and opens the sessions that they belong to.
 *
 * @example
 * ```ts
 * const session = agent.session("march"); // the same id carries the conversation on, from any process with the store
 * const { runId } = await session.send("Which invoices are open?");
 * await session.steer("Only those of this year.");
 * console.log(await session.result(runId)); // null while the run is under way
 * ```
 */
export type Agent = Built<AnyModel>;

/**
 * Creates an agent.
 * @throws PawlError `bad_configuration` if an option is invalid, `duplicate_tool` if two tools have the same name
 *
 * @example
 * ```ts
 * import { openai } from "@ai-sdk/openai";
 * import { createAgent } from "pawl";
 * import { createFileTools } from "pawl/tools";
 *
 * const agent = createAgent({ model: openai("gpt-5"), tools: createFileTools({ root: "." }) });
 * const result = await agent.run("What is in todo.md?");
 * if (result.status === "completed") console.log(result.text);
 * if (result.status === "failed") console.error(result.reason, result.error);
 * ```
 */
export function createAgent<Deps = unknown, Params = unknown>(options: AgentOptions<Deps, Params>): Agent {
  return buildAgent(options as AgentOptions, {
    asModel,
    createStore: createMemoryStore,
    createHolder,
    isDead: isHolderDead,
    listPrices,
    contextWindows,
    createOutputTools,
  });
}
