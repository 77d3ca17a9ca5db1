/**
 * What the store is asked for one call that needs approval: "refund 5 cents", run in one agent object, answered
 * and finished by another on the same store.
 *
 *     npm run bench -- store-calls [--dist FOLDER]
 *
 * The bench prints the operations in order. A read says how many entries it returned: one that returns none was
 * not needed, and neither was a second `load` with no commit between.
 */
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { table } from "./report.mjs";

const ownBuild = fileURLToPath(new URL("../dist", import.meta.url));

/** Asks for the refund, and ends when it has the result. */
const model = {
  id: "bench",
  async *stream({ messages }) {
    yield { kind: "start" };
    const isOver = messages.at(-1).role === "tool";
    if (isOver) yield { kind: "text-delta", id: "t", text: "5 cents were refunded." };
    else yield { kind: "tool-call", id: "call_1", name: "refund", input: '{"cents":5}' };
    yield { kind: "done", finishReason: { unified: isOver ? "stop" : "tool-calls" }, usage: {} };
  },
};

const refund = {
  name: "refund",
  description: "Pays money back.",
  input: { type: "object", properties: { cents: { type: "number" } } },
  needsApproval: true,
  execute: () => "refunded",
};

/** The same store, and the list of the operations that it was asked for. */
function recorded(store) {
  const calls = [];
  const recording = Object.fromEntries(
    Object.entries(store).map(([name, operation]) => [
      name,
      (...values) => {
        const at = calls.push(name) - 1;
        const result = operation.apply(store, values);
        if (name === "read" || name === "inbox")
          result.then((list) => {
            calls[at] = `${name}(${list.length})`;
          });
        return result;
      },
    ]),
  );
  return { store: recording, take: () => calls.splice(0) };
}

/** What follows a result, such as the end of a lease's watch, happens within a turn. */
const turn = () => new Promise((done) => setTimeout(done, 20));

export async function run({ json, rest }) {
  const { values } = parseArgs({ args: rest, options: { dist: { type: "string", default: ownBuild } } });
  const { createAgent, createMemoryStore } = await import(pathToFileURL(resolve(values.dist, "index.js")).href);
  const { store, take } = recorded(createMemoryStore());
  const open = () => createAgent({ model, tools: [refund], store });
  const parts = {};

  const asked = await open().run("Refund 5 cents.", { sessionId: "s", runId: "r" });
  await turn();
  parts["run until it waits"] = take();
  const session = open().session("s");
  const [approval] = await session.pendingApprovals();
  parts["list what waits"] = take();
  await session.answer(approval.callKey, { type: "approve" });
  parts["answer until committed"] = take();
  await turn();
  parts["finish, by who answered"] = take();
  const ended = await open().run("Refund 5 cents.", { sessionId: "s", runId: "r" });
  await turn();
  parts["ask for the result again"] = take();
  if (asked.status !== "awaiting_human" || ended.status !== "completed")
    throw new Error(`the run is ${asked.status}, then ${ended.status}`);

  if (json) return console.log(JSON.stringify(parts, null, 2));
  const rows = Object.entries(parts).map(([name, calls]) => [name, String(calls.length), calls.join(" ")]);
  console.log(table(["part", "calls", "in order; a read with the number of entries"], rows));
}
