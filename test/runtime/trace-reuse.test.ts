/**
 * What the trace says that a provider's cache could keep of the call before.
 */
import { expect, test } from "vitest";
import {
  type AgentOptions,
  createAgent,
  createMemoryStore,
  type Hook,
  type ModelCallChange,
  type ModelRequest,
} from "../../src/index.js";
import { type LoopTrace, modelRequests, traceSession } from "../../src/inspect.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { createChance } from "../core/chance.js";
import { collect, createEchoTool } from "../support/agents.js";
import { createRandomList, createSizedMessage } from "../support/message-lists.js";
import { verifies } from "../verifies.js";

const proven = verifies("LOOP-20", "TRC-1");
const call = (n: number): ScriptedStep => ({ calls: [{ name: "echo", input: { n } }] });

function reusedIn(trace: LoopTrace) {
  return trace.flatMap((record) => (record.type === "step" ? [record.reused] : []));
}

async function traced(options: Partial<AgentOptions>, script: readonly ScriptedStep[], runs = 1) {
  const store = createMemoryStore();
  const live: LoopTrace[number][] = [];
  const observer = { onTrace: (record: LoopTrace[number]) => void live.push(record) };
  const agent = createAgent({
    model: createScriptedModel(script),
    tools: [createEchoTool().tool, createEchoTool("other").tool],
    systemPrompt: "Be kind.",
    limits: { onRepeatedCall: "ignore" },
    observers: [observer],
    store,
    ...options,
  });
  for (let run = 0; run < runs; run += 1) await agent.run(`Run ${run}`, { sessionId: "s" });
  await agent.shutdown();
  const later = await traceSession(store, "s");
  expect(reusedIn(live)).toEqual(reusedIn(later));
  return { reused: reusedIn(later), store };
}

const choosing = (choices: { readonly [index: number]: ModelCallChange }): Hook => ({
  name: "choose",
  beforeLLMCall: ({ modelCallIndex }) => choices[modelCallIndex],
});

test("a conversation that only grows is reused whole, also by the next run", proven, async () => {
  const { reused } = await traced({}, [call(1), call(2), { text: "Done." }, { text: "Again." }], 2);
  const all = (messages: number) => ({ messages, prompt: true, tools: true, expected: 10 });
  expect(reused).toEqual([{ messages: 0, prompt: false, tools: false }, all(1), all(3), all(5)]);
});

test("another prompt, other tools and another beginning are not", proven, async () => {
  const hooks = [
    choosing({
      2: { systemPrompt: "Another." },
      3: { activeTools: ["echo"] },
      4: { activeTools: ["echo"] },
      5: { messages: [createSizedMessage("First"), createSizedMessage("Last")] },
    }),
  ];
  const script = [call(1), call(2), call(3), call(4), call(5), { text: "Done." }];
  const { reused } = await traced({ hooks }, script);
  expect(reused.map(({ prompt }) => prompt)).toEqual([false, false, false, true, true, true]);
  expect(reused.map(({ tools }) => tools)).toEqual([false, true, false, true, false, true]);
  expect(reused.map(({ messages }) => messages)).toEqual([0, 1, 3, 5, 0, 0]);
});

test("is what the requests have in common, whatever lists are sent", proven, async () => {
  for (let seed = 1; seed <= 10; seed += 1) {
    const chance = createChance(seed);
    const hook: Hook = {
      name: "list",
      beforeLLMCall: ({ messages }) => (chance.oneIn(2) ? undefined : { messages: createRandomList(messages, chance) }),
    };
    const script = Array.from({ length: 12 }, (_, n) => (n % 5 === 4 ? { text: "Done." } : call(n)));
    const { reused, store } = await traced({ hooks: [hook] }, script, 2);
    const requests = await collect(modelRequests(store, "s"));
    expect(reused.map(({ messages }) => messages)).toEqual(
      requests.map((one, index) => inCommon(requests[index - 1], one)),
    );
  }
});

function inCommon(before: ModelRequest | undefined, now: ModelRequest): number {
  const texts = (request: ModelRequest | undefined) =>
    (request?.messages ?? []).map((message) => JSON.stringify(message));
  const [one, other] = [texts(before), texts(now)];
  const first = other.findIndex((text, index) => text !== one[index]);
  return first === -1 ? other.length : first;
}
