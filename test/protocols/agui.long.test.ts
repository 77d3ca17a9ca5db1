/**
 * The `HttpAgent` of AG-UI 1.0, unmodified, against durable sessions over HTTP.
 */
import { describe, expect, onTestFinished, test } from "vitest";
import { type Agent, createAgent, createMemoryStore, type Store } from "../../src/index.js";
import { createScriptedModel, type Script } from "../../src/testing/scripted-model.js";
import { askPerson } from "../../src/tools/index.js";
import { startProxy, startServer, startTestServer } from "../server/rig.js";
import { createDeferred, createEchoTool } from "../support/agents.js";
import { resolveCheckTool } from "../support/check-tools.js";
import { createPayTool } from "../support/pay-tool.js";
import { verifies } from "../verifies.js";

type Interrupt = {
  readonly id: string;
  readonly reason: string;
  readonly toolCallId?: string;
  readonly metadata?: object;
};
type Message = { readonly id: string; readonly role: string; readonly content?: unknown; readonly toolCalls?: unknown };
type HttpAgent = {
  readonly messages: readonly Message[];
  readonly pendingInterrupts: readonly Interrupt[];
  addMessage(message: Message): void;
  abortRun(): void;
  runAgent(parameters?: object, subscriber?: object): Promise<{ readonly result: unknown }>;
};
const { HttpAgent }: { HttpAgent: new (options: object) => HttpAgent } = await import(
  resolveCheckTool("@ag-ui/client/dist/index.mjs")
);

async function clientOf(agent: Agent): Promise<HttpAgent> {
  const { store } = agent.options;
  if (store === undefined) throw new Error("the agent has no store");
  const { url, token } = await startTestServer({ store, agents: [agent] });
  const headers = { authorization: `Bearer ${token}` };
  return new HttpAgent({ url: `${url}/v1/agui/desk`, threadId: "thread-1", headers });
}

function agentOf(script: Script) {
  const paid: unknown[] = [];
  const pay = createPayTool(paid);
  const tools = [pay, createEchoTool().tool, askPerson()];
  return {
    paid,
    agent: createAgent({ name: "desk", model: createScriptedModel(script), tools, store: createMemoryStore() }),
  };
}

const say = (client: HttpAgent, content: string) => client.addMessage({ id: `m-${content}`, role: "user", content });
const pay = { calls: [{ name: "pay", input: { cents: 5 } }] };

