/**
 * A tool below a run that asks a person and goes on running, as a server of the older MCP protocol makes it: the question
 * is in every list, and it is answered through whoever shows it.
 */
import { describe, expect, test } from "vitest";
import {
  createAgent,
  createClient,
  createMemoryStore,
  defineTool,
  pendingApprovals,
  type StreamItem,
} from "../../src/index.js";
import { traceSession } from "../../src/inspect.js";
import { markHeld } from "../../src/ports/held-question.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { collect, filterEvents, filterEventsOfType, listEventTypes } from "../support/agents.js";
import { verifies } from "../verifies.js";
import { waitUntil } from "./tree.js";

const elicit = defineTool({
  name: "elicit",
  description: "Asks while it runs.",
  input: { type: "object" },
  async execute(_input, { ask }) {
    const said = await ask(markHeld({ name: "account", message: "Which account?", schema: { type: "string" } }));
    return said.type === "answered" ? `from ${String(said.value)}` : said.type;
  },
});

function family(depth: number) {
  const store = createMemoryStore();
  let agent = createAgent({
    name: "payer",
    model: createScriptedModel([{ calls: [{ name: "elicit" }] }, { text: "Paid." }]),
    tools: [elicit],
    store,
  });
  for (let level = 1; level <= depth; level += 1) {
    const { name = "" } = agent.options;
    agent = createAgent({
      name: `boss-${level}`,
      model: createScriptedModel([{ calls: [{ name, input: { task: "Pay." } }] }, { text: "All is paid." }]),
      tools: [agent.asTool({ description: "Pays." })],
      store,
    });
  }
  return { agent, store };
}

describe("a question of a tool that goes on running, below a run", verifies("AGENT-2", "TOOL-13"), () => {
  test.for([1, 2])("is listed by the run, and answered there, at depth %i", async (depth) => {
    const { agent, store } = family(depth);
    const stream = agent.runStream("Go.", { sessionId: "p" });
    const items: StreamItem[] = [];
    const reading = (async () => {
      for await (const item of stream) items.push(item);
    })();
    const session = agent.session("p");
    await waitUntil(async () => (await session.pendingApprovals()).length > 0);
    const question = { name: "elicit", why: "tool", questionId: "account", question: "Which account?" };
    expect(await session.pendingApprovals()).toMatchObject([question]);
    const client = createClient({ store }).session("p");
    expect(await client.pendingApprovals()).toMatchObject([question]);
    const all = [];
    for await (const one of pendingApprovals(store)) all.push(one);
    expect(all).toMatchObject([{ ...question, session: { agent: "payer" } }]);
    await waitUntil(async () => items.some(({ type }) => type === "approval_requested"));
    expect(listEventTypes(items)).not.toContain("suspended");
    const [{ callKey } = { callKey: "" }] = await session.pendingApprovals();
    expect(filterEventsOfType(items, "approval_requested")).toMatchObject([
      { ...question, callKey, childId: expect.any(String) },
    ]);
    expect(await client.answer(callKey, { type: "reply", value: "DE02" }, { by: "Ada" })).toBe("first");
    expect(await client.pendingApprovals()).toEqual([]);
    expect(await stream.result).toMatchObject({ status: "completed", text: "All is paid." });
    await reading;
    // Whoever reads the log later sees the same.
    expect(await collect(session.events({ follow: false }))).toEqual(filterEvents(items));
    const asked = filterEventsOfType(items, "approval_requested")[0]?.childId ?? "";
    const calls = (await traceSession(store, asked)).flatMap((span) => (span.type === "step" ? span.calls : []));
    expect(calls).toMatchObject([{ name: "elicit", waits: [{ for: "person", by: "Ada" }] }]);
  });
});
