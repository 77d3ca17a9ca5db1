/**
 * `toModelOutput` of a tool: the model reads what it makes, and what the tool returned is kept for people, hooks and the log.
 */
import { tool as aiTool } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  type AgentOptions,
  createAgent,
  createClient,
  createMemoryStore,
  defineTool,
  type Hook,
  type HookSubject,
  type PublicEvent,
  redactOutput,
  type Store,
  type Tool,
} from "../../src/index.js";
import { traceSession } from "../../src/inspect.js";
import { crashTest } from "../../src/testing/crash-test.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { withServer } from "../server/rig.js";
import { collect, createDeferred, filterEventsOfType } from "../support/agents.js";
import { localStores, withStore } from "../support/stores.js";
import { exportToText, importText } from "../transfer/transfer.js";
import { verifies } from "../verifies.js";

const proven = verifies("TOOL-1#ai-sdk", "TOOL-9");
const rows = [
  { id: 1, name: "Ada", key: "hunter2-the-key" },
  { id: 2, name: "Bo", key: "hunter2-other" },
];
const secret = "hunter2-the-key";
const id = { sessionId: "s", runId: "r" } as const;

type Shown = { readonly output: unknown };

/** The two ways to make such a tool. */
const kinds = {
  "a tool of the AI SDK": (execute: () => unknown, text: (output: never) => string) => ({
    rows: aiTool({
      inputSchema: z.object({}),
      execute,
      toModelOutput: ({ output }: Shown) => ({ type: "text", value: text(output as never) }),
    } as never),
  }),
  defineTool: (execute: () => unknown, text: (output: never) => string) => ({
    rows: rowsTool({ execute, toModelOutput: ({ output }) => text(output as never) }),
  }),
};

function rowsTool(more: Partial<Tool>): Tool {
  return defineTool({ name: "rows", description: "Finds rows.", input: { type: "object" }, ...more });
}

const counting = (found: readonly unknown[]) => `${found.length} rows`;

function agentWith(tools: NonNullable<AgentOptions["tools"]>, more: Partial<AgentOptions> = {}) {
  const answers = [{ calls: [{ name: "rows", input: {} }] }, { text: "Done." }];
  const model = createScriptedModel(({ modelCallIndex }) => answers[modelCallIndex - 1]);
  return { model, agent: createAgent({ model, tools, ...more }) };
}

const one = (more: Partial<Tool>) => [rowsTool(more)];

async function resultIn(session: {
  readonly events: (options: { follow: false; live: false }) => AsyncIterable<unknown>;
}) {
  const events = (await collect(session.events({ follow: false, live: false }))) as PublicEvent[];
  const [result] = filterEventsOfType(events, "tool_result");
  if (result === undefined) throw new Error("The call has no result.");
  return result;
}

async function bytesOf(store: Store, output: unknown): Promise<string> {
  const { blob } = (output as { readonly full: { readonly blob: string } }).full;
  return Buffer.from((await store.getBlob("s", blob)) ?? []).toString();
}

