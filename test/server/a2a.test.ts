/**
 * An agent for clients of A2A: tasks, questions, streams, and whose they are; with the client of the A2A project.
 */
import { describe, expect, test, vi } from "vitest";
import { createAgent, createMemoryStore, defineTool } from "../../src/index.js";
import { createServer, type Principal } from "../../src/server/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createGateTool } from "../support/agents.js";
import { createPayTool } from "../support/pay-tool.js";
import { verifies } from "../verifies.js";
import { byId, collectStream, connectA2a, say, sendTask, stateOf, textsOf } from "./a2a-client.js";
import { startTestServer } from "./rig.js";

const proven = verifies("PROT-8");

const a2a = { description: "Pays invoices." };
const working = "TASK_STATE_WORKING";
const asking = "TASK_STATE_INPUT_REQUIRED";
const completed = "TASK_STATE_COMPLETED";

/** An agent that pays as often as it is asked to: each payment is a question. */
function createPayer(paid: unknown[], payments = 1) {
  const store = createMemoryStore();
  const model = createScriptedModel(({ messages }) => {
    const results = messages
      .slice(messages.findLastIndex(({ role }) => role === "user"))
      .filter(({ role }) => role === "tool");
    return results.length < payments
      ? { calls: [{ name: "pay", input: { cents: results.length + 1 } }] }
      : { text: "It is paid." };
  });
  return { store, agents: [createAgent({ name: "payer", store, model, tools: [createPayTool(paid)] })], a2a };
}

describe("a message", () => {
  test("is a task that asks, is answered, and ends with the text as its artifact", proven, async () => {
    const paid: unknown[] = [];
    const { url, token } = await startTestServer(createPayer(paid));
    const client = await connectA2a(url, token);
    const task = await sendTask(client, say("Pay."));
    expect(stateOf(task)).toBe(asking);
    expect(textsOf(task.status?.message?.parts)).toEqual(['May this call run? pay {"cents":1}']);
    expect(paid).toEqual([]);
    const answered = await sendTask(client, say("yes", { taskId: task.id, contextId: task.contextId }));
    expect(answered).toMatchObject({ id: task.id, contextId: task.contextId });
    expect(stateOf(answered)).toBe(completed);
    expect(textsOf(answered.artifacts[0]?.parts)).toEqual(["It is paid."]);
    expect(paid).toEqual([{ cents: 1 }]);
    expect(await client.getTask(byId(task.id))).toEqual(answered);
  });

  test("that is sent again is the same task, and pays once", proven, async () => {
    const paid: unknown[] = [];
    const { url, token, store } = await startTestServer(createPayer(paid));
    const client = await connectA2a(url, token);
    const request = say("Pay.");
    const [first, second] = await Promise.all([sendTask(client, request), sendTask(client, request)]);
    expect(second.id).toBe(first.id);
    await sendTask(client, say("yes", { taskId: first.id }));
    const third = await sendTask(client, request);
    expect(third.id).toBe(first.id);
    expect(stateOf(third)).toBe(completed);
    expect(await store.list({})).toHaveLength(1);
    expect(paid).toHaveLength(1);
  });

  test("without waiting is a working task", proven, async () => {
    const gate = createGateTool();
    const store = createMemoryStore();
    const model = createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "Done." }]);
    const agents = [createAgent({ name: "slow", store, model, tools: [gate.tool] })];
    const { url, token } = await startTestServer({ store, agents, a2a });
    const client = await connectA2a(url, token);
    const task = await sendTask(client, say("Go.", {}, true));
    expect(stateOf(task)).toBe(working);
    await gate.started;
    gate.open("opened");
    await vi.waitFor(async () => expect(stateOf(await client.getTask(byId(task.id)))).toBe(completed));
  });

  test("in a known context is the next run of its session, and in an unknown one is refused", proven, async () => {
    const { url, token, store } = await startTestServer(createPayer([], 0));
    const client = await connectA2a(url, token);
    const first = await sendTask(client, say("Go."));
    const second = await sendTask(client, say("More.", { contextId: first.contextId }));
    expect(second.contextId).toBe(first.contextId);
    expect(second.id).not.toBe(first.id);
    expect(await store.list({})).toHaveLength(1);
    await expect(client.sendMessage(say("Go.", { contextId: "nothing" }))).rejects.toThrow("There is no session");
  });
});

