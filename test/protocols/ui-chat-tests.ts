/**
 * The AI SDK's own chat and transport, unmodified, against durable sessions over HTTP. Each version runs these tests.
 */
import type { AbstractChat as AnyChat, ChatState, UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { type Agent, createAgent, createMemoryStore, defineTool, type Store } from "../../src/index.js";
import { postChat, resumeChat } from "../../src/protocols/ui/chat.js";
import { uiMessages } from "../../src/protocols/ui/messages.js";
import { uiStreamBody, uiStreamHeaders } from "../../src/protocols/ui/response.js";
import { createScriptedModel, type Script } from "../../src/testing/scripted-model.js";
import { createEcho, deferred } from "../support/agents.js";
import { serve } from "./serve.js";

/** What a page uses of the AI SDK. */
export type Sdk = Pick<
  typeof import("ai"),
  "AbstractChat" | "DefaultChatTransport" | "lastAssistantMessageIsCompleteWithApprovalResponses"
>;

/** Serves the chats of an agent, as an application does. */
async function serveChats(agent: Agent): Promise<{ readonly api: string; readonly cut: () => void }> {
  const host = {
    sessionOf: (chatId: string) => agent.session(chatId),
    carryOn: (sessionId: string) => void agent.session(sessionId).resume(),
    by: "Ada",
  };
  const { url, cut } = await serve(async (request, left) => {
    const [, chatId] = /\/chat\/([^/]+)\/stream$/.exec(request.url) ?? [];
    const chunks =
      chatId === undefined
        ? await postChat(await request.json(), host, left)
        : await resumeChat(agent.session(chatId), left);
    if (chunks === null) return new Response(null, { status: 204 });
    return new Response(uiStreamBody(chunks), { headers: uiStreamHeaders });
  });
  return { api: `${url}/chat`, cut };
}

/** A page: its messages are kept in a list, as `useChat` keeps them in React's state. */
function pageClass({ AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses }: Sdk) {
  return class Page extends AbstractChat<UIMessage> {
    constructor(api: string, messages: readonly UIMessage[] = []) {
      super({
        id: "chat-1",
        state: listOf(messages),
        transport: new DefaultChatTransport({ api }),
        sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
      });
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
  const tool = defineTool({
    name: "pay",
    description: "Pays.",
    input: { type: "object", properties: { cents: { type: "number" } } },
    needsApproval: true,
    execute: (input) => {
      paid.push(input);
      return "paid";
    },
  });
  const { tool: echo } = createEcho();
  return { agent: createAgent({ model: createScriptedModel(script), tools: [tool, echo], store }), paid, store };
}

async function settled(page: AnyChat<UIMessage>): Promise<void> {
  await expect.poll(() => page.status).toMatch(/ready|error/);
}

/** @param proven the options of each test: the requirement that it proves */
export function chatTests(name: string, sdk: Sdk): void {
  const Page = pageClass(sdk);
  describe(name, () => {
    test("streams text, reasoning, calls and results, and keeps the session for the next message", async () => {
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
      const page = new Page((await serveChats(agent)).api);
      await page.sendMessage({ text: "Find it." });
      expect(page.error).toBeUndefined();
      expect(textOf(page.last)).toBe("Looking.|Found it.");
      expect(callsOf(page.last)).toMatchObject([
        { toolName: "echo", state: "output-available", input: { a: 1 }, toolCallId: expect.stringMatching(/\/1\/1$/) },
      ]);
      expect(page.last.metadata).toMatchObject({ sessionId: "chat-1", status: "completed", steps: 2 });
      await page.sendMessage({ text: "Once more." });
      expect(page.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
      expect(textOf(page.last)).toBe("Again.");
      const loaded = await uiMessages(agent.session("chat-1"));
      expect(loaded.map((one) => shown(one as UIMessage))).toEqual(page.messages.map(shown));
    });

    test("asks, and goes on after a yes in the same message", async () => {
      const { agent, paid } = paying([{ text: "I pay.", ...pay }, { text: "Paid." }]);
      const page = new Page((await serveChats(agent)).api);
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

    test("takes a no with its reason", async () => {
      const { agent, paid } = paying([pay, { text: "Then not." }]);
      const page = new Page((await serveChats(agent)).api);
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

    test("is resumed whole by a page that lost its stream, and by a new one", async () => {
      const gate = deferred();
      async function* slow() {
        yield { kind: "text-start", id: "1" } as const;
        yield { kind: "text-delta", id: "1", text: "One " } as const;
        await gate.promise;
        yield { kind: "text-delta", id: "1", text: "two." } as const;
        yield { kind: "text-end", id: "1" } as const;
        yield { kind: "done", finishReason: { unified: "stop" }, usage: {} } as const;
      }
      const { agent } = paying([{ text: "First.", calls: [{ name: "echo" }] }, { deltas: slow() }]);
      const { api, cut } = await serveChats(agent);
      const page = new Page(api);
      const sending = page.sendMessage({ text: "Go." });
      await expect.poll(() => page.messages.length === 2 && textOf(page.last)).toBe("First.|One ");
      cut();
      await sending;
      expect(page.status).toBe("error");
      const resuming = page.resumeStream();
      const other = new Page(api, page.messages.slice(0, 1));
      const joining = other.resumeStream();
      await expect.poll(() => other.messages.length === 2 && textOf(other.last)).toBe("First.|One ");
      gate.resolve();
      await Promise.all([resuming, joining]);
      expect(textOf(page.last)).toBe("First.|One two.");
      expect(textOf(other.last)).toBe("First.|One two.");
      expect(page.messages).toHaveLength(2);
      expect(other.messages).toHaveLength(2);
      // At rest there is nothing to resume.
      await other.resumeStream();
      expect(other.messages).toHaveLength(2);
    });

    test("is resumed while it waits for a person, and after the answer came from elsewhere", async () => {
      const { agent } = paying([{ text: "I pay.", ...pay }, { text: "Paid." }]);
      const { api } = await serveChats(agent);
      const page = new Page(api);
      await page.sendMessage({ text: "Pay." });
      const reloaded = new Page(api, page.messages.slice(0, 1));
      await reloaded.resumeStream();
      expect(callsOf(reloaded.last)).toMatchObject([{ state: "approval-requested" }]);
      const [waiting] = await agent.session("chat-1").pendingApprovals();
      await agent.session("chat-1").answer(waiting?.callKey ?? "", { type: "approve" });
      const joining = reloaded.resumeStream();
      await agent.session("chat-1").resume();
      await joining;
      const loaded = await uiMessages(agent.session("chat-1"));
      expect(textOf(loaded.at(-1) as UIMessage)).toBe("I pay.|Paid.");
    });

    test("starts one run for a request that is sent twice", async () => {
      const { agent } = paying([{ text: "Once." }, { text: "Twice." }]);
      const { api } = await serveChats(agent);
      const message = { id: "m-1", role: "user", parts: [{ type: "text", text: "Go." }] };
      const body = JSON.stringify({ id: "chat-1", messages: [message], trigger: "submit-message" });
      const post = async () => (await fetch(api, { method: "POST", body })).text();
      const first = await post();
      expect(await post()).toBe(first);
      expect(first).toContain("Once.");
      expect(first.endsWith("data: [DONE]\n\n")).toBe(true);
      expect((await agent.session("chat-1").state()).status).toBe("completed");
    });

    test("refuses an answer to another input, and what no transport sends", async () => {
      const { agent, paid } = paying([pay, { text: "Paid." }]);
      const { api } = await serveChats(agent);
      const page = new Page(api);
      await page.sendMessage({ text: "Pay." });
      const [asked] = callsOf(page.last);
      const part = {
        ...asked,
        input: { cents: 500 },
        state: "approval-responded",
        approval: { id: "x", approved: true },
      };
      const post = async (body: unknown) => {
        const response = await fetch(api, { method: "POST", body: JSON.stringify(body) });
        return `${response.status} ${await response.text()}`;
      };
      const messages = [{ id: "a", role: "assistant", parts: [part] }];
      expect(await post({ id: "chat-1", messages })).toMatch(/^400 The answer to the call .* is to another input/);
      expect(await post({ id: "chat-1", messages, tools: [] })).toMatch(/unknown field "tools"/);
      expect(await post({ id: "chat-1", messages: [], trigger: "regenerate-message" })).toMatch(/not supported/);
      expect(await post({ id: "chat-1", messages: [] })).toMatch(/no parts/);
      expect(await post({ id: "chat-1", messages: [{ role: "user", id: "", parts: [] }] })).toMatch(
        /id of the message/,
      );
      expect(paid).toEqual([]);
    });

    test("tells a failure and an abort", async () => {
      const gate = deferred();
      const failure = { kind: "auth", message: "The key is wrong.", statusCode: 401 } as const;
      const { agent } = paying([{ error: failure }, { text: "Never", wait: gate.promise }]);
      const { api } = await serveChats(agent);
      const page = new Page(api);
      await page.sendMessage({ text: "Go." });
      expect(page.status).toBe("error");
      expect(page.error?.message).toContain("The key is wrong.");
      const sending = page.sendMessage({ text: "Again." });
      await expect.poll(async () => (await agent.session("chat-1").state()).status).toBe("model_running");
      await agent.session("chat-1").abort();
      await sending;
      expect(page.last.metadata).toMatchObject({ status: "aborted" });
    });
  });
}
