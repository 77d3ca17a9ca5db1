/**
 * What it takes to mark a request for the prompt cache, beside what has to be done with any request: to write a body of 10 kB as
 * JSON. The best of many rounds each, in turns, so that both have the same machine.
 */
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const rounds = 41;
const calls = 2_000;
const marks = {
  type: "marks",
  onTools: true,
  usual: { anthropic: { cacheControl: { type: "ephemeral" } } },
  oneHour: { anthropic: { cacheControl: { type: "ephemeral", ttl: "1h" } } },
};

/** The package does not export it, so it is built from its source. */
async function loadWithPromptCache() {
  const source = fileURLToPath(new URL("../../src/models/ai-sdk/prompt-cache.ts", import.meta.url));
  const bundle = await rolldown({ input: source, platform: "node", logLevel: "silent" });
  const { output } = await bundle.generate({ format: "esm" });
  await bundle.close();
  return import(`data:text/javascript;base64,${Buffer.from(output[0].code).toString("base64")}`);
}

function best(times, work) {
  const startedAt = process.hrtime.bigint();
  for (let call = 0; call < calls; call += 1) work();
  return Math.min(times, Number(process.hrtime.bigint() - startedAt) / 1_000 / calls);
}

/** Microseconds for one request with so many messages. */
export async function measureMarks(length) {
  const { addPromptCache } = await loadWithPromptCache();
  const prompt = Array.from({ length }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: [{ type: "text", text: `Message ${index}.` }],
  }));
  const tools = Array.from({ length: 10 }, (_, index) => ({
    type: "function",
    name: `tool_${index}`,
    inputSchema: {},
  }));
  const request = { prompt, tools, providerOptions: {}, abortSignal: new AbortController().signal };
  const how = { dialect: marks, lifetime: "usual", sessionId: "s", isMarked: false };
  const body = {
    messages: Array.from({ length: 10 }, () => ({ role: "user", content: "a line of text\n".repeat(66) })),
  };
  let [marking, writing] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < rounds; round += 1) {
    marking = best(marking, () => addPromptCache(request, how));
    writing = best(writing, () => JSON.stringify(body));
  }
  return { marking, writing, ratio: marking / writing };
}
