/**
 * The AI SDK's own chat and transport, unmodified, against durable sessions over HTTP. Each version runs these tests.
 */
import type { AbstractChat as AnyChat, ChatState, UIMessage } from "ai";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import {
  type Agent,
  createAgent,
  createMemoryStore,
  defineTool,
  type InferUiTools,
  type Session,
  type Store,
} from "../../src/index.js";
import type { ServerOptions } from "../../src/server/index.js";
import { createScriptedModel, type Script } from "../../src/testing/scripted-model.js";
import { askPerson } from "../../src/tools/index.js";
import { type Rig, startProxy, startServer, startTestServer } from "../server/rig.js";
import { createDeferred, createEchoTool } from "../support/agents.js";
import { createPayTool } from "../support/pay-tool.js";
import { verifies } from "../verifies.js";

/** What a page uses of the AI SDK. */
export type Sdk = Pick<
  typeof import("ai"),
  "AbstractChat" | "DefaultChatTransport" | "lastAssistantMessageIsCompleteWithApprovalResponses"
>;

/** Serves the chats of an agent, and breaks off connections when a test says so. */
async function serveChats(agent: Agent, options: Pick<ServerOptions, "uiTools"> = {}): Promise<Served> {
  const { store } = agent.options;
  if (store === undefined) throw new Error("the agent has no store");
  const rig = await startTestServer({ store, agents: [agent], ...options });
  return { api: `${rig.url}/v1/chat`, token: rig.token, breakConnections: rig.breakConnections, ask: rig.ask, store };
}

type Served = {
  readonly api: string;
  readonly token: string;
  readonly store: Store;
  readonly fetch?: typeof fetch;
} & Pick<Rig, "breakConnections" | "ask">;

type Ended = { readonly isError: boolean; readonly isDisconnect: boolean };

/** Fails as the `fetch` of a browser does if the connection is lost. */
const browserFetch: typeof fetch = async (input, init) => {
  const lost = (message: string) => () => Promise.reject(new TypeError(message));
  const response = await fetch(input, init).catch(lost("Failed to fetch"));
  const reader = response.body?.getReader();
  if (reader === undefined) return response;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read().catch(lost("network error"));
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(body, { status: response.status, headers: response.headers });
};

/** Two processes of a server, one after the other, behind one address. The first one stops in mid-answer. */
async function twoProcesses() {
  const store = createMemoryStore();
  const secondGate = createDeferred();
  async function* said(goOn: Promise<unknown>) {
    yield { kind: "text-start", id: "1" } as const;
    for (const text of ["A long beginning, ", "and ", "then "]) yield { kind: "text-delta", id: "1", text } as const;
    await goOn;
    yield { kind: "text-delta", id: "1", text: "the end." } as const;
    yield { kind: "text-end", id: "1" } as const;
    yield { kind: "done", finishReason: { unified: "stop" }, usage: {} } as const;
  }
  const authenticate = () => ({ id: "ada", scopes: ["read", "run", "approve"] as const });
  const start = (goOn: Promise<unknown>) => {
    const { agent } = paying(() => ({ deltas: said(goOn) as never }), store);
    return startServer({ store, agents: [agent], authenticate });
  };
  const first = await start(new Promise(() => {}));
  let current = first;
  const gateway = await startProxy(() => current.url);
  onTestFinished(async () => {
    await current.close();
    await gateway.close();
  });
  const served: Served = { ...first, api: `${gateway.url}/v1/chat`, fetch: browserFetch };
  return {
    served,
    async drain() {
      await first.close();
      current = await start(secondGate.promise);
    },
    goOn: secondGate.resolve,
    messages: async () => (await current.ask("GET", "/v1/chat/chat-1/messages")).json.messages as UIMessage[],
    isAtRest: async () => (await store.list()).every(({ status }) => status === "completed"),
  };
}

async function messagesOf(served: Served): Promise<readonly UIMessage[]> {
  return (await served.ask("GET", "/v1/chat/chat-1/messages")).json.messages;
}

/** The session of the only chat. */
async function sessionOf(agent: Agent): Promise<Session> {
  const [only] = (await agent.options.store?.list()) ?? [];
  return agent.session(only?.sessionId ?? "none");
}