describe("an answer", () => {
  test("that is sent again answers no other question", proven, async () => {
    const paid: unknown[] = [];
    const { url, token } = await startTestServer(createPayer(paid, 2));
    const client = await connectA2a(url, token);
    const { id: taskId } = await sendTask(client, say("Pay."));
    const yes = say("yes", { taskId });
    expect(stateOf(await sendTask(client, yes))).toBe(asking);
    const repeated = await sendTask(client, yes);
    expect(textsOf(repeated.status?.message?.parts)).toEqual(['May this call run? pay {"cents":2}']);
    expect(paid).toEqual([{ cents: 1 }]);
    expect(stateOf(await sendTask(client, say("yes", { taskId })))).toBe(completed);
    expect(stateOf(await sendTask(client, yes))).toBe(completed);
    expect(paid).toEqual([{ cents: 1 }, { cents: 2 }]);
  });

  test.each(["no", "yes, but only half of it", "Later."])("%s denies the call", proven, async (text) => {
    const paid: unknown[] = [];
    const { url, token, store } = await startTestServer(createPayer(paid));
    const client = await connectA2a(url, token);
    const { id: taskId, contextId } = await sendTask(client, say("Pay."));
    expect(stateOf(await sendTask(client, say(text, { taskId })))).toBe(completed);
    expect(paid).toEqual([]);
    const answer = (await store.read(contextId)).map(({ event }) => event).find(({ type }) => type === "answered");
    expect(answer).toMatchObject({ answer: { type: "deny", note: text }, by: "token" });
  });

  test("for a question that no longer waits is refused, as is one to a task that is over", proven, async () => {
    const paid: unknown[] = [];
    const { url, token } = await startTestServer(createPayer(paid, 2));
    const client = await connectA2a(url, token);
    const first = await sendTask(client, say("Pay."));
    const metadata = first.status?.message?.metadata;
    await sendTask(client, say("yes", { taskId: first.id, metadata }));
    await expect(client.sendMessage(say("yes", { taskId: first.id, metadata }))).rejects.toThrow("no longer waiting");
    await sendTask(client, say("no", { taskId: first.id }));
    await expect(client.sendMessage(say("yes", { taskId: first.id }))).rejects.toMatchObject({
      name: "UnsupportedOperationError",
    });
    expect(paid).toHaveLength(1);
  });

  test("to a tool is its text, or a data part that fits its schema", proven, async () => {
    const store = createMemoryStore();
    const answers: unknown[] = [];
    const choose = defineTool({
      name: "choose",
      description: "Asks.",
      input: { type: "object" },
      durable: true,
      async execute(_, context) {
        answers.push(await context.ask({ name: "name", message: "What is it called?" }));
        const schema = { type: "object", properties: { size: { type: "number" } }, required: ["size"] } as const;
        answers.push(await context.ask({ name: "size", message: "How large?", schema }));
        return "chosen";
      },
    });
    const model = createScriptedModel([{ calls: [{ name: "choose" }] }, { text: "Done." }]);
    const agents = [createAgent({ name: "chooser", store, model, tools: [choose] })];
    const { url, token } = await startTestServer({ store, agents, a2a });
    const client = await connectA2a(url, token);
    const { id: taskId } = await sendTask(client, say("Choose."));
    const second = await sendTask(client, say("Ada", { taskId }));
    expect(textsOf(second.status?.message?.parts)).toEqual(["How large?"]);
    await expect(client.sendMessage(say("large", { taskId }))).rejects.toThrow("data part");
    const data = (value: object) => [{ ...say("").message?.parts[0], content: { $case: "data" as const, value } }];
    await expect(client.sendMessage(say("", { taskId, parts: data({ size: "xl" }) as never }))).rejects.toThrow(
      "schema",
    );
    expect(stateOf(await sendTask(client, say("", { taskId, parts: data({ size: 4 }) as never })))).toBe(completed);
    expect(answers.at(-2)).toMatchObject({ value: "Ada" });
    expect(answers.at(-1)).toMatchObject({ value: { size: 4 } });
  });
});

