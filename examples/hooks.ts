/**
 * Three hooks: the first masks secrets before anything is kept, the second guards a folder, the third checks that
 * the work is done.
 */
import assert from "node:assert/strict";
import { createAgent, createMemoryStore, createRedaction, defineTool, type Hook, redactOutput } from "pawl";
import { createScriptedModel } from "pawl/testing";

const readFile = defineTool({
  name: "read_file",
  description: "Reads a file.",
  input: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  readOnly: true,
  execute: ({ path }) => ({ path: String(path), lines: ["token=sk-live-123", "nothing else"] }),
});

const redact = createRedaction({ values: ["sk-live-123"] });
const mask: Hook = {
  name: "mask",
  // A hook that throws would let the output pass.
  onFailure: "closed",
  afterToolCall: ({ output }) => ({ output: redactOutput(output, redact) }),
};
const guard: Hook = {
  name: "guard",
  beforeToolCall: ({ input }) =>
    JSON.stringify(input).includes("/etc/") ? { block: "only the project's files may be read" } : undefined,
};
const checklist: Hook = {
  name: "checklist",
  beforeStop: ({ stopPreventions }) =>
    stopPreventions === 0 ? { message: "Before you stop: say what you could not read." } : undefined,
};

const model = createScriptedModel([
  {
    calls: [
      { name: "read_file", input: { path: "notes.txt" } },
      { name: "read_file", input: { path: "/etc/passwd" } },
    ],
  },
  { text: "I have read the notes." },
  { text: "I could not read /etc/passwd." },
]);
const store = createMemoryStore();
const agent = createAgent({ model, tools: [readFile], hooks: [mask, guard, checklist], store });

const result = await agent.run("Read notes.txt and /etc/passwd.", { sessionId: "s" });
console.log(result.text);
assert.equal(result.text, "I could not read /etc/passwd.");
const log = JSON.stringify(await store.read("s", 0, 1_000));
assert.ok(log.includes("token=[redacted]") && !log.includes("sk-live"));
assert.ok(log.includes("only the project's files may be read"));