describe.each(localStores)("on $name", ({ open }) => {
  describe.each(Object.entries(kinds))("%s", (_, make) => {
    test("keeps what it returned beside what the model reads", proven, async () => {
      await withStore(open, async (store) => {
        const heard: unknown[] = [];
        const { agent, model } = agentWith(
          make(() => rows, counting),
          { store, onToolResult: ({ output, returned }) => void heard.push({ output, returned }) },
        );
        expect(await agent.run("Go", id)).toMatchObject({ status: "completed" });
        const both = { output: { type: "text", text: "2 rows" }, returned: { type: "json", value: rows } };
        expect(heard).toEqual([both]);
        expect(await resultIn(agent.session("s"))).toMatchObject({ outcome: "ok", ...both });
        const entries = await store.read("s");
        expect(entries.map(({ event }) => event)).toContainEqual(
          expect.objectContaining({ type: "tool_finished", ...both }),
        );
        // The model reads its own output, and nothing else.
        expect(JSON.stringify(model.requests)).toContain("2 rows");
        expect(JSON.stringify([model.requests, await agent.session("s").messages()])).not.toContain("Ada");
        expect(await agent.session("s").replay()).toMatchObject({ difference: null });
      });
    });
  });

  test(
    "a large value is cut, whole in a blob, and goes with forks and exports, but not to read_output",
    proven,
    async () => {
      await withStore(open, async (store) => {
        const large = `${`${secret} line\n`.repeat(4_000)}the end`;
        const calls = [
          { calls: [{ name: "rows", input: {} }] },
          { calls: [{ name: "read_output", input: { output: 6 } }] },
          { text: "Done." },
        ];
        const model = createScriptedModel(({ modelCallIndex }) => calls[modelCallIndex - 1]);
        const output = "x".repeat(60_000);
        const agent = createAgent({ model, store, tools: one({ execute: () => large, toModelOutput: () => output }) });
        await agent.run("Go", id);
        const session = agent.session("s");
        const result = await resultIn(session);
        expect(result.seq).toBe(6);
        const { returned } = result;
        expect(returned).toMatchObject({ type: "text", full: { bytes: large.length, lines: 4_001 } });
        expect(JSON.stringify(returned).length).toBeLessThan(60_000);
        expect(JSON.stringify(returned)).toContain("left out here");
        expect(await bytesOf(store, returned)).toBe(large);
        expect(await bytesOf(store, result.output)).toBe(output);
        expect(JSON.stringify(model.requests[2]?.messages)).toContain("(output 6, lines 1 to 1 of 1, bytes 0 to");
        expect(JSON.stringify(model.requests)).not.toContain(secret);
        expect(await store.verify()).toEqual([]);

        const forked = await session.fork({ sessionId: "f" });
        expect((await resultIn(forked)).returned).toEqual(returned);
        expect(await store.verify()).toEqual([]);
        const other = createMemoryStore();
        await importText(other, await exportToText(store, ["s"]));
        expect(await bytesOf(other, (await resultIn(createClient({ store: other }).session("s"))).returned)).toBe(
          large,
        );
        expect(await other.verify()).toEqual([]);
      });
    },
  );

  test.each([
    { what: { text: secret }, mark: "[redacted]" },
    { what: { callKey: "r/1/1" }, mark: "[redacted]" },
  ])("redact($what) takes a secret out of it, and out of its blob", proven, async ({ what, mark }) => {
    await withStore(open, async (store) => {
      const value = { rows, more: `${secret} `.repeat(4_000) };
      const { agent } = agentWith(one({ execute: () => value, toModelOutput: () => "2 rows" }), { store });
      await agent.run("Go", id);
      const { full } = (await resultIn(agent.session("s"))).returned as { readonly full: { readonly blob: string } };
      await agent.session("s").redact(what);
      expect(await store.getBlob("s", full.blob)).toBeNull();
      const { returned } = await resultIn(agent.session("s"));
      expect(JSON.stringify(returned)).toContain(mark);
      expect(JSON.stringify([await exportToText(store), returned])).not.toContain(secret);
      expect(await bytesOf(store, returned)).not.toContain(secret);
      expect(await store.verify()).toEqual([]);
    });
  });

  test("a result from outside is read through it, whoever provides the result", proven, async () => {
    await withStore(open, async (store) => {
      const { agent, model } = agentWith(one({ toModelOutput: ({ output }) => counting(output as never) }), { store });
      expect(await agent.run("Go", id)).toMatchObject({ status: "awaiting_human" });
      await createClient({ store }).session("s").provideResult("r/1/1", rows);
      expect(await agent.session("s").resume()).toMatchObject({ status: "completed" });
      expect(JSON.stringify(model.requests[1]?.messages)).toContain("2 rows");
      expect(await resultIn(agent.session("s"))).toMatchObject({
        output: { text: "2 rows" },
        returned: { type: "json", value: rows },
      });
    });
  });
});

describe("hooks", () => {
  const masking = (
    seen: HookSubject<"afterToolCall">[],
    text = (words: string) => words.replaceAll(secret, "***"),
  ): Hook => ({
    name: "mask",
    onFailure: "closed",
    afterToolCall(result) {
      seen.push(result);
      return { output: redactOutput(result.output, text) };
    },
  });

  test("mask what the tool returned and what the model reads, before the log has either", proven, async () => {
    const store = createMemoryStore();
    const seen: HookSubject<"afterToolCall">[] = [];
    const toModelOutput: Tool["toModelOutput"] = ({ output }) => `${JSON.stringify(output)} and again ${secret}`;
    const { agent, model } = agentWith(one({ execute: () => rows, toModelOutput }), { store, hooks: [masking(seen)] });
    await agent.run("Go", id);
    expect(seen.map(({ source }) => source)).toEqual(["tool", "toModelOutput"]);
    expect(seen[0]).toMatchObject({ output: { type: "json", value: rows }, callKey: "r/1/1" });
    expect(JSON.stringify([model.requests, await store.read("s")])).not.toContain(secret);
    const { output, returned } = await resultIn(agent.session("s"));
    expect(returned).toEqual({ type: "json", value: [{ ...rows[0], key: "***" }, rows[1]] });
    expect(JSON.stringify(output)).toContain("and again ***");
  });

  test("that withhold either of them withhold both", proven, async () => {
    for (const at of ["tool", "toModelOutput"]) {
      const store = createMemoryStore();
      const failing: Hook = {
        name: "check",
        onFailure: "closed",
        afterToolCall({ source }) {
          if (source === at) throw new Error("not this one");
        },
      };
      const { agent } = agentWith(one({ execute: () => rows, toModelOutput: () => "2 rows" }), {
        store,
        hooks: [failing],
      });
      await agent.run("Go", id);
      const result = await resultIn(agent.session("s"));
      expect(result).toMatchObject({ outcome: "error", output: { text: expect.stringContaining("withheld") } });
      expect(result.returned).toBeUndefined();
      expect(JSON.stringify(await store.read("s"))).not.toContain("Ada");
    }
  });

  test("may leave a value that the tool's function cannot take: the model reads it as it is", proven, async () => {
    const hiding: Hook = { name: "hide", afterToolCall: () => ({ output: "[hidden]" }) };
    const toModelOutput: Tool["toModelOutput"] = ({ output }) => (output as typeof rows).map(({ name }) => name);
    const { agent } = agentWith(one({ execute: () => rows, toModelOutput }), { hooks: [hiding] });
    await agent.run("Go", id);
    const result = await resultIn(agent.session("s"));
    expect(result).toMatchObject({ outcome: "ok", output: { type: "text", text: "[hidden]" } });
    expect(result.returned).toBeUndefined();
  });
});