describe("a stream", () => {
  test("has the task, its progress, its artifact and its end", proven, async () => {
    const { url, token } = await startTestServer(createPayer([]));
    const client = await connectA2a(url, token);
    const first = await collectStream(client.sendMessageStream(say("Pay.")));
    expect(first[0]).toBe(`task: ${working}`);
    expect(first).toContain(`${working}: pay`);
    expect(first.at(-1)).toBe(`${asking}: May this call run? pay {"cents":1}`);
    const { id: taskId } = await sendTask(client, say("Pay."));
    const second = await collectStream(client.sendMessageStream(say("yes", { taskId })));
    expect(second.slice(-2)).toEqual(["artifact: It is paid.", completed]);
  });

  test("can be joined by another client, and goes on when one leaves", proven, async () => {
    const gate = createGateTool();
    const store = createMemoryStore();
    const model = createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "Done." }]);
    const agents = [createAgent({ name: "slow", store, model, tools: [gate.tool] })];
    const { url, token } = await startTestServer({ store, agents, a2a });
    const client = await connectA2a(url, token);
    const request = say("Go.");
    for await (const { payload } of client.sendMessageStream(request)) if (payload?.$case === "statusUpdate") break;
    await gate.started;
    const task = await sendTask(client, {
      ...request,
      configuration: { ...say("").configuration, returnImmediately: true } as never,
    });
    const joined = client.resubscribeTask(byId(task.id));
    expect((await joined.next()).value).toMatchObject({ payload: { $case: "task", value: { id: task.id } } });
    gate.open("opened");
    expect((await collectStream(joined)).slice(-2)).toEqual(["artifact: Done.", completed]);
    await expect(collectStream(client.resubscribeTask(byId(task.id)))).rejects.toMatchObject({
      name: "UnsupportedOperationError",
    });
  });

  test("that drains says that the task goes on", proven, async () => {
    const gate = createGateTool();
    const store = createMemoryStore();
    const model = createScriptedModel(() => ({ calls: [{ name: "gate" }] }));
    const agents = [createAgent({ name: "slow", store, model, tools: [gate.tool] })];
    const { url, token, server } = await startTestServer({ store, agents, a2a });
    const client = await connectA2a(url, token);
    const streamed = collectStream(client.sendMessageStream(say("Go.")));
    const sent = sendTask(client, say("Go."));
    streamed.catch(() => {});
    await vi.waitFor(() => expect(gate.runs()).toBe(2));
    const closed = server.close({ graceMs: 50 });
    await expect(streamed).rejects.toThrow("the task continues");
    expect(stateOf(await sent)).toBe(working);
    await closed;
  });
});

test(
  "a task whose session is deleted during its stream is not found, and the server logs no failure",
  proven,
  async () => {
    const gate = createGateTool();
    const store = createMemoryStore();
    const model = createScriptedModel(() => ({ calls: [{ name: "gate" }] }));
    const agents = [createAgent({ name: "slow", store, model, tools: [gate.tool] })];
    const { url, token, lines } = await startTestServer({ store, agents, a2a });
    const client = await connectA2a(url, token);
    const stream = client.sendMessageStream(say("Go."));
    const first = await stream.next();
    const contextId = first.value?.payload?.$case === "task" ? first.value.payload.value.contextId : "";
    const sent = client.sendMessage(say("More.", { contextId }));
    const rest = collectStream(stream);
    for (const pending of [sent, rest]) pending.catch(() => {});
    await gate.started;
    await vi.waitFor(async () => expect((await store.load(contextId))?.state.queue).toHaveLength(1));
    await store.delete(contextId, { now: Date.now(), force: true });
    gate.open("opened");
    await expect(rest).rejects.toMatchObject({ cause: { name: "TaskNotFoundError" } });
    await expect(sent).rejects.toMatchObject({ name: "TaskNotFoundError" });
    expect(lines.filter((line) => "error" in line)).toEqual([]);
  },
);

