/**
 * A conversation goes over to a person, and comes back. While the person has it, the agent holds nothing, and what the
 * customer writes goes to the person.
 */
import assert from "node:assert/strict";
import { type Agent, createAgent, createClient, defineTool, type PendingApproval, type Store } from "pawl";
import { openSqliteStore } from "pawl/sqlite";
import { createScriptedModel } from "pawl/testing";

/** Without `execute`, the call waits until somebody gives its result: for a minute or for a week. */
const handOver = defineTool({
  name: "hand_over",
  description: "Hands the conversation over to a colleague. Use it if the customer asks for a person, or is angry.",
  input: {
    type: "object",
    properties: { summary: { type: "string", description: "What the colleague has to know." } },
    required: ["summary"],
  },
});

/** The program in which your colleagues talk with customers. It keeps what it is given. */
type Desk = {
  readonly open: (sessionId: string, summary: string) => Promise<void>;
  readonly add: (sessionId: string, text: string) => Promise<void>;
};

type Answered = { readonly by: "agent"; readonly text: string } | { readonly by: "colleague" };

/** Where each message of a customer goes in. */
async function receive(agent: Agent, desk: Desk, sessionId: string, text: string): Promise<Answered> {
  if ((await openHandOver(agent.options.store, sessionId)) !== undefined) {
    await desk.add(sessionId, text);
    return { by: "colleague" };
  }
  const result = await agent.run(text, { sessionId });
  if (result.status !== "awaiting_human") return { by: "agent", text: result.text };
  await openTickets(agent.options.store, desk, sessionId);
  return { by: "colleague" };
}

async function openHandOver(store: Store | undefined, sessionId: string): Promise<PendingApproval | undefined> {
  if (store === undefined || (await store.describe(sessionId)) === null) return undefined;
  const waiting = await createClient({ store }).session(sessionId).pendingApprovals();
  return waiting.find(({ name }) => name === handOver.name);
}

/** Opens the ticket. After a crash in between it is opened again, so the desk goes by the id of the session. */
async function openTickets(store: Store | undefined, desk: Desk, sessionId: string): Promise<void> {
  const input = (await openHandOver(store, sessionId))?.input;
  if (input !== null && typeof input === "object" && "summary" in input)
    await desk.open(sessionId, String(input.summary));
}

/** The colleague is done. What was said is the result of the call, so the agent knows it. */
async function giveBack(store: Store, sessionId: string, said: readonly string[]): Promise<"first" | "second"> {
  const call = await openHandOver(store, sessionId);
  if (call === undefined) return "second"; // somebody else has given it back
  return createClient({ store }).session(sessionId).provideResult(call.callKey, { conversation: said });
}

// The service, and a desk that is a list.
const store = await openSqliteStore({ path: "sessions.db" });
const createService = () =>
  createAgent({
    name: "support",
    model: createScriptedModel(({ messages }) => {
      const last = JSON.stringify(messages.at(-1));
      if (last.includes("person"))
        return { calls: [{ name: "hand_over", input: { summary: "Wants her money back." } }] };
      return { text: last.includes("20 euros") ? "My colleague has refunded 20 euros." : "How can I help?" };
    }),
    tools: [handOver],
    store,
  });
const tickets = new Map<string, string[]>();
const desk: Desk = {
  async open(sessionId, summary) {
    if (!tickets.has(sessionId)) tickets.set(sessionId, [`agent: ${summary}`]);
  },
  async add(sessionId, text) {
    tickets.get(sessionId)?.push(`customer: ${text}`);
  },
};

// The check: the process ends while the colleague has the conversation.
const first = createService();
assert.deepEqual(await receive(first, desk, "ada", "Hello"), { by: "agent", text: "How can I help?" });
assert.deepEqual(await receive(first, desk, "ada", "I want a person!"), { by: "colleague" });
await first.shutdown();

const second = createService();
assert.deepEqual(await receive(second, desk, "ada", "My lamp is broken."), { by: "colleague" });
const ticket = tickets.get("ada") ?? [];
assert.deepEqual(ticket, ["agent: Wants her money back.", "customer: My lamp is broken."]);
ticket.push("colleague: I refund 20 euros.");
assert.equal(await giveBack(store, "ada", ticket), "first");
assert.equal(await giveBack(store, "ada", ticket), "second");

// A worker carries the session on, and so does the next process that asks for it.
const result = await second.session("ada").resume();
assert.equal(result.text, "My colleague has refunded 20 euros.");
assert.deepEqual(await receive(second, desk, "ada", "Thanks"), { by: "agent", text: "How can I help?" });
console.log(result.text);
await store.close();