describe("what the model reads", () => {
  test("is an error if the function throws, and what the tool returned stays", proven, async () => {
    const toModelOutput = () => {
      throw new Error("no columns");
    };
    const { agent } = agentWith(one({ execute: () => rows, toModelOutput }));
    await agent.run("Go", id);
    expect(await resultIn(agent.session("s"))).toMatchObject({
      outcome: "error",
      output: { text: "Error: The tool ran, and what it returned could not be prepared for you: no columns" },
      returned: { value: rows },
    });
  });

  test("is as the AI SDK describes it: text, JSON, content with files, an error or a denial", proven, async () => {
    const files = [
      { type: "text", text: "a" },
      { type: "media", data: "AA==", mediaType: "image/png" },
      { type: "image-url", url: "http://x/y.png" },
      { type: "custom" },
    ];
    const parts = [
      { type: "text", text: "a" },
      { type: "file", data: "AA==", mediaType: "image/png" },
      { type: "file", data: "http://x/y.png", mediaType: "image/*" },
      { type: "text", text: "[custom]" },
    ];
    for (const [given, outcome, output] of [
      [{ type: "text", value: "x" }, "ok", { type: "text", text: "x" }],
      [{ type: "json", value: { a: 1 } }, "ok", { type: "json", value: { a: 1 } }],
      [{ type: "content", value: files }, "ok", { type: "content", parts }],
      [{ type: "error-text", value: "no" }, "error", { type: "text", text: "Error: no" }],
      [{ type: "error-json", value: { no: 1 } }, "error", { type: "text", text: 'Error: {"no":1}' }],
      [{ type: "execution-denied", reason: "not today" }, "error", { type: "text", text: "Error: not today" }],
    ] as const) {
      const found = aiTool({ inputSchema: z.object({}), execute: () => 1, toModelOutput: () => given } as never);
      const { agent } = agentWith({ rows: found });
      await agent.run("Go", id);
      const result = await resultIn(agent.session("s"));
      expect(result).toMatchObject({ outcome, output, returned: { type: "json", value: 1 } });
    }
  });

  test(
    "is not asked for of a call that failed, or that ends the run, and equal outputs are kept once",
    proven,
    async () => {
      const asked: unknown[] = [];
      const toModelOutput: Tool["toModelOutput"] = ({ output }) => {
        asked.push(output);
        return output;
      };
      for (const [execute, isAsked] of [
        [() => Promise.reject(new Error("it broke")), false],
        [() => rows, true],
      ] as const) {
        const { agent } = agentWith(one({ execute, toModelOutput }));
        await agent.run("Go", id);
        expect((await resultIn(agent.session("s"))).returned).toBeUndefined();
        expect(asked).toEqual(isAsked ? [rows] : []);
      }
    },
  );

  test("may fill an entry: what the tool returned is then cut to what is left", proven, async () => {
    const store = createMemoryStore();
    const long = "\u0001".repeat(148_000);
    const tool = one({ maxOutputBytes: 900_000, execute: () => `${long} of the tool`, toModelOutput: () => long });
    const { agent } = agentWith(tool, { store });
    expect(await agent.run("Go", id)).toMatchObject({ status: "completed" });
    const { output, returned } = await resultIn(agent.session("s"));
    expect(output).toEqual({ type: "text", text: long });
    expect(JSON.stringify(returned).length).toBeLessThan(32 * 1024);
    expect(await bytesOf(store, returned)).toBe(`${long} of the tool`);
    const whole = agentWith(tool, { toolOutput: null }).agent;
    await whole.run("Go", id);
    expect(await resultIn(whole.session("s"))).toMatchObject({
      returned: { type: "text", text: expect.stringContaining("which could not be kept") },
    });
  });
});