test("a task that is cancelled is canceled, and one that is over cannot be", proven, async () => {
  const gate = createGateTool();
  const store = createMemoryStore();
  const model = createScriptedModel([{ calls: [{ name: "gate" }] }]);
  const agents = [createAgent({ name: "slow", store, model, tools: [gate.tool] })];
  const { url, token } = await startTestServer({ store, agents, a2a });
  const client = await connectA2a(url, token);
  const task = await sendTask(client, say("Go.", {}, true));
  await gate.started;
  expect(stateOf(await client.cancelTask(byId(task.id)))).toBe("TASK_STATE_CANCELED");
  await expect(client.cancelTask(byId(task.id))).rejects.toMatchObject({ name: "TaskNotCancelableError" });
});

test("a run that fails is a failed task", proven, async () => {
  const store = createMemoryStore();
  const model = createScriptedModel([{ error: { kind: "invalid_request", message: "No s3cret." } }]);
  const agents = [createAgent({ name: "payer", store, model })];
  const redact = (text: string) => text.replaceAll("s3cret", "***");
  const { url, token } = await startTestServer({ store, agents, a2a, redact });
  const task = await sendTask(await connectA2a(url, token), say("Pay."));
  expect(stateOf(task)).toBe("TASK_STATE_FAILED");
  expect(textsOf(task.status?.message?.parts).join()).toContain("No ***.");
});

