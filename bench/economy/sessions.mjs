/**
 * The sessions of the bench `economy`: an agent with the tools of a coding agent, whose model answers by a script.
 */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createAnthropic as createAnthropicV4 } from "anthropic-v4";
import { createOpenAI as createOpenAIV4 } from "openai-v4";
import { createAgent, createMemoryStore, defineTool } from "../../dist/index.js";
import { createTestClock } from "../../dist/testing/index.js";
import { startBillingServer } from "./billing-server.mjs";
import { startOpenAiServer } from "./openai-server.mjs";

const apiKey = "none";
export const packages = {
  "Claude v3": (baseURL) => createAnthropic({ baseURL, apiKey })("claude-sonnet-5"),
  "Claude v4": (baseURL) => createAnthropicV4({ baseURL, apiKey })("claude-sonnet-5"),
  "GPT v3": (baseURL, modelId = "gpt-6-sol") => createOpenAI({ baseURL, apiKey })(modelId),
  "GPT v4": (baseURL, modelId = "gpt-6-sol") => createOpenAIV4({ baseURL, apiKey })(modelId),
};

export function startServer(version) {
  return version.startsWith("GPT") ? startOpenAiServer : startBillingServer;
}

/** How the server counts: Claude's positions in two ways. */
export function countingsOf(version) {
  return version.startsWith("GPT") ? ["automatic"] : ["runs", "blocks"];
}

/** What a later request can read of this one. OpenAI caches in steps of 128 tokens, and needs no marks. */
export function readable({ total, marks }) {
  return marks === 0 ? total - (total % 128) : total;
}

export function messagesOf({ messages, input }) {
  return messages ?? input;
}

/** Whether the request asks for the summary of a compaction. */
export function isSummary(body) {
  return JSON.stringify(messagesOf(body).at(-1)).includes("about to be shortened");
}

/** About 1,000 tokens, as an agent's prompt with its rules has. */
export const systemPrompt = Array.from(
  { length: 40 },
  (_, rule) => `Rule ${rule + 1}: look before you change a file, and say what you found, briefly and in order.`,
).join("\n");

const names = [
  "read_file",
  "write_file",
  "edit_file",
  "list_files",
  "search_files",
  "run_command",
  "fetch_url",
  "todo",
];

/** An output of 2 to 8 kB that no other call has. */
function outputOf(name, path) {
  const size = 2_000 + ((path.length * 977 + Number(path.replace(/\D/g, "") || 0) * 1_231) % 6_000);
  return `${name} of ${path}\n${`${path}: a line of code with a value. `.repeat(200)}`.slice(0, size);
}

export function toolsOf(outputs = outputOf) {
  return names.map((name) =>
    defineTool({
      name,
      description: `Does what ${name.replace("_", " ")} says, within the folder of the project, and gives what came of it.`,
      input: {
        type: "object",
        properties: { path: { type: "string", description: "Relative to the folder." } },
        required: ["path"],
      },
      execute: ({ path }) => outputs(name, path),
    }),
  );
}

/** So many steps with calls, then a text. `perStep` says how many calls step n has. */
export function working(steps, perStep = () => 1) {
  return (index) => {
    const step = index % (steps + 1);
    if (step === steps) return { text: "All of it is done." };
    const calls = Array.from({ length: perStep(step) }, (_, call) => ({
      name: names[(index + call) % names.length],
      input: { path: `src/file-${index}-${call}.ts` },
    }));
    return { text: `Step ${step + 1}.`, calls };
  };
}

/** A server, and an agent that calls it, with a clock that the session moves. */
export async function begin({ create, version, positions = "runs", reply, ...options }) {
  const clock = createTestClock();
  const server = await startServer(version)({ reply, positions, now: clock.now });
  const store = options.store ?? createMemoryStore();
  const agent = createAgent({
    name: "worker",
    model: create(server.baseURL),
    systemPrompt,
    tools: toolsOf(),
    limits: { onRepeatedCall: "ignore" },
    store,
    clock,
    ...options,
  });
  return { agent, clock, server, store };
}
