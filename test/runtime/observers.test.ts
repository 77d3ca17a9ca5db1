/**
 * Observers: they are told of everything, in order and off the loop's path, and can change nothing.
 */
import { describe, expect, test } from "vitest";
import {
  type AgentOptions,
  createAgent,
  createMemoryStore,
  defineTool,
  type MessageDelta,
  type Model,
  type Observer,
  type Store,
  type StreamItem,
} from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { settled } from "../../src/testing/test-clock.js";
import { collect, createDeferred, createEchoTool, listEventTypes } from "../support/agents.js";
import { verifies } from "../verifies.js";

const script = [{ calls: [{ name: "echo", input: { n: 1 } }] }, { text: "Done." }];
const never = () => new Promise<never>(() => {});

function start(observers: readonly Observer[], more: Partial<AgentOptions> = {}) {
  const model = createScriptedModel(script);
  const agent = createAgent({ model, tools: [createEchoTool().tool], observers, ...more });
  return agent.runStream("Go", { sessionId: "s" });
}

describe("observers", () => {
  test("get every committed event and every delta, in order", verifies("HOOK-5"), async () => {
    const seen: string[] = [];
    const deltas: MessageDelta[] = [];
    const run = start([
      { onEvent: ({ type }) => void seen.push(type), onDelta: (delta) => void deltas.push(delta) },
      { onDelta: never },
    ]);
    const items = await collect<StreamItem>(run);
    expect(seen).toEqual(listEventTypes(items));
    expect(deltas).toEqual(items.flatMap((item) => (item.type === "delta" ? [item.delta] : [])));
  });

  test("are told when the loop has gone on: a call has begun by then", verifies("HOOK-5"), async () => {
    const order: string[] = [];
    const echo = defineTool({
      name: "echo",
      description: "Says that it runs.",
      input: { type: "object" },
      async execute() {
        order.push("the call runs");
        await settled();
        return "ok";
      },
    });
    const slow: Observer = {
      onEvent({ type }) {
        if (type === "call_start") order.push("an observer is told");
      },
    };
    await start([slow], { tools: [echo] }).result;
    expect(order).toEqual(["the call runs", "an observer is told"]);
  });

  test("have been told of everything when the result is there", verifies("HOOK-5"), async () => {
    const seen: string[] = [];
    const observer: Observer = { onEvent: ({ type }) => void seen.push(type) };
    await start([observer]).result;
    expect(seen.at(-1)).toBe("final");
    const asking = start([observer], { canExecuteTool: () => "ask" });
    expect((await asking.result).status).toBe("awaiting_human");
    expect(seen.at(-1)).toBe("suspended");
  });

  test("that hang, throw or reject hold nothing up, beside others that watch", verifies("HOOK-5"), async () => {
    const warnings: string[] = [];
    const onWarning = ({ message }: Error) => void warnings.push(message);
    process.on("warning", onWarning);
    const seen: string[] = [];
    const run = start([
      { name: "hangs", onEvent: never, onDelta: never },
      {
        name: "throws",
        onEvent({ type }) {
          if (type === "final") throw new Error("no more paper");
        },
      },
      { name: "rejects", onEvent: async ({ type }) => (type === "final" ? Promise.reject(new Error("no ink")) : null) },
      { onEvent: ({ type }) => void seen.push(type) },
    ]);
    const items = await collect<StreamItem>(run);
    expect(await run.result).toMatchObject({ status: "completed", text: "Done." });
    expect(seen).toEqual(listEventTypes(items));
    await expect
      .poll(() => warnings.join("\n"))
      .toMatch(/throws failed \(no more paper\)[\s\S]*rejects failed \(no ink\)/);
    process.off("warning", onWarning);
  });

  test("can change nothing: what they get is frozen", verifies("HOOK-5"), async () => {
    const spoiling: Observer = {
      onEvent(event) {
        if (event.type === "tool_result") (event.output as { text: string }).text = "spoilt";
      },
      onDelta(delta) {
        if (delta.kind === "text-delta") (delta as { text: string }).text = "spoilt";
      },
    };
    const seen: unknown[] = [];
    const run = start([
      spoiling,
      { onEvent: (event) => void seen.push(event), onDelta: (delta) => void seen.push(delta) },
    ]);
    const items = await collect<StreamItem>(run);
    for (const told of [items, seen]) expect(JSON.stringify(told)).not.toContain("spoilt");
  });

  test("learn of nothing before it is kept", verifies("HOOK-5"), async () => {
    const inner = createMemoryStore();
    const held = createDeferred();
    const waits = createDeferred();
    let commits = 0;
    const store: Store = {
      ...inner,
      async commit(lease, commit) {
        commits += 1;
        if (commits === 2) {
          waits.resolve();
          await held.promise;
        }
        return inner.commit(lease, commit);
      },
    };
    const seen: string[] = [];
    const run = start([{ onEvent: ({ type }) => void seen.push(type) }], { store });
    await waits.promise;
    await settled();
    expect(seen).toEqual(["session_created", "run_started"]);
    held.resolve();
    expect((await run.result).status).toBe("completed");
  });

  test("are not left far behind by a loop that never rests", verifies("HOOK-5"), async () => {
    const many = 5_000;
    let told = 0;
    let mostUntold = 0;
    const model: Model = {
      id: "m",
      async *stream() {
        yield { kind: "start" };
        for (let count = 1; count <= many; count += 1) {
          yield { kind: "text-delta", id: "t", text: "." };
          mostUntold = Math.max(mostUntold, count - told);
        }
        yield { kind: "done", finishReason: { unified: "stop" }, usage: {} };
      },
    };
    const observer: Observer = {
      onDelta({ kind }) {
        if (kind === "text-delta") told += 1;
      },
    };
    await start([observer], { model }).result;
    expect(told).toBe(many);
    expect(mostUntold).toBeLessThan(1_100);
  });
});
