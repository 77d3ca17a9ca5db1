/**
 * Old results that are left out of what a model sees, whatever the tools give and however much is to be seen.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { appendEntry, createTranscript, textOfOutput } from "../../src/core/index.js";
import { trimMessages } from "../../src/core/transcript/trim-results.js";
import {
  createAgent,
  createMemoryStore,
  defineTool,
  type Json,
  type Message,
  type Store,
  type ToolResultPart,
} from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { verifies } from "../verifies.js";

/** What a tool is asked for: so much, in one of these ways. */
type Wanted = { readonly bytes: number; readonly kind: "lines" | "one line" | "Chinese" | "json" };

/** Nothing is compacted: what is left out here is left out for its bytes alone. */
const window = { contextWindow: 10_000_000 };

type World = { readonly steps: readonly (readonly Wanted[])[]; readonly budget: number };

/** No result below it is left out, as a note in its place saves nothing. */
const least = 400;

const wanted: fc.Arbitrary<Wanted> = fc.record({
  bytes: fc.oneof(fc.integer({ min: 0, max: 1_000 }), fc.integer({ min: 0, max: 12_000 })),
  kind: fc.constantFrom("lines", "one line", "Chinese", "json"),
});
const world: fc.Arbitrary<World> = fc.record({
  steps: fc.array(fc.array(wanted, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 9 }),
  budget: fc.integer({ min: 1, max: 30_000 }),
});

/** Different for each call, so that nothing can be mistaken for another. */
function make(name: string, { bytes, kind }: Wanted): Json {
  switch (kind) {
    case "lines":
      return `${name}\n`.repeat(Math.ceil(bytes / (name.length + 1)));
    case "one line":
      return name.repeat(Math.ceil(bytes / name.length));
    case "Chinese":
      return `${name}数据🎉`.repeat(Math.ceil(bytes / (name.length + 10)));
    case "json":
      return { name, values: Array.from({ length: Math.ceil(bytes / 4) }, () => 100) };
  }
}

const textOfJson = (value: Json) => (typeof value === "string" ? value : JSON.stringify(value));

type Played = { readonly store: Store; readonly requests: readonly (readonly Message[])[]; readonly given: Given };

/** What the tool gave, by the name that the call had. */
type Given = ReadonlyMap<string, string>;

async function play({ steps, budget }: World): Promise<Played> {
  const given = new Map<string, string>();
  const give = defineTool({
    name: "give",
    description: "Gives.",
    input: { type: "object" },
    readOnly: true,
    execute({ name, step, call }) {
      const asked = steps[Number(step)]?.[Number(call)];
      if (asked === undefined) throw new Error("Nobody asked for it.");
      const value = make(String(name), asked);
      given.set(String(name), textOfJson(value));
      return value;
    },
  });
  const model = createScriptedModel(
    [
      ...steps.map((calls, step) => ({
        calls: calls.map((_, call) => ({ name: "give", input: { name: `<${step}/${call}>`, step, call } })),
      })),
      { text: "Done." },
    ],
    window,
  );
  const store = createMemoryStore();
  const toolOutput = { maxBytes: 6_000, maxTotalBytes: budget };
  const result = await createAgent({ model, tools: [give], store, toolOutput }).run("Go", { sessionId: "s" });
  expect(result).toMatchObject({ status: "completed", text: "Done." });
  return { store, requests: model.requests.map(({ messages }) => messages), given };
}

const resultsIn = (messages: readonly Message[]): readonly ToolResultPart[] =>
  messages.flatMap((message) => (message.role === "tool" ? message.parts : []));
