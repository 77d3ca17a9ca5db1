/**
 * Large outputs: Pawl keeps a log of megabytes whole and cuts it for the model. The model finds the one line that
 * matters and reads around it.
 */
import assert from "node:assert/strict";
import { createAgent, createMemoryStore, defineTool, type ModelRequest } from "pawl";
import { createScriptedModel } from "pawl/testing";

const lines = Array.from({ length: 60_000 }, (_, n) =>
  n === 41_234 ? `request ${n}: failed, the disk is full` : `request ${n}: served in ${n % 97} milliseconds`,
);
const readLog = defineTool({
  name: "read_log",
  description: "Reads the server's log.",
  input: { type: "object" },
  readOnly: true,
  execute: () => lines.join("\n"),
});

/** The last message that the model was shown. */
function lastResult({ messages }: Pick<ModelRequest, "messages">): string {
  const message = messages.at(-1);
  const part = message?.role === "tool" ? message.parts[0] : undefined;
  return part?.output.type === "text" ? part.output.text : "";
}

/** A scripted model that replaces a real one: it uses the numbers that it reads in the results. */
let output = 0;
let step = 0;
const model = createScriptedModel((request) => {
  const seen = lastResult(request);
  step += 1;
  switch (step) {
    case 1:
      return { calls: [{ name: "read_log" }] };
    case 2:
      output = Number(/kept as output (\d+)/.exec(seen)?.[1]);
      return { calls: [{ name: "search_output", input: { output, text: "failed" } }] };
    case 3: {
      const line = Number(/line (\d+): request/.exec(seen)?.[1]);
      return { calls: [{ name: "read_output", input: { output, fromLine: line - 1, toLine: line + 1 } }] };
    }
    default:
      return { text: seen };
  }
});
const store = createMemoryStore();
const agent = createAgent({ model, tools: [readLog], store });

const result = await agent.run("Why did a request fail?", { sessionId: "s" });
console.log(result.text);
assert.deepEqual(result.text?.split("\n").slice(1, 4), lines.slice(41_233, 41_236));

// The model was shown the first and the last lines, and a note on the part that was left out.
const shown = model.requests[1] === undefined ? "" : lastResult(model.requests[1]);
assert.ok(shown.length < 52_000);
assert.ok(shown.startsWith(`${lines[0]}\n`) && shown.includes(`\n${lines.at(-1)}\n`));
assert.match(shown, /left out here: lines \d+ to \d+ of 60000/);

// The whole output is in the store, byte for byte, and is deleted with its session.
const [entry] = await store.read("s", output - 1, 1);
assert.ok(entry?.event.type === "tool_finished" && entry.event.output?.type === "text");
const hash = entry.event.output.full?.blob ?? "";
const whole = await store.getBlob("s", hash);
assert.equal(Buffer.from(whole ?? []).toString(), lines.join("\n"));
await store.delete("s", { now: Date.now() });
assert.equal(await store.getBlob("s", hash), null);