describe("another principal", () => {
  const people: { readonly [token: string]: Principal } = {
    ada: { id: "ada", scopes: ["read", "run", "approve"] },
    eve: { id: "eve", scopes: ["read", "run", "approve"] },
    bob: { id: "bob", scopes: ["read", "run"] },
  };
  const authenticate = (request: Request) => people[request.headers.get("authorization")?.slice(7) ?? ""] ?? null;

  test("finds no task, and its equal message is a task of its own", proven, async () => {
    const paid: unknown[] = [];
    const { url } = await startTestServer({ ...createPayer(paid), authenticate });
    const [ada, eve] = [await connectA2a(url, "ada"), await connectA2a(url, "eve")];
    const request = say("Pay.");
    const task = await sendTask(ada, request);
    const notFound = { name: "TaskNotFoundError" };
    for (const id of [task.id, "nothing:here", "nothing", ":", "%", `${task.id}x`, `${task.id}:x`, "x".repeat(9_000)]) {
      await expect(eve.getTask(byId(id)), id).rejects.toMatchObject(notFound);
      await expect(eve.cancelTask(byId(id)), id).rejects.toMatchObject(notFound);
      await expect(eve.sendMessage(say("yes", { taskId: id })), id).rejects.toMatchObject(notFound);
      await expect(collectStream(eve.resubscribeTask(byId(id))), id).rejects.toMatchObject(notFound);
    }
    await expect(eve.sendMessage(say("Go.", { contextId: task.contextId }))).rejects.toThrow("There is no session");
    expect((await sendTask(eve, request)).id).not.toBe(task.id);
    expect(stateOf(await ada.getTask(byId(task.id)))).toBe(asking);
    expect(paid).toEqual([]);
  });

  test("who may not approve is told where to answer, and answers nothing", proven, async () => {
    const paid: unknown[] = [];
    const { url } = await startTestServer({ ...createPayer(paid), authenticate });
    const bob = await connectA2a(url, "bob");
    const task = await sendTask(bob, say("Pay."));
    expect(stateOf(task)).toBe(working);
    expect(textsOf(task.status?.message?.parts).join()).toMatch(/is waiting for a person.*\/answers/);
    await expect(bob.sendMessage(say("yes", { taskId: task.id }))).rejects.toThrow("scope approve");
    expect(paid).toEqual([]);
  });

  test("without a token gets the card, and nothing else", proven, async () => {
    const { url } = await startTestServer({ ...createPayer([]), authenticate });
    const card = await fetch(`${url}/.well-known/agent-card.json`);
    expect(await card.json()).toMatchObject({
      name: "payer",
      description: "Pays invoices.",
      supportedInterfaces: [{ url: `${url}/a2a`, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
      skills: [{ id: "payer", name: "payer", description: "Pays invoices." }],
    });
    await expect((await connectA2a(url, "none")).sendMessage(say("Pay."))).rejects.toThrow("401");
  });
});

describe("a request", () => {
  const post = (url: string, token: string, body: unknown, version = "1.0") =>
    fetch(`${url}/a2a`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", "a2a-version": version },
      body: JSON.stringify(body),
    });

  test(
    "of another version, for an unknown method, or that is malformed gets an error of JSON-RPC",
    proven,
    async () => {
      const { url, token } = await startTestServer(createPayer([]));
      const ask = async (body: unknown, version?: string) => {
        const response = await post(url, token, body, version);
        return ((await response.json()) as { readonly error?: unknown }).error;
      };
      const call = (method: string, params: unknown) => ({ jsonrpc: "2.0", id: 1, method, params });
      expect(await ask(call("message/send", {}), "0.3")).toMatchObject({ code: -32_009 });
      expect(await ask(call("message/send", {}))).toMatchObject({ code: -32_601 });
      for (const body of [[], {}, call("SendMessage", []), call("SendMessage", {}), call("SendStreamingMessage", {})])
        expect(await ask(body), JSON.stringify(body)).toMatchObject({ code: -32_602 });
      const message = { messageId: "m", role: "ROLE_USER" };
      for (const wrong of [{ parts: [] }, { parts: [{}] }, { parts: [{ text: "x" }], messageId: "m".repeat(300) }])
        expect(await ask(call("SendMessage", { message: { ...message, ...wrong } }))).toMatchObject({ code: -32_602 });
      const push = { taskPushNotificationConfig: { url: "https://example.org" } };
      const pushed = { message: { ...message, parts: [{ text: "x" }] }, configuration: push };
      expect(await ask(call("SendMessage", pushed))).toMatchObject({ code: -32_003 });
      expect(await ask(call("ListTasks", {}))).toMatchObject({ code: -32_004 });
    },
  );

  test("that is too large is refused before it is parsed", proven, async () => {
    const { url, token } = await startTestServer({ ...createPayer([]), limits: { maxBodyBytes: 1_000 } });
    expect((await post(url, token, { text: "x".repeat(2_000) })).status).toBe(413);
  });

  test("to a server without the option is not found", proven, async () => {
    const { store, agents } = createPayer([]);
    const { url, token } = await startTestServer({ store, agents });
    expect((await post(url, token, {})).status).toBe(404);
    expect((await fetch(`${url}/.well-known/agent-card.json`)).status).toBe(404);
  });
});

test.each([
  [{}, "description"],
  [{ description: "D", agent: "" }, "a2a.agent"],
  [{ description: "D", url: "ftp://x" }, "a2a.url"],
  [{ description: "D", skills: [] }, "a2a.skills"],
  [{ description: "D", skills: [{ id: "x" }] }, "a2a.skills"],
  [{ description: "D", skill: [] }, 'has no option "skill". Do you mean skills?'],
])("the option %j is refused", proven, (options, message) => {
  const { store, agents } = createPayer([]);
  const token = "x".repeat(30);
  expect(() => createServer({ store, agents, token, a2a: options as never })).toThrow(message);
});