/** A page: its messages are kept in a list, as `useChat` keeps them in React's state. */
function pageClass({ AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses }: Sdk) {
  return class Page extends AbstractChat<UIMessage> {
    /** How the requests of the page ended. */
    readonly ends: readonly Ended[];

    constructor({ api, token, fetch }: Served, messages: readonly UIMessage[] = []) {
      const ends: Ended[] = [];
      const own = fetch === undefined ? {} : { fetch };
      super({
        id: "chat-1",
        state: listOf(messages),
        transport: new DefaultChatTransport({ api, headers: { authorization: `Bearer ${token}` }, ...own }),
        sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
        onFinish: ({ isError, isDisconnect }) => void ends.push({ isError, isDisconnect }),
      });
      this.ends = ends;
    }

    get last(): UIMessage {
      const last = this.messages.at(-1);
      if (last === undefined) throw new Error("no message");
      return last;
    }
  };
}

function listOf(messages: readonly UIMessage[]): ChatState<UIMessage> {
  const state: ChatState<UIMessage> = {
    status: "ready",
    error: undefined,
    messages: [...messages],
    pushMessage(message) {
      state.messages = [...state.messages, message];
    },
    popMessage() {
      state.messages = state.messages.slice(0, -1);
    },
    replaceMessage(index, message) {
      state.messages = state.messages.map((one, at) => (at === index ? structuredClone(message) : one));
    },
    snapshot: (thing) => structuredClone(thing),
  };
  return state;
}

function textOf({ parts }: UIMessage): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("|");
}

function callsOf({ parts }: UIMessage) {
  return parts.filter((part) => part.type === "dynamic-tool");
}

/** What two pages show of a message. Providers' data and the state of a text are no part of it. */
function shown({ role, parts }: UIMessage): unknown {
  return {
    role,
    parts: parts.map((part) =>
      part.type === "dynamic-tool"
        ? { name: part.toolName, state: part.state, input: part.input, output: part.output, id: part.toolCallId }
        : part.type === "text" || part.type === "reasoning"
          ? { type: part.type, text: part.text }
          : { type: part.type },
    ),
  };
}

const pay = { calls: [{ name: "pay", input: { cents: 5 } }] };

function paying(script: Script, store: Store = createMemoryStore()) {
  const paid: unknown[] = [];
  const tool = createPayTool(paid);
  const { tool: echo } = createEchoTool();
  return { agent: createAgent({ model: createScriptedModel(script), tools: [tool, echo], store }), paid, store };
}

type Asked = { readonly callKey: string; readonly inputHash?: string; readonly answer?: string };

function questionsOf({ parts }: UIMessage): readonly Asked[] {
  return parts.flatMap((part) => (part.type === "data-pawl-question" ? [part.data as Asked] : []));
}

/** An agent that asks a person. */
function planning(): Agent {
  const model = createScriptedModel(({ messages }) =>
    messages.at(-1)?.role === "tool"
      ? { text: "It is to be Monday." }
      : { calls: [{ name: "ask_person", input: { question: "Which day?" } }] },
  );
  return createAgent({ model, tools: [askPerson()], store: createMemoryStore() });
}

/** Tools that a page knows by type. */
const listRows = defineTool({
  name: "list_rows",
  description: "Lists rows",
  input: z.object({ count: z.number().int(), from: z.number().default(0) }),
  readOnly: true,
  execute: ({ count, from }) => Array.from({ length: count }, (_, index) => ({ row: from + index, at: new Date(0) })),
});
const quote = defineTool({
  name: "quote",
  description: "Gives a text that is JSON",
  input: z.object({ length: z.number() }),
  execute: ({ length }) => JSON.stringify({ text: "x".repeat(length) }),
});
const refund = defineTool({
  name: "refund",
  description: "Pays back",
  input: z.object({ cents: z.number() }),
  needsApproval: true,
  async *execute({ cents }) {
    yield { paid: false, note: "x".repeat(100_000) };
    yield { paid: true, note: `${cents} cents` };
  },
});
const typedTools = [listRows, quote, refund];
type TypedMessage = UIMessage<unknown, never, InferUiTools<typeof typedTools>>;

