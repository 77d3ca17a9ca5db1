/**
 * A long working day of one session, as real runs make it: parallel calls, failures, hooks, a steer, an approval, large
 * outputs, a compaction and a second run.
 */
import { type Agent, createAgent, defineTool, type Store } from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/index.js";

/** Work that takes its time. It ends early if the run does. */
const waitFor = (ms: number, signal: AbortSignal) =>
  new Promise<void>((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      done();
    });
  });

const input = { type: "object", properties: { path: { type: "string" } }, required: ["path"] } as const;

const search = defineTool({
  name: "search",
  description: "Searches files.",
  input: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
  readOnly: true,
  async execute({ query }, { signal }) {
    await waitFor(60, signal);
    return `3 files name ${query}`;
  },
});

const readFile = defineTool({
  name: "read_file",
  description: "Reads a file.",
  input,
  readOnly: true,
  async execute({ path }, { signal }) {
    await waitFor(25, signal);
    if (path === "missing.ts") throw new Error("There is no file missing.ts. Did you mean src/missing.ts?");
    if (path === "huge.log")
      return Array.from(
        { length: 20_000 },
        (_, line) => `${line + 1} ok: a line of a log as they are, with words — 行`,
      ).join("\n");
    return `// ${path}\nexport const answer = 42;`;
  },
});

const write = defineTool({
  name: "write_file",
  description: "Writes a file.",
  input,
  needsApproval: true,
  execute: ({ path }) => `Wrote ${path}.`,
});

const createUsage = (inputTokens: number, outputTokens: number, cacheReadTokens = 0, cacheWriteTokens = 0) => ({
  usage: { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd: inputTokens * 0.000002 },
});

export const answer = `## What was wrong

The queue was drained **twice**: once by \`drain()\` and once by the timer. See [the issue](https://example.com/issues/16?x=1).

1. \`drain()\` takes a batch now
2. the timer asks first
   - and only if nothing runs

| file | before | after |
|---|---:|---:|
| src/queue.ts | 120 | 96 |
| src/timer.ts | 44 | 51 |

\`\`\`ts
const batch = queue.takeAll();
for (const item of batch) await item.run();
\`\`\`

> Nothing else was changed.`;

const steps: readonly ScriptedStep[] = [
  {
    reasoning: "I do not know the code yet, so I look around.",
    text: "I look for the queue, in three places at once.",
    calls: [
      { name: "search", input: { query: "queue" } },
      { name: "search", input: { query: "drain" } },
      { name: "read_file", input: { path: "src/queue.ts" } },
      { name: "read_file", input: { path: "missing.ts" } },
    ],
    ...createUsage(4_102, 120, 0, 4_000),
  },
  { error: { kind: "overloaded", message: "The model is overloaded.", statusCode: 529 } },
  { error: { kind: "rate_limit", message: "Too many requests.", statusCode: 429 } },
  {
    text: "The log tells more.",
    calls: [{ name: "read_file", input: { path: "huge.log" } }],
    ...createUsage(4_600, 44, 4_100, 480),
  },
  {
    text: "الطابور يُفرَّغ مرتين. نصلح ذلك الآن.",
    calls: [{ name: "write_file", input: { path: "src/queue.ts" } }],
    ...createUsage(21_400, 80, 4_600, 16_000),
  },
  { text: answer, ...createUsage(22_100, 260, 21_400, 600) },
];

const laterSteps: readonly ScriptedStep[] = [
  {
    text: "はい、もう一度確認します。🧵",
    calls: [{ name: "search", input: { query: "drain" } }],
    ...createUsage(2_900, 30),
  },
  { text: "Nothing else drains the queue.", ...createUsage(3_100, 20, 2_900) },
];

export const journeyId = "j0urn3y4t7k2";

function createJourneyAgent(store: Store, script: readonly ScriptedStep[]): Agent {
  return createAgent({
    name: "mender",
    store,
    model: createScriptedModel(script, { id: "some/llm-large", contextWindow: 24_000 }),
    tools: [search, readFile, write],
    systemPrompt: "You mend code.",
    retry: { baseDelayMs: 20, maxDelayMs: 40 },
    hooks: [
      {
        name: "house-rules",
        beforeToolCall: () => undefined,
        afterToolCall: async () => {
          await Promise.resolve();
          return undefined;
        },
      },
    ],
    compaction: {
      keepTurns: 1,
      model: createScriptedModel(
        [{ text: "## Keep\n- Mend the queue.\n\n## Summary\nThe queue was drained twice; it is mended." }],
        {
          id: "some/llm-small",
        },
      ),
    },
  });
}

/** Makes the session: a run that asks, is steered and is compacted, and a second run. */
export async function writeJourneySession(store: Store, sessionId = journeyId): Promise<void> {
  const agent = createJourneyAgent(store, steps);
  const suspendedResult = await agent.run("Mend the queue: items are taken **twice**.", { sessionId });
  if (suspendedResult.status !== "awaiting_human")
    throw new Error(`the run is ${suspendedResult.status}, and should ask`);
  const session = agent.session(sessionId);
  await session.steer("Keep the change small, please.", { by: "grace" });
  for (const { callKey } of suspendedResult.approvals)
    await session.answer(callKey, { type: "approve" }, { by: "ada" });
  const resumedResult = await session.resume({ follow: true });
  if (resumedResult.status !== "completed")
    throw new Error(`the run is ${resumedResult.status}, and should be completed`);
  const secondResult = await createJourneyAgent(store, laterSteps).run("Does anything else drain it?", { sessionId });
  if (secondResult.status !== "completed") throw new Error(`the second run is ${secondResult.status}`);
}