const note = /^\[This result, of \d+ bytes, is left out here by now\. It is kept as output (\d+): /;
const isLeftOut = ({ output }: ToolResultPart) => output.type === "text" && note.test(output.text);
const sizeOf = ({ output }: ToolResultPart) => Buffer.byteLength(textOfOutput(output));

/** Each call has its result, in the order of the calls, right after the message that makes them. */
function expectPaired(messages: readonly Message[]): void {
  for (const [index, message] of messages.entries()) {
    if (message.role !== "assistant") continue;
    const calls = message.parts.flatMap((part) => (part.type === "tool_call" ? [part.toolCallId] : []));
    const next = messages[index + 1];
    const results = next?.role === "tool" ? next.parts.map(({ toolCallId }) => toolCallId) : [];
    expect(results).toEqual(calls);
  }
}

/** Looks at the requests of a run in order: what was shown when it came, and what is left out since. */
function expectTrimmed(requests: Played["requests"], budget: number): ReadonlySet<string> {
  const sizes = new Map<string, number>();
  let leftBefore: ReadonlySet<string> = new Set();
  for (const messages of requests) {
    expectPaired(messages);
    const last = messages.at(-1);
    const latest = last?.role === "tool" ? last.parts : [];
    expect(latest.filter(isLeftOut)).toEqual([]);
    for (const part of latest) sizes.set(part.toolCallId, sizeOf(part));

    const large = resultsIn(messages).filter(({ toolCallId }) => (sizes.get(toolCallId) ?? 0) >= least);
    const flags = resultsIn(messages).filter(isLeftOut);
    const left = new Set(flags.map(({ toolCallId }) => toolCallId));
    // Oldest first, nothing small, and what is left out stays so.
    expect([...left]).toEqual(large.slice(0, left.size).map(({ toolCallId }) => toolCallId));
    expect([...leftBefore].filter((id) => !left.has(id))).toEqual([]);

    const total = (ids: readonly ToolResultPart[]) =>
      ids.reduce((sum, { toolCallId }) => sum + (sizes.get(toolCallId) ?? 0), 0);
    const shown = large.filter((part) => !left.has(part.toolCallId));
    const old = shown.filter((part) => !latest.includes(part));
    // The budget holds, or nothing is left that could be left out.
    expect(total(shown) <= budget || old.length === 0).toBe(true);
    // It changes only where the budget was passed, and then goes down to half of it.
    if (left.size > leftBefore.size) {
      expect(total(large.filter(({ toolCallId }) => !leftBefore.has(toolCallId)))).toBeGreaterThan(budget);
      expect(total(shown) <= budget / 2 || old.length === 0).toBe(true);
    }
    leftBefore = left;
  }
  return leftBefore;
}

/** What the log alone says that a model is shown now. */
async function viewOf(store: Store): Promise<readonly Message[]> {
  const transcript = createTranscript();
  for (const entry of await store.read("s")) appendEntry(transcript, entry);
  return trimMessages(transcript);
}

/** What `read_output` gives for each output. */
async function readAll(store: Store, outputs: readonly number[]): Promise<readonly string[]> {
  const model = createScriptedModel(
    [{ calls: outputs.map((output) => ({ name: "read_output", input: { output } })) }, { text: "Read." }],
    window,
  );
  const agent = createAgent({ model, tools: [idle], store, toolOutput: { maxBytes: 100_000 } });
  expect(await agent.run("Read", { sessionId: "s" })).toMatchObject({ text: "Read." });
  const last = model.requests[1]?.messages.at(-1);
  return last?.role === "tool" ? last.parts.map(({ output }) => textOfOutput(output)) : [];
}

const idle = defineTool({ name: "idle", description: "Does nothing.", input: { type: "object" }, execute: () => "" });

test("old results go oldest first, each call keeps one, and all can still be read", verifies("CTX-8"), async () => {
  await fc.assert(
    fc.asyncProperty(world, async (one) => {
      const { store, requests, given } = await play(one);
      const left = expectTrimmed(requests, one.budget);
      const last = requests.at(-1) ?? [];
      expect((await viewOf(store)).slice(0, last.length)).toEqual(last);
      expect(await store.verify("s")).toEqual([]);

      const parts = resultsIn(last).filter(({ toolCallId }) => left.has(toolCallId));
      const outputs = parts.map(({ output }) => Number(note.exec(textOfOutput(output))?.[1]));
      if (outputs.length === 0) return;
      const names = new Map(
        last
          .flatMap((message) => (message.role === "assistant" ? message.parts : []))
          .flatMap((part) => (part.type === "tool_call" ? [[part.toolCallId, String(Object(part.input).name)]] : [])),
      );
      const texts = (await readAll(store, outputs)).map((text) => text.slice(text.indexOf("\n") + 1));
      expect(texts).toEqual(parts.map(({ toolCallId }) => given.get(names.get(toolCallId) ?? "")));
    }),
    { numRuns: 40 },
  );
});
