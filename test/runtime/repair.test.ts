/**
 * Calls that a model wrote badly, and what is made of them.
 */
import { describe, expect, test } from "vitest";
import { repairJson } from "../../src/core/data/repair-json.js";
import {
  type AgentOptions,
  createAgent,
  defineTool,
  type ModelDelta,
  type RepairToolCall,
  type StreamItem,
} from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { measureTime } from "../bounds/plain-pass.js";
import { collect } from "../support/agents.js";
import { createWatchedClock } from "../support/clock.js";
import { verifies } from "../verifies.js";

const input = { type: "object", properties: { path: { type: "string" } }, required: ["path"] } as const;

function tools(ran: unknown[]) {
  const tool = (name: string, readOnly: boolean) =>
    defineTool({
      name,
      description: "Works on a file.",
      input,
      readOnly,
      execute(given) {
        ran.push([name, given]);
        return `${name} ran`;
      },
    });
  return [tool("read_file", true), tool("write_file", false)];
}

async function* calling(name: string, text: string): AsyncGenerator<ModelDelta> {
  yield { kind: "tool-call", id: "c1", name, input: text };
  yield { kind: "done", finishReason: { unified: "tool-calls" }, usage: {} };
}

async function play(name: string, text: string, options: Partial<AgentOptions> = {}) {
  const ran: unknown[] = [];
  const model = createScriptedModel([{ deltas: calling(name, text) }, { text: "Done." }]);
  const agent = createAgent({ model, tools: tools(ran), ...options });
  const items: StreamItem[] = await collect(agent.runStream("Go", { sessionId: "s", runId: "r" }));
  const call = items.find((item) => item.type === "tool_call");
  const result = items.find((item) => item.type === "tool_result");
  return { ran, call, result, model, agent, items };
}

const good = '{"path":"a.txt"}';

describe("a name", () => {
  test.each([
    ["Read-File", "read_file"],
    ["readFile", "read_file"],
    ["functions.read_file", "read_file"],
    ["raed_file", "read_file"],
    ["WRITE_FILE", "write_file"],
  ])("%s is taken for %s", verifies("TOOL-16"), async (name, meant) => {
    const { ran, call, model } = await play(name, good);
    expect(ran).toEqual([[meant, { path: "a.txt" }]]);
    expect(call).toMatchObject({
      name: meant,
      repair: { by: "near_name", name: meant, problem: `Unknown tool '${name}'` },
    });
    // The model is shown its own call, with the result under its name.
    const [, asked, answered] = model.requests[1]?.messages ?? [];
    expect(asked?.parts[0]).toMatchObject({ name, toolCallId: "c1" });
    expect(answered?.parts[0]).toMatchObject({ name, output: { type: "text", text: `${meant} ran` } });
  });

  test.each(["wriet_file", "delete_file", "file", "", "x".repeat(5_000)])(
    "%s is taken for nothing",
    verifies("TOOL-16"),
    async (name) => {
      const { ran, result } = await play(name, good);
      expect(ran).toEqual([]);
      expect(result).toMatchObject({ outcome: "error" });
    },
  );

  test(
    "that could be two tools is taken for neither, nor for a tool that this run may not use",
    verifies("TOOL-16"),
    async () => {
      const twins = ["get_pages", "get_paged"].map((name) => ({
        name,
        description: "Gets.",
        input: { type: "object" } as const,
        readOnly: true,
        execute: () => "got",
      }));
      expect((await play("get_pagex", "{}", { tools: twins })).result).toMatchObject({ outcome: "error" });
      const ran: unknown[] = [];
      const model = createScriptedModel([{ deltas: calling("Read_File", good) }, { text: "Done." }]);
      await createAgent({ model, tools: tools(ran) }).run("Go", { activeTools: ["write_file"] });
      expect(ran).toEqual([]);
    },
  );

  test("is approved as what it was taken for", verifies("TOOL-16"), async () => {
    const ran: unknown[] = [];
    const model = createScriptedModel([{ deltas: calling("Write_File", `${good},`.slice(0, -1)) }, { text: "Done." }]);
    const agent = createAgent({
      model,
      tools: tools(ran),
      canExecuteTool: ({ tool }) => (tool.readOnly ? "allow" : "ask"),
    });
    const result = await agent.run("Go", { sessionId: "s" });
    if (result.status !== "awaiting_human") throw new Error("nobody was asked");
    expect(result.approvals).toMatchObject([{ name: "write_file", input: { path: "a.txt" } }]);
    await agent.session("s").answer(result.approvals[0]?.callKey ?? "", { type: "approve" });
    await agent.session("s").resume();
    expect(ran).toEqual([["write_file", { path: "a.txt" }]]);
  });
});

