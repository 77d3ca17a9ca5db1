/**
 * Recorded sessions as an evaluation: first whether today's code still does what the log says, then what another model
 * or prompt makes of the same requests. Nothing runs outside, and nothing is written.
 */
import assert from "node:assert/strict";
import { type Agent, type AnyTool, createAgent, createClient, defineTool, type Json, type Store } from "pawl";
import { openSqliteStore } from "pawl/sqlite";
import { createScriptedModel } from "pawl/testing";

async function* sessionIdsOf(store: Store, agent: string): AsyncGenerator<string> {
  let after: { readonly updatedAt: number; readonly sessionId: string } | undefined;
  do {
    const page = await store.list({ agent, parent: null, limit: 100, ...(after === undefined ? {} : { after }) });
    for (const { sessionId } of page) yield sessionId;
    after = page.at(-1);
  } while (after !== undefined);
}

/** How many sessions go the same way, and where the others first go another way. For your CI. */
async function replayAll(agent: Agent, store: Store, name: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for await (const sessionId of sessionIdsOf(store, name)) {
    const { difference } = await agent.session(sessionId).replay({ prompt: "recorded" });
    const where = difference === null ? "the same" : `${difference.event}: ${difference.path}`;
    counts.set(where, (counts.get(where) ?? 0) + 1);
  }
  return counts;
}

/** What was asked first in a session, what the calls gave, and how the run ended. */
type Recorded = { readonly input: string; readonly calls: readonly Call[]; readonly text: string };
type Call = { readonly name: string; readonly input: Json; readonly output: Json };

async function recordedRun(store: Store, sessionId: string): Promise<Recorded | null> {
  let input: string | null = null;
  const open = new Map<string, { readonly name: string; readonly input: Json }>();
  const calls: Call[] = [];
  for await (const event of createClient({ store }).session(sessionId).events({ follow: false })) {
    if (event.type === "run_started") input = event.input.map(({ parts }) => JSON.stringify(parts)).join();
    if (event.type === "tool_call") open.set(event.callKey, event);
    const call = event.type === "tool_result" ? open.get(event.callKey) : undefined;
    if (event.type === "tool_result" && call !== undefined)
      calls.push({
        name: call.name,
        input: call.input,
        output: event.output.type === "text" ? event.output.text : null,
      });
    if (event.type === "final") return input === null ? null : { input, calls, text: event.result.text };
  }
  return null;
}

/** The tools of the agent, which give what was recorded. A call that nobody has recorded is an error for the model. */
function replayedTools(tools: readonly AnyTool[], { calls }: Recorded): readonly AnyTool[] {
  return tools.map(({ name, description, input }) =>
    defineTool({
      name,
      description,
      input,
      execute(asked: unknown) {
        const found = calls.find((call) => call.name === name && JSON.stringify(call.input) === JSON.stringify(asked));
        if (found === undefined) throw new Error("There is nothing like that.");
        return found.output;
      },
    }),
  );
}

type Score = { readonly sameCalls: number; readonly sameAnswers: number; readonly of: number };

/** Asks the candidate what was asked then. `isGood` judges the answer: a function, or a model of its own. */
async function compare(
  candidate: Agent,
  tools: readonly AnyTool[],
  store: Store,
  isGood: (now: string, then: string) => boolean | Promise<boolean>,
): Promise<Score> {
  const score = { sameCalls: 0, sameAnswers: 0, of: 0 };
  for await (const sessionId of sessionIdsOf(store, "support")) {
    const recorded = await recordedRun(store, sessionId);
    if (recorded === null) continue;
    const asked: string[] = [];
    const agent = candidate.with({
      tools: replayedTools(tools, recorded),
      onToolCall: ({ name, input }) => asked.push(`${name} ${JSON.stringify(input)}`),
    });
    const result = await agent.run(recorded.input);
    const then = recorded.calls.map(({ name, input }) => `${name} ${JSON.stringify(input)}`);
    score.of += 1;
    if (asked.join() === then.join()) score.sameCalls += 1;
    if (await isGood(result.text, recorded.text)) score.sameAnswers += 1;
  }
  return score;
}

// The check: three recorded sessions, in which orders were looked up.
const store = await openSqliteStore({ path: "sessions.db" });
const lookUp = defineTool({
  name: "look_up",
  description: "Looks an order up.",
  input: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
  readOnly: true,
  execute: ({ order }) => `Order ${order} was sent.`,
});
const looksUp = (say: string) =>
  createScriptedModel(({ messages }) => {
    const order = /order (\d+)/.exec(JSON.stringify(messages))?.[1] ?? "";
    const isOver = messages.at(-1)?.role === "tool";
    return isOver ? { text: `${say} ${order}.` } : { calls: [{ name: "look_up", input: { order } }] };
  });
const yesterday = createAgent({ name: "support", model: looksUp("Sent:"), tools: [lookUp], store });
for (const order of ["1041", "1042", "2001"]) await yesterday.run(`Where is order ${order}?`, { sessionId: order });

// Today's code asks a person about orders of the year 2000 series: the replay says where that shows.
assert.deepEqual([...(await replayAll(yesterday, store, "support"))], [["the same", 3]]);
const today = yesterday.with({
  canExecuteTool: ({ input }) => (JSON.stringify(input).includes("20") ? "ask" : "allow"),
});
const counts = await replayAll(today, store, "support");
console.log(Object.fromEntries(counts));
assert.deepEqual(Object.fromEntries(counts), { "the same": 2, "tool_decided: decision.verdict": 1 });

// Another model: the same calls, and an answer in other words.
const candidate = createAgent({ name: "support", model: looksUp("It is on its way:") });
const score = await compare(
  candidate,
  [lookUp],
  store,
  (now, then) => now.match(/\d+/)?.[0] === then.match(/\d+/)?.[0],
);
console.log(score);
assert.deepEqual(score, { sameCalls: 3, sameAnswers: 3, of: 3 });
await store.close();
