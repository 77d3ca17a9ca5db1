/**
 * An MCP server asks a person during a call. The published server of this example speaks protocol 2025-11-25: it holds its
 * request open, so the run goes on, and the question comes as an event.
 */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { createAgent } from "pawl";
import { createScriptedModel } from "pawl/testing";
import { connectMcpServer } from "pawl/tools/mcp";

const program = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/dist/index.js");
const server = await connectMcpServer({
  name: "office",
  transport: { type: "stdio", command: process.execPath, args: [program] },
  trust: "all",
  answerTimeoutMs: 60_000,
});

const model = createScriptedModel([
  { calls: [{ name: "office_trigger-elicitation-request" }] },
  { text: "Thank you." },
]);
const agent = createAgent({ model, tools: server.tools });
const session = agent.session("visit");
const run = agent.run("Register the visitor.", { sessionId: session.id });

for await (const event of session.events({ after: 0 })) {
  if (event.type === "final") break;
  if (event.type !== "approval_requested" || event.questionId === undefined) continue;
  console.log(event.question);
  console.log("wanted:", Object.keys(event.schema?.properties ?? {}).join(", "));
  // A program that serves people shows the question, and posts their answer here, or from another process.
  const { callKey, questionId } = event;
  await session.answer(callKey, { type: "reply", value: { name: "Ada" } }, { questionId, by: "reception" });
}

const result = await run;
assert.equal(result.status, "completed");
assert.match(JSON.stringify(model.requests.at(-1)?.messages), /Ada/);
await server.close();