describe("an HttpAgent", () => {
  test("gets text, reasoning, calls with their input, and results", verifies("PROT-2"), async () => {
    const { agent } = agentOf([
      { reasoning: "I look.", text: "Looking.", calls: [{ name: "echo", input: { a: 1 }, raw: '{"a":1}' }], chunk: 2 },
      { text: "Found it." },
      { text: "Again." },
    ]);
    const client = await clientOf(agent);
    say(client, "Find it.");
    const { result } = await client.runAgent();
    expect(result).toMatchObject({ text: "Found it.", steps: 2 });
    const said = client.messages.filter(({ role }) => role !== "user");
    expect(said.map(({ role }) => role)).toEqual(["reasoning", "assistant", "assistant", "tool", "assistant"]);
    expect(JSON.stringify(said)).toContain('"arguments":"{\\"a\\":1}"');
    expect(said.at(-1)).toMatchObject({ content: "Found it." });
    say(client, "Once more.");
    await client.runAgent();
    expect(client.messages.at(-1)).toMatchObject({ content: "Again." });
  });

  test("is interrupted by a call that waits, and resumes with an edited input", verifies("PROT-2"), async () => {
    const { agent, paid } = agentOf([pay, { text: "Paid." }]);
    const client = await clientOf(agent);
    say(client, "Pay.");
    await client.runAgent();
    expect(client.pendingInterrupts).toMatchObject([
      { reason: "tool_call", metadata: { name: "pay", input: { cents: 5 }, why: "policy" } },
    ]);
    expect(paid).toEqual([]);
    const interruptId = client.pendingInterrupts[0]?.id;
    await client.runAgent({
      resume: [{ interruptId, status: "resolved", payload: { approved: true, editedInput: { cents: 3 } } }],
    });
    expect(paid).toEqual([{ cents: 3 }]);
    expect(client.messages.at(-1)).toMatchObject({ content: "Paid." });
    expect(client.pendingInterrupts).toEqual([]);
  });

  test("denies by cancelling", verifies("PROT-2"), async () => {
    const { agent, paid } = agentOf([pay, { text: "Then not." }]);
    const client = await clientOf(agent);
    say(client, "Pay.");
    await client.runAgent();
    await client.runAgent({ resume: [{ interruptId: client.pendingInterrupts[0]?.id, status: "cancelled" }] });
    expect(paid).toEqual([]);
    expect(client.messages.at(-1)).toMatchObject({ content: "Then not." });
  });

  test("answers what a tool asks", verifies("PROT-2"), async () => {
    const { agent } = agentOf(({ messages }) => {
      const last = messages.at(-1);
      if (last?.role !== "tool") return { calls: [{ name: "ask_person", input: { question: "Which day?" } }] };
      return { text: JSON.stringify(last.parts) };
    });
    const client = await clientOf(agent);
    say(client, "Plan it.");
    await client.runAgent();
    const [interrupt] = client.pendingInterrupts;
    expect(interrupt).toMatchObject({ reason: "input_required", message: expect.stringContaining("Which day?") });
    await client.runAgent({ resume: [{ interruptId: interrupt?.id, status: "resolved", payload: "Monday" }] });
    expect(client.messages.at(-1)?.content).toContain("Monday");
  });

  test.each([
    { how: "with the same run", named: true },
    { how: "as it comes", named: false },
  ])("that lost its stream asks again $how, and has each message once", verifies("PROT-2"), async ({ named }) => {
    const gate = createDeferred();
    async function* slow() {
      yield { kind: "text-start", id: "1" } as const;
      for (const text of ["A long beginning, ", "and ", "then "]) yield { kind: "text-delta", id: "1", text } as const;
      await gate.promise;
      yield { kind: "text-delta", id: "1", text: "the end." } as const;
      yield { kind: "text-end", id: "1" } as const;
      yield { kind: "done", finishReason: { unified: "stop" }, usage: {} } as const;
    }
    const { agent } = agentOf([
      { text: "Before." },
      { reasoning: "I look.", text: "First.", calls: [{ name: "echo", input: { a: 1 } }] },
      { deltas: slow() },
    ]);
    const rig = await startTestServer({ store: agent.options.store as Store, agents: [agent] });
    const headers = { authorization: `Bearer ${rig.token}` };
    const client = new HttpAgent({ url: `${rig.url}/v1/agui/desk`, threadId: "thread-1", headers });
    say(client, "Begin.");
    await client.runAgent();
    say(client, "Go.");
    const runId = "run-of-mine";
    const begun = createDeferred();
    const onTextMessageContentEvent = ({ event }: { readonly event: { readonly delta: string } }) => {
      if (event.delta.includes("long")) begun.resolve();
    };
    const running = client.runAgent({ runId }, { onTextMessageContentEvent }).catch(() => "lost");
    await begun.promise;
    // The client's package leaves a rejection unhandled if the server breaks off, so the client does.
    client.abortRun();
    await running;
    expect(JSON.stringify(client.messages)).toContain("A long beginning");
    const again = client.runAgent(named ? { runId } : {});
    gate.resolve();
    await again;
    const said = client.messages.map(({ role, content = "" }) => `${role}: ${content}`);
    expect(said).toEqual([
      "user: Begin.",
      "assistant: Before.",
      "user: Go.",
      "reasoning: I look.",
      "assistant: First.",
      "assistant: ",
      'tool: echo {"a":1}',
      "assistant: A long beginning, and then the end.",
    ]);
    expect((await rig.ask("GET", "/v1/sessions")).json.sessions).toHaveLength(1);
  });

  test(
    "is told that a run goes on when its server drains, and asks another one for it",
    verifies("PROT-2", "SRV-5"),
    async () => {
      const store = createMemoryStore();
      async function* said(goOn: Promise<unknown>) {
        yield { kind: "text-start", id: "1" } as const;
        for (const text of ["A long beginning, ", "and ", "then "])
          yield { kind: "text-delta", id: "1", text } as const;
        await goOn;
        yield { kind: "text-delta", id: "1", text: "the end." } as const;
        yield { kind: "text-end", id: "1" } as const;
        yield { kind: "done", finishReason: { unified: "stop" }, usage: {} } as const;
      }
      const start = (goOn: Promise<unknown>) => {
        const agent = createAgent({
          name: "desk",
          store,
          model: createScriptedModel(() => ({ deltas: said(goOn) as never })),
        });
        return startServer({ store, agents: [agent], authenticate: () => ({ id: "ada", scopes: ["read", "run"] }) });
      };
      let current = await start(new Promise(() => {}));
      const gateway = await startProxy(() => current.url);
      onTestFinished(async () => {
        await current.close();
        await gateway.close();
      });
      const client = new HttpAgent({ url: `${gateway.url}/v1/agui/desk`, threadId: "thread-1" });
      say(client, "Go.");
      const begun = createDeferred();
      const codes: (string | undefined)[] = [];
      const running = client.runAgent(
        { runId: "run-of-mine" },
        {
          onTextMessageContentEvent: () => begun.resolve(),
          onRunErrorEvent: ({ event }: { readonly event: { readonly code?: string } }) => void codes.push(event.code),
        },
      );
      await begun.promise;
      await current.close();
      await running;
      expect(codes).toEqual(["connection_ended"]);
      current = await start(Promise.resolve());
      await client.runAgent({ runId: "run-of-mine" });
      const texts = client.messages.map(({ role, content }) => `${role}: ${content}`);
      expect(texts).toEqual(["user: Go.", "assistant: A long beginning, and then the end."]);
    },
  );

  test("refuses what is not taken", verifies("PROT-2"), async () => {
    const { agent } = agentOf([{ text: "Never." }]);
    const client = await clientOf(agent);
    say(client, "Go.");
    const tools = [{ name: "alert", description: "Alerts.", parameters: {} }];
    await expect(client.runAgent({ tools })).rejects.toThrow(/`tools` of a client are not supported/);
  });

  test("is told of a failure", verifies("PROT-2"), async () => {
    const failure = { kind: "auth", message: "The key is wrong.", statusCode: 401 } as const;
    const { agent } = agentOf([{ error: failure }]);
    const client = await clientOf(agent);
    say(client, "Go.");
    let told = "";
    const onRunErrorEvent = ({ event }: { readonly event: { readonly message: string } }) => {
      told = event.message;
    };
    await client.runAgent({}, { onRunErrorEvent }).catch(() => {});
    expect(told).toContain("The key is wrong.");
  });
});