describe("arguments", () => {
  test.each([
    ["in a fence", '```json\n{"path": "a.txt"}\n```'],
    ["with comments", '{ // the file\n "path": /* here */ "a.txt" }'],
    ["with a trailing comma", '{"path": "a.txt", }'],
    ["with all of it", '```\n{"path": "a.txt", // done\n}\n```'],
  ])("%s are mended", verifies("TOOL-16"), async (_name, text) => {
    const { ran, call, agent } = await play("write_file", text);
    expect(ran).toEqual([["write_file", { path: "a.txt" }]]);
    expect(call).toMatchObject({ input: { path: "a.txt" }, repair: { by: "json" } });
    expect(await agent.session("s").replay()).toMatchObject({ difference: null });
  });

  test("that cannot be mended are refused as before", verifies("TOOL-16"), async () => {
    for (const text of ['{"path": "a.txt"', "{'path': 'a.txt'}", '{"path" "a.txt",}', "path = a.txt", "```"]) {
      const { ran, result } = await play("write_file", text);
      expect(ran).toEqual([]);
      expect(JSON.stringify(result)).toContain("The arguments are not valid JSON");
    }
  });

  test("are left alone with null", verifies("TOOL-16"), async () => {
    expect((await play("write_file", '{"path": "a.txt",}', { repairToolCall: null })).ran).toEqual([]);
    expect((await play("Read_File", good, { repairToolCall: null })).ran).toEqual([]);
  });

  test("keep what is in strings", verifies("TOOL-16"), () => {
    expect(repairJson('{"a": "x, } // y /* z */ \\" ```",}')).toBe('{"a": "x, } // y /* z */ \\" ```"}');
    expect(repairJson(good)).toBeUndefined();
    for (const text of ["[,]", "{,}", "[1,,]", '{"a":,}']) expect(() => JSON.parse(repairJson(text) ?? text)).toThrow();
  });

  test("take linear time", verifies("TOOL-16"), () => {
    const hard = [
      "/*".repeat(200_000),
      '"\\'.repeat(200_000),
      ",".repeat(400_000),
      "```".repeat(130_000),
      "//\n".repeat(130_000),
      "/".repeat(400_000),
      "[1,".repeat(130_000),
    ];
    const pass = measureTime(() => {
      for (const text of hard) for (const character of text) if (character === "\u0000") throw new Error("none");
    });
    expect(measureTime(() => hard.map(repairJson))).toBeLessThan(100 * pass + 500);
  });
});

describe("a function of one's own", () => {
  test("is asked about what is left, and told what is wrong", verifies("TOOL-16"), async () => {
    const asked: Parameters<RepairToolCall>[0][] = [];
    const repairToolCall = (request: Parameters<RepairToolCall>[0]) => {
      asked.push(request);
      return request.problem.kind === "unknown_tool" ? { name: "read_file" } : { input: { path: "mended" } };
    };
    const named = await play("cat", good, { repairToolCall });
    expect(named.ran).toEqual([["read_file", { path: "a.txt" }]]);
    expect(named.call).toMatchObject({ repair: { by: "custom", name: "read_file", problem: "Unknown tool 'cat'" } });
    expect((await play("read_file", "{broken", { repairToolCall })).ran).toEqual([["read_file", { path: "mended" }]]);
    expect((await play("read_file", '{"file":"a"}', { repairToolCall })).ran).toEqual([
      ["read_file", { path: "mended" }],
    ]);
    expect(asked.map(({ problem }) => problem.kind)).toEqual(["unknown_tool", "invalid_json", "invalid_input"]);
    expect(asked[2]?.specification?.name).toBe("read_file");
    // What fits needs no function, and neither does what the built-in repairs mend.
    await play("Read_File", '{"path": "a.txt",}', { repairToolCall });
    expect(asked).toHaveLength(3);
    expect(await named.agent.session("s").replay()).toMatchObject({ difference: null });
  });

  test("is asked once, and what it gives is checked", verifies("TOOL-16"), async () => {
    let times = 0;
    const { ran, result } = await play("read_file", "{broken", {
      repairToolCall: () => {
        times += 1;
        return { input: { wrong: true } };
      },
    });
    expect([times, ran]).toEqual([1, []]);
    expect(JSON.stringify(result)).toContain("do not fit the tool's schema");
  });

  test("that fails, or gives what cannot be used, mends nothing and is told", verifies("TOOL-16"), async () => {
    const answers: readonly [() => unknown, string][] = [
      [
        () => {
          throw new Error("no idea");
        },
        "no idea",
      ],
      [() => "read_file", "it may return"],
      [() => ({ nam: "read_file" }), "it has nam"],
      [() => ({ name: "nothing" }), "not the name of a tool of this run"],
    ];
    for (const [repairToolCall, message] of answers) {
      const { ran, items } = await play("cat", good, { repairToolCall: repairToolCall as never });
      expect(ran).toEqual([]);
      const failed = items.flatMap((item) => (item.type === "hook_failed" ? [item] : []));
      expect(failed).toMatchObject([{ name: "repairToolCall" }]);
      expect(failed[0]?.message).toContain(message);
    }
    // A call of a read-only tool does not become one that changes something.
    const { ran } = await play("read_file", '{"file":1}', {
      repairToolCall: () => ({ name: "write_file", input: { path: "a" } }),
    });
    expect(ran).toEqual([]);
  });

  test("that takes more than 10 s mends nothing", verifies("TOOL-16"), async () => {
    const clock = createWatchedClock();
    void clock.waitFor(10_000).then(() => clock.advance(10_000));
    const { ran, items } = await play("cat", good, { clock, repairToolCall: () => new Promise<never>(() => {}) });
    expect(ran).toEqual([]);
    expect(items.find((item) => item.type === "hook_failed")).toMatchObject({
      name: "repairToolCall",
      outcome: "timed_out",
    });
  });
});