describe("people", () => {
  test("see both in traces that ask for content, and neither in others", proven, async () => {
    const store = createMemoryStore();
    await agentWith(one({ execute: () => rows, toModelOutput: () => "2 rows" }), { store }).agent.run("Go", id);
    const callIn = async (options: object) => {
      const records = await traceSession(store, "s", options);
      return records.flatMap((record) => (record.type === "step" ? record.calls : []))[0];
    };
    expect(await callIn({ content: true })).toMatchObject({ output: "2 rows", returned: JSON.stringify(rows) });
    expect(await callIn({})).not.toHaveProperty("returned");
  });

  test(
    "get it from a server, redacted, and pages of the AI SDK get what its own server would send",
    proven,
    async () => {
      const store = createMemoryStore();
      const key = `sk-ant-api03-${"a".repeat(40)}`;
      const tools = one({ execute: () => ({ rows, key }), toModelOutput: () => "2 rows" });
      const { agent } = agentWith(tools, { store, name: "finder" });
      await withServer({ store, agents: [agent] }, async ({ ask, url, token }) => {
        const body = { id: "c", messages: [{ id: "1", role: "user", parts: [{ type: "text", text: "Go" }] }] };
        const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
        const streamed = await fetch(`${url}/v1/chat`, { method: "POST", headers, body: JSON.stringify(body) });
        const shown = { rows, key: "sk-ant-[redacted]" };
        expect(await streamed.text()).toContain(`"output":${JSON.stringify(shown)}`);
        const { messages } = (await ask("GET", "/v1/chat/c/messages")).json;
        expect(messages[1].parts).toContainEqual(expect.objectContaining({ type: "dynamic-tool", output: shown }));
        const [{ sessionId = "" } = {}] = await store.list();
        const path = `/v1/sessions/${encodeURIComponent(sessionId)}`;
        const { events } = (await ask("GET", `${path}/events`)).json;
        expect(events.find(({ type }: PublicEvent) => type === "tool_result")).toMatchObject({
          output: { text: "2 rows" },
          returned: { type: "json", value: shown },
        });
        const { matches } = (await ask("GET", `${path}/find?q=Ada`)).json;
        expect(matches).toMatchObject([{ where: "result", match: "Ada" }]);
      });
    },
  );
});

describe("a process that dies", () => {
  test("loses neither output and doubles none, wherever it dies", proven, async () => {
    const answers = [{ calls: [{ name: "rows", input: {} }] }, { text: "Done." }];
    const tools = one({ execute: () => rows, toModelOutput: async () => "2 rows", recover: "rerun" });
    const report = await crashTest({
      agent: () =>
        createAgent({ model: createScriptedModel(({ modelCallIndex }) => answers[modelCallIndex - 1]), tools }),
      input: "Find rows.",
      points: "waits",
      check: ({ log }) => {
        const results = log.flatMap(({ event }) => (event.type === "tool_finished" ? [event] : []));
        expect(results).toMatchObject([{ output: { text: "2 rows" }, returned: { value: rows } }]);
      },
    });
    expect(report.crashes).toBeGreaterThan(10);
  });

  test("and a tool that finds out what became of its call goes the same way", proven, async () => {
    const store = createMemoryStore();
    const started = createDeferred();
    const toModelOutput: Tool["toModelOutput"] = ({ output }) => counting(output as never);
    const recover = { reconcile: async () => ({ status: "finished" as const, output: rows }) } as const;
    const execute = () => {
      started.resolve();
      return new Promise<never>(() => {});
    };
    const first = agentWith(one({ execute, toModelOutput, recover }), { store }).agent;
    const begun = first.run("Go", id);
    await started.promise;
    await first.shutdown({ graceMs: 1 });
    await begun;
    const next = agentWith(one({ execute, toModelOutput, recover }), { store }).agent;
    await next.session("s").resume();
    expect(await resultIn(next.session("s"))).toMatchObject({ output: { text: "2 rows" }, returned: { value: rows } });
  });
});

test("a result that comes late has both", proven, async () => {
  const gate = createDeferred<typeof rows>();
  const started = createDeferred();
  const execute = () => {
    started.resolve();
    return gate.promise;
  };
  const { agent } = agentWith(one({ execute, toModelOutput: () => "2 rows", graceMs: 0 }));
  const session = agent.session("s");
  const run = agent.run("Go", id);
  await started.promise;
  await session.abort();
  expect(await run).toMatchObject({ status: "aborted" });
  gate.resolve(rows);
  for await (const event of session.events({ live: false })) {
    if (event.type !== "late_result") continue;
    expect(event).toMatchObject({ output: { text: "2 rows" }, returned: { value: rows } });
    return;
  }
});