/** What a page makes of its typed parts: the compiler checks their inputs and outputs. */
function readTyped({ parts }: TypedMessage): readonly unknown[] {
  return parts.flatMap((part): readonly unknown[] => {
    switch (part.type) {
      case "tool-list_rows":
        if (part.state === "output-available") return [`${part.output.length} rows, first ${part.output[0]?.at}`];
        return [part.state === "output-error" ? { input: part.input ?? undefined, error: part.errorText } : part.state];
      case "tool-quote":
        return [part.state === "output-available" ? part.output.slice(0, 8) : part.state];
      case "tool-refund":
        return [part.state === "output-available" ? part.output.note : part.state];
      case "dynamic-tool":
        return [`${part.toolName} ${part.state}`];
      default:
        return [];
    }
  });
}

async function settled(page: AnyChat<UIMessage>): Promise<void> {
  await expect.poll(() => page.status).toMatch(/ready|error/);
}

export function chatTests(name: string, sdk: Sdk): void {
  const Page = pageClass(sdk);
  describe(name, () => {
    test(
      "streams text, reasoning, calls and results, and keeps the session for the next message",
      verifies("PROT-1"),
      async () => {
        const { agent } = paying([
          {
            reasoning: "I look.",
            text: "Looking.",
            calls: [{ name: "echo", input: { a: 1 }, raw: '{"a":1}' }],
            chunk: 2,
          },
          { text: "Found it." },
          { text: "Again." },
        ]);
        const served = await serveChats(agent);
        const page = new Page(served);
        await page.sendMessage({ text: "Find it." });
        expect(page.error).toBeUndefined();
        expect(textOf(page.last)).toBe("Looking.|Found it.");
        expect(callsOf(page.last)).toMatchObject([
          {
            toolName: "echo",
            state: "output-available",
            input: { a: 1 },
            toolCallId: expect.stringMatching(/\/1\/1$/),
          },
        ]);
        expect(page.last.metadata).toMatchObject({
          sessionId: expect.stringMatching(/^chat-[0-9a-f]{32}$/),
          status: "completed",
          steps: 2,
        });
        await page.sendMessage({ text: "Once more." });
        expect(page.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
        expect(textOf(page.last)).toBe("Again.");
        const loaded = await messagesOf(served);
        expect(loaded.map((one) => shown(one))).toEqual(page.messages.map(shown));
      },
    );

    test("asks, and goes on after a yes in the same message", verifies("PROT-1"), async () => {
      const { agent, paid } = paying([{ text: "I pay.", ...pay }, { text: "Paid." }]);
      const page = new Page(await serveChats(agent));
      await page.sendMessage({ text: "Pay." });
      const [asked] = callsOf(page.last);
      expect(asked).toMatchObject({ state: "approval-requested", input: { cents: 5 } });
      expect(paid).toEqual([]);
      await page.addToolApprovalResponse({ id: asked?.approval?.id ?? "", approved: true });
      await settled(page);
      expect(page.error).toBeUndefined();
      expect(textOf(page.last)).toBe("I pay.|Paid.");
      expect(callsOf(page.last)).toMatchObject([{ state: "output-available", output: "paid" }]);
      expect(page.messages).toHaveLength(2);
      expect(paid).toEqual([{ cents: 5 }]);
    });

    test("takes a no with its reason", verifies("PROT-1"), async () => {
      const { agent, paid } = paying([pay, { text: "Then not." }]);
      const page = new Page(await serveChats(agent));
      await page.sendMessage({ text: "Pay." });
      await page.addToolApprovalResponse({
        id: callsOf(page.last)[0]?.approval?.id ?? "",
        approved: false,
        reason: "No.",
      });
      await settled(page);
      expect(textOf(page.last)).toBe("Then not.");
      expect(callsOf(page.last)).toMatchObject([{ state: "output-denied" }]);
      expect(paid).toEqual([]);
    });

    test("is resumed whole by a page that lost its stream, and by a new one", verifies("PROT-1"), async () => {
      const gate = createDeferred();
      async function* slow() {
        yield { kind: "text-start", id: "1" } as const;
        // Redaction holds the last words back: they may be the beginning of a secret.
        for (const text of ["A long beginning, ", "and ", "then "])
          yield { kind: "text-delta", id: "1", text } as const;
        await gate.promise;
        yield { kind: "text-delta", id: "1", text: "the end." } as const;
        yield { kind: "text-end", id: "1" } as const;
        yield { kind: "done", finishReason: { unified: "stop" }, usage: {} } as const;
      }
      const { agent } = paying([{ text: "First.", calls: [{ name: "echo" }] }, { deltas: slow() }]);
      const served = await serveChats(agent);
      const page = new Page(served);
      const sending = page.sendMessage({ text: "Go." });
      await expect.poll(() => page.messages.length === 2 && textOf(page.last)).toContain("First.|A long beginning");
      served.breakConnections();
      await sending;
      expect(page.status).toBe("error");
      const resuming = page.resumeStream();
      const other = new Page(served, page.messages.slice(0, 1));
      const joining = other.resumeStream();
      await expect.poll(() => other.messages.length === 2 && textOf(other.last)).toContain("First.|A long beginning");
      gate.resolve();
      await Promise.all([resuming, joining]);
      expect(textOf(page.last)).toBe("First.|A long beginning, and then the end.");
      expect(textOf(other.last)).toBe("First.|A long beginning, and then the end.");
      expect(page.messages).toHaveLength(2);
      expect(other.messages).toHaveLength(2);
      // At rest there is nothing to resume.
      await other.resumeStream();
      expect(other.messages).toHaveLength(2);
    });

    test(
      "knows that an answer is not whole when its server drains, and gets the rest from another process",
      verifies("PROT-1", "SRV-5"),
      async () => {
        const processes = await twoProcesses();
        const page = new Page(processes.served);
        const sending = page.sendMessage({ text: "Go." });
        await expect.poll(() => page.messages.length === 2 && textOf(page.last)).toContain("A long beginning");
        await processes.drain();
        await sending;
        expect(page.status).toBe("error");
        expect(page.error).toBeInstanceOf(TypeError);
        expect(page.ends).toEqual([{ isError: true, isDisconnect: true }]);
        const resuming = page.resumeStream();
        await expect.poll(() => page.status).toBe("streaming");
        processes.goOn();
        await resuming;
        expect(page.ends.at(-1)).toEqual({ isError: false, isDisconnect: false });
        expect(page.error).toBeUndefined();
        expect(textOf(page.last)).toBe("A long beginning, and then the end.");
        expect(page.messages).toHaveLength(2);
      },
    );

    test("that comes back after the run has ended loads the answer", verifies("PROT-1"), async () => {
      const processes = await twoProcesses();
      const page = new Page(processes.served);
      const sending = page.sendMessage({ text: "Go." });
      await expect.poll(() => page.messages.length === 2 && textOf(page.last)).toContain("A long beginning");
      processes.goOn();
      await processes.drain();
      await sending;
      await expect.poll(processes.isAtRest).toBe(true);
      // There is nothing to resume, so the page has a part of the answer still.
      await page.resumeStream();
      expect(page.status).toBe("ready");
      expect(textOf(page.last)).not.toContain("the end.");
      page.messages = await processes.messages();
      expect(textOf(page.last)).toBe("A long beginning, and then the end.");
      expect(page.messages).toHaveLength(2);
    });

    test(
      "is resumed while it waits for a person, and after the answer came from elsewhere",
      verifies("PROT-1"),
      async () => {
        const { agent } = paying([{ text: "I pay.", ...pay }, { text: "Paid." }]);
        const served = await serveChats(agent);
        const page = new Page(served);
        await page.sendMessage({ text: "Pay." });
        const reloaded = new Page(served, page.messages.slice(0, 1));
        await reloaded.resumeStream();
        expect(callsOf(reloaded.last)).toMatchObject([{ state: "approval-requested" }]);
        const [waiting] = await (await sessionOf(agent)).pendingApprovals();
        await (await sessionOf(agent)).answer(waiting?.callKey ?? "", { type: "approve" });
        const joining = reloaded.resumeStream();
        await (await sessionOf(agent)).resume();
        await joining;
        const loaded = await messagesOf(served);
        expect(textOf(loaded.at(-1) ?? page.last)).toBe("I pay.|Paid.");
      },
    );

    test("answers what a tool asks, by the output of its call", verifies("PROT-1"), async () => {
      const page = new Page(await serveChats(planning()));
      await page.sendMessage({ text: "Plan it." });
      expect(questionsOf(page.last)).toMatchObject([
        { why: "tool", question: "Which day?", questionId: expect.any(String), schema: { type: "string" } },
      ]);
      const [asked] = callsOf(page.last);
      expect(asked?.state).toBe("input-available");
      await page.addToolOutput({ tool: "ask_person", toolCallId: asked?.toolCallId ?? "", output: "Monday" });
      await page.sendMessage();
      expect(page.error).toBeUndefined();
      expect(textOf(page.last)).toBe("It is to be Monday.");
      expect(callsOf(page.last)).toMatchObject([{ state: "output-available", output: "Monday" }]);
      expect(questionsOf(page.last)).toMatchObject([{ question: "Which day?", answer: "reply", by: "token" }]);
    });

    test("answers each of several questions at once, in the field answers", verifies("PROT-1"), async () => {
      const { agent, paid } = paying(({ messages }) =>
        messages.at(-1)?.role === "tool"
          ? { text: "Done." }
          : { calls: [1, 2, 3].map((cents) => ({ name: "pay", input: { cents } })) },
      );
      const served = await serveChats(agent);
      const page = new Page(served);
      await page.sendMessage({ text: "Pay all." });
      const [first, second, third] = questionsOf(page.last);
      const give = (asked: Asked | undefined, decision: object) =>
        page.sendMessage(undefined, {
          body: { answers: [{ callKey: asked?.callKey, inputHash: asked?.inputHash, decision }] },
        });
      await give(first, { type: "modify", input: { cents: 4 } });
      expect(page.error).toBeUndefined();
      const states = () => callsOf(page.last).map(({ state }) => state);
      expect(states()).toEqual(["output-available", "approval-requested", "approval-requested"]);
      expect(callsOf(page.last)[0]?.input).toEqual({ cents: 4 });
      await give(second, { type: "deny", note: "Not this one." });
      expect(states()).toEqual(["output-available", "output-denied", "approval-requested"]);
      expect(questionsOf(page.last).map(({ answer }) => answer)).toEqual(["modify", "deny", undefined]);
      // The page posts the input that it shows: an answer to another one is refused.
      await give({ callKey: third?.callKey ?? "", inputHash: first?.inputHash ?? "" }, { type: "approve" });
      expect(page.error?.message).toMatch(/input/);
      await give(third, { type: "approve" });
      expect(textOf(page.last)).toBe("Done.");
      expect(paid).toEqual([{ cents: 4 }, { cents: 3 }]);
      const loaded = await messagesOf(served);
      expect(loaded.map((one) => shown(one))).toEqual(page.messages.map(shown));
    });

    test("gets the results of calls that another page let run", verifies("PROT-1"), async () => {
      const { agent, paid } = paying(({ messages }) =>
        messages.at(-1)?.role === "tool"
          ? { text: "Done." }
          : { calls: [1, 2].map((cents) => ({ name: "pay", input: { cents } })) },
      );
      const served = await serveChats(agent);
      const page = new Page(served);
      await page.sendMessage({ text: "Pay both." });
      const other = new Page(served, page.messages);
      const [one, two] = questionsOf(page.last);
      const answers = (asked: Asked | undefined) => ({
        body: { answers: [{ callKey: asked?.callKey, inputHash: asked?.inputHash, decision: { type: "approve" } }] },
      });
      await page.sendMessage(undefined, answers(one));
      expect(paid).toEqual([{ cents: 1 }]);
      await other.sendMessage(undefined, answers(two));
      expect(textOf(other.last)).toBe("Done.");
      expect(callsOf(other.last).map(({ output }) => output)).toEqual(["paid", "paid"]);
    });

    test.each([
      { approved: true, runs: 2, state: "output-available", answer: "rerun" },
      { approved: false, runs: 1, state: "output-error", answer: "fail" },
    ])(
      "decides on a call in doubt after a crash: approved $approved",
      verifies("PROT-1"),
      async ({ approved, runs, state, answer }) => {
        const store = createMemoryStore();
        const begun = createDeferred();
        let isOver = false;
        const sent: unknown[] = [];
        const send = defineTool({
          name: "send",
          description: "Sends.",
          input: { type: "object" },
          recover: "ask",
          async execute(input) {
            sent.push(input);
            begun.resolve();
            if (!isOver) await new Promise(() => {});
            return "sent";
          },
        });
        const create = () =>
          createAgent({
            model: createScriptedModel(({ messages }) =>
              messages.at(-1)?.role === "tool"
                ? { text: "Over." }
                : { calls: [{ name: "send", input: { to: "all" } }] },
            ),
            tools: [send],
            store,
          });
        const crashing = create();
        const rig = await startServer({ store, agents: [crashing] });
        const page = new Page({ ...rig, api: `${rig.url}/v1/chat` });
        const sending = page.sendMessage({ text: "Send." });
        await begun.promise;
        const { messages } = page;
        // The call does not end: the process gives the session back with the call under way, as a crash leaves it.
        await rig.close();
        await sending;
        isOver = true;
        const reloaded = new Page(await serveChats(create()), messages.slice(0, 1));
        await expect
          .poll(async () => {
            await reloaded.resumeStream();
            return callsOf(reloaded.last).map((call) => call.state);
          })
          .toEqual(["approval-requested"]);
        expect(questionsOf(reloaded.last)).toMatchObject([{ why: "recovery" }]);
        await reloaded.addToolApprovalResponse({ id: callsOf(reloaded.last)[0]?.approval?.id ?? "", approved });
        await settled(reloaded);
        expect(reloaded.error).toBeUndefined();
        expect(textOf(reloaded.last)).toBe("Over.");
        expect(callsOf(reloaded.last)).toMatchObject([{ state }]);
        expect(questionsOf(reloaded.last)).toMatchObject([{ why: "recovery", answer }]);
        expect(sent).toHaveLength(runs);
      },
    );

    test("refuses answers that name nothing", verifies("PROT-1"), async () => {
      const { agent } = paying([pay]);
      const served = await serveChats(agent);
      const page = new Page(served);
      await page.sendMessage({ text: "Pay." });
      const [asked] = callsOf(page.last);
      const decision = { type: "approve" };
      const post = async (answers: unknown, messages: unknown = [page.last]) =>
        (await served.ask("POST", "/v1/chat", { id: "chat-1", messages, answers })).json.error.message;
      expect(await post({})).toMatch(/must be an array/);
      expect(await post([{ callKey: asked?.toolCallId }])).toMatch(/a `callKey` and a `decision`/);
      expect(await post([{ callKey: asked?.toolCallId, decision }])).toMatch(
        /needs the `inputHash` or the `questionId`/,
      );
      const user = [{ id: "u", role: "user", parts: [{ type: "text", text: "Go." }] }];
      expect(await post([{ callKey: asked?.toolCallId, decision, inputHash: "x" }], user)).toMatch(/cannot accompany/);
    });

    test("starts one run for a request that is sent twice", verifies("PROT-1"), async () => {
      const { agent } = paying([{ text: "Once." }, { text: "Twice." }]);
      const served = await serveChats(agent);
      const message = { id: "m-1", role: "user", parts: [{ type: "text", text: "Go." }] };
      const body = { id: "chat-1", messages: [message], trigger: "submit-message" };
      const post = async () => String((await served.ask("POST", "/v1/chat", body)).json);
      const first = await post();
      expect(await post()).toBe(first);
      expect(first).toContain("Once.");
      expect(first.endsWith("data: [DONE]\n\n")).toBe(true);
      expect((await (await sessionOf(agent)).state()).status).toBe("completed");
    });

    test("refuses an answer to another input, and what no transport sends", verifies("PROT-1"), async () => {
      const { agent, paid } = paying([pay, { text: "Paid." }]);
      const served = await serveChats(agent);
      const page = new Page(served);
      await page.sendMessage({ text: "Pay." });
      const [asked] = callsOf(page.last);
      const part = {
        ...asked,
        input: { cents: 500 },
        state: "approval-responded",
        approval: { id: "x", approved: true },
      };
      const post = async (body: unknown) => {
        const { status, json } = await served.ask("POST", "/v1/chat", body);
        return `${status} ${json.error.message}`;
      };
      const messages = [{ id: "a", role: "assistant", parts: [part] }];
      expect(await post({ id: "chat-1", messages })).toMatch(/^400 The answer to the call .* is for an outdated input/);
      expect(await post({ id: "chat-1", messages, tools: [] })).toMatch(/"tools"/);
      expect(await post({ id: "chat-1", messages: [{}], trigger: "regenerate-message" })).toMatch(/not supported/);
      expect(await post({ id: "chat-1", messages: [] })).toMatch(/no `parts`/);
      expect(await post({ id: "chat-1", messages: [{ role: "user", id: "", parts: [] }] })).toMatch(
        /id of the message/,
      );
      expect(paid).toEqual([]);
    });

    test(
      "shows the whole input to whoever approves, and lets nobody else answer",
      verifies("SEC-6#shown"),
      async () => {
        const input = { cents: 5, apiKey: "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789" };
        const { agent, paid } = paying(({ messages }) =>
          messages.at(-1)?.role === "tool" ? { text: "Paid." } : { calls: [{ name: "pay", input }] },
        );
        const { store } = agent.options;
        if (store === undefined) throw new Error("the agent has no store");
        const people = new Map([
          ["Bearer ada", { id: "ada", scopes: ["read", "run", "approve"] as const }],
          ["Bearer bob", { id: "bob", scopes: ["read", "run"] as const }],
        ]);
        const rig = await startTestServer({
          store,
          agents: [agent],
          authenticate: (request) => people.get(request.headers.get("authorization") ?? "") ?? null,
        });
        const pageOf = async (token: string) => {
          const page = new Page({ ...rig, api: `${rig.url}/v1/chat`, token });
          await page.sendMessage({ text: "Pay." });
          const [asked] = callsOf(page.last);
          await page.addToolApprovalResponse({ id: asked?.approval?.id ?? "", approved: true });
          await settled(page);
          return { page, asked };
        };
        const bob = await pageOf("bob");
        expect(JSON.stringify(bob.asked)).not.toContain("sk-ant-api03");
        expect(bob.page.error?.message).toContain("scope approve");
        expect(paid).toEqual([]);
        const ada = await pageOf("ada");
        expect(ada.asked).toMatchObject({ state: "approval-requested", input });
        expect(paid).toEqual([input]);
      },
    );

    test("gets typed parts of the tools that its server names", verifies("TYPE-2#page"), async () => {
      const model = createScriptedModel([
        {
          calls: [
            { name: "list_rows", input: { count: 2_000 } },
            { name: "list_rows", input: { count: "many" } },
            { name: "list_rows", input: { count: 30_000 } },
            { name: "quote", input: { length: 60_000 } },
            { name: "echo", input: { a: 1 } },
          ],
        },
        { calls: [{ name: "refund", input: { cents: 5 } }] },
        { text: "Done." },
      ]);
      const { tool: echo } = createEchoTool();
      const agent = createAgent({ model, tools: [...typedTools, echo], store: createMemoryStore() });
      const served = await serveChats(agent, { uiTools: typedTools });
      const page = new Page(served);
      await page.sendMessage({ text: "Go." });
      expect(page.error).toBeUndefined();
      const called = [
        "2000 rows, first 1970-01-01T00:00:00.000Z",
        { input: undefined, error: expect.stringContaining("count") },
        { input: { count: 30_000 }, error: "The output is too large for this page." },
        '{"text":',
        "echo output-available",
      ];
      expect(readTyped(page.last as TypedMessage)).toEqual([...called, "approval-requested"]);
      const [loadedBefore] = (await messagesOf(served)).slice(-1);
      expect(readTyped(loadedBefore as TypedMessage)).toEqual([...called, "approval-requested"]);
      const asked = page.last.parts.find(({ type }) => type === "tool-refund") as { approval?: { id: string } };
      await page.addToolApprovalResponse({ id: asked.approval?.id ?? "", approved: true });
      await settled(page);
      expect(page.error).toBeUndefined();
      expect(readTyped(page.last as TypedMessage)).toEqual([...called, "5 cents"]);
      const [loaded] = (await messagesOf(served)).slice(-1);
      expect(readTyped(loaded as TypedMessage)).toEqual([...called, "5 cents"]);
      const rows = (message: UIMessage | undefined) =>
        message?.parts.flatMap((part) => ("output" in part && part.output !== undefined ? [part.output] : []));
      expect(JSON.stringify(rows(loaded)) === JSON.stringify(rows(page.last))).toBe(true);
    });

    test("tells a failure and an abort", verifies("PROT-1"), async () => {
      const gate = createDeferred();
      const failure = { kind: "auth", message: "The key is wrong.", statusCode: 401 } as const;
      const { agent } = paying([{ error: failure }, { text: "Never", wait: gate.promise }]);
      const served = await serveChats(agent);
      const page = new Page(served);
      await page.sendMessage({ text: "Go." });
      expect(page.status).toBe("error");
      expect(page.error?.message).toContain("The key is wrong.");
      const sending = page.sendMessage({ text: "Again." });
      await expect.poll(async () => (await (await sessionOf(agent)).state()).status).toBe("model_running");
      await (await sessionOf(agent)).abort();
      await sending;
      expect(page.last.metadata).toMatchObject({ status: "aborted" });
    });
  });
}
