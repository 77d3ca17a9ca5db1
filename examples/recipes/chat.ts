/**
 * A chat of several turns: the session is the conversation, and each message of the customer is a run in it.
 */
import assert from "node:assert/strict";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Agent, createAgent, defineTool } from "pawl";
import { openSqliteStore } from "pawl/sqlite";
import { createScriptedModel, killTest } from "pawl/testing";

type Message = { readonly chatId: string; readonly messageId: string; readonly text: string };

/**
 * Answers one message. The id of the message is the id of the run: a client that sends it again, because it got no
 * answer, gets the answer of the same run.
 */
async function reply(agent: Agent, message: Message, onText: (text: string) => void = () => {}): Promise<string> {
  const { chatId: sessionId, messageId: runId, text } = message;
  const run = agent.runStream(text, { sessionId, runId });
  for await (const item of run) if (item.type === "delta" && item.delta.kind === "text-delta") onText(item.delta.text);
  const result = await run.result;
  switch (result.status) {
    case "completed":
      return result.text;
    case "awaiting_human":
      return "A colleague has to look at this first. You will get an answer here.";
    case "waiting":
      return "This goes on later by itself. You will get an answer here.";
    case "interrupted":
      return "Please send that again.";
    case "failed":
    case "aborted":
      return `That did not work (${result.reason}).`; // the next message works
  }
}

/** What a page shows when it is opened: who said what, from the log. */
async function conversation(agent: Agent, chatId: string): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const { role, parts } of await agent.session(chatId).messages())
    for (const part of parts) if (role !== "tool" && part.type === "text") lines.push(`${role}: ${part.text}`);
  return lines;
}

// The program: it answers the messages of a chat. Your web server does the same, one message at a time.
const messages: readonly Message[] = [
  { chatId: "chat-1", messageId: "m-1", text: "I am Ada. I would like two lamps." },
  { chatId: "chat-1", messageId: "m-2", text: "One more, please." },
  { chatId: "chat-1", messageId: "m-3", text: "Who am I, and how many lamps do I get?" },
];

async function serve(): Promise<void> {
  const order = defineTool({
    name: "order",
    description: "Adds lamps to the customer's order.",
    input: { type: "object", properties: { lamps: { type: "integer" } }, required: ["lamps"] },
    recover: "rerun",
    execute({ lamps }, { idempotencyKey }) {
      const line = `${idempotencyKey} ${lamps}\n`; // the shop takes each key once
      const orders = existsSync("orders.txt") ? readFileSync("orders.txt", "utf8") : "";
      if (!orders.includes(line)) appendFileSync("orders.txt", line);
      return `${lamps} ordered`;
    },
  });
  const store = await openSqliteStore({ path: "chats.db" });
  const agent = createAgent({ name: "shop", model: shopModel(), tools: [order], store });
  for (const message of messages) console.log(await reply(agent, message));
  console.log(`The page shows ${(await conversation(agent, "chat-1")).length} messages.`);
  await store.close();
}

/** A stand-in that goes by the conversation, so that the program needs no key. */
function shopModel() {
  return createScriptedModel(({ messages }) => {
    const said = JSON.stringify(messages);
    const last = messages.at(-1);
    if (last?.role === "tool") return { text: "It is ordered." };
    const asked = JSON.stringify(last);
    if (asked.includes("two lamps")) return { calls: [{ name: "order", input: { lamps: 2 } }] };
    if (asked.includes("One more")) return { calls: [{ name: "order", input: { lamps: 1 } }] };
    return { text: said.includes("I am Ada") ? "You are Ada, and you get three." : "I do not know." };
  });
}

// The check: the program is killed in its second turn, and started again with the same messages.
if (process.argv[2] === "serve") await serve();
else {
  const report = await killTest({
    script: fileURLToPath(import.meta.url),
    args: ["serve"],
    openStore: (folder) => openSqliteStore({ path: join(folder, "chats.db") }),
    kills: { at: ["after 5"] },
    check({ folder, stdout }) {
      assert.match(stdout, /^It is ordered\.\nIt is ordered\.\nYou are Ada, and you get three\.\nThe page shows 6/);
      assert.equal(readFileSync(join(folder, "orders.txt"), "utf8").trim().split("\n").length, 2);
    },
  });
  assert.equal(report.kills, 1);
  console.log("Killed in the second turn, started again: three answers, and three lamps.");
}
