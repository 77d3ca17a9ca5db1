/**
 * Remote agents as tools: against Pawl's own A2A server, and against servers that answer what they should not.
 */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type Agent, type Clock, createAgent, createMemoryStore, type RunResult } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { type A2aAgentOptions, connectA2aAgent } from "../../src/tools/a2a/index.js";
import { readEvents } from "../support/durable-tool.js";
import { verifies } from "../verifies.js";
import {
  createCard,
  type Fields,
  produced,
  type RemoteScript,
  type ScriptedRemote,
  says,
  startPayer,
  startScriptedRemote,
  task,
} from "./a2a-remote.js";

const proven = verifies("PROT-8");

/** An agent whose model calls the remote agent once, in processes that run one after the other. */
async function bench(url: string, options: Partial<A2aAgentOptions> = {}, clock?: Clock) {
  const store = createMemoryStore();
  const start = async (): Promise<Agent> => {
    const model = createScriptedModel(({ messages }) =>
      messages.some(({ role }) => role === "tool")
        ? { text: "Done." }
        : { calls: [{ name: "remote", input: { message: "Pay." } }] },
    );
    const remote = await connectA2aAgent({ name: "remote", url, trust: "all", ...options });
    return createAgent({ name: "clerk", model, store, tools: [remote], ...(clock === undefined ? {} : { clock }) });
  };
  const readOutput = async () => {
    const events = await readEvents(store);
    return events.findLast((event) => event.type === "tool_finished");
  };
  return { store, start, readOutput };
}

const textOf = (finished: Awaited<ReturnType<Awaited<ReturnType<typeof bench>>["readOutput"]>>) =>
  finished?.output?.type === "text" ? finished.output.text : undefined;

/** Runs the agent against a scripted remote agent. */
async function callRemote(script: Partial<RemoteScript>, options: Partial<A2aAgentOptions> = {}, clock?: Clock) {
  const remote = await startScriptedRemote(script);
  const rig = await bench(remote.url, options, clock);
  const agent = await rig.start();
  const result = await agent.run("Go", { sessionId: "s" });
  return { ...rig, remote, agent, result };
}

const asked = (result: RunResult) => (result.status === "awaiting_human" ? result.approvals : []);

describe("an agent of Pawl's server", () => {
  test("asks a person here what it would ask there, and its text is the output", proven, async () => {
    const { url, headers, paid, store: remoteStore } = await startPayer();
    const { start, readOutput } = await bench(url, { headers });
    const waiting = await (await start()).run("Go", { sessionId: "s" });
    const [question] = asked(waiting);
    expect(question?.question).toContain('The A2A agent "remote" asks: May this call run? pay {"cents":5}');
    expect(paid).toEqual([]);
    // Another process has the answer.
    const session = (await start()).session("s");
    const { callKey = "", questionId = "" } = question ?? {};
    await session.answer(callKey, { type: "reply", value: { decision: "allow" } }, { questionId });
    expect(await session.resume()).toMatchObject({ status: "completed", text: "Done." });
    expect(textOf(await readOutput())).toBe("It is paid.");
    expect(paid).toEqual([{ cents: 5 }]);
    expect(await remoteStore.list({})).toHaveLength(1);
  });

  test("is denied what the person denies or declines", proven, async () => {
    const { url, headers, paid, store: remoteStore } = await startPayer();
    const { start, readOutput } = await bench(url, { headers });
    const agent = await start();
    const [question] = asked(await agent.run("Go", { sessionId: "s" }));
    const { callKey = "", questionId = "" } = question ?? {};
    await agent.session("s").answer(callKey, { type: "decline" }, { questionId });
    expect(await agent.session("s").resume()).toMatchObject({ status: "completed" });
    expect(textOf(await readOutput())).toBe("It is paid.");
    expect(paid).toEqual([]);
    const [remote] = await remoteStore.list({});
    const log = await remoteStore.read(remote?.sessionId ?? "");
    expect(log.filter(({ event }) => event.type === "answered")).toMatchObject([
      { event: { answer: { type: "deny" } } },
    ]);
  });

  test("has its task cancelled when the run is aborted", proven, async () => {
    const remote = await startScriptedRemote({});
    const { start } = await bench(remote.url);
    const agent = await start();
    const running = agent.run("Go", { sessionId: "s" });
    await vi.waitFor(() => expect(remote.requests).toContain("get"));
    await agent.session("s").abort();
    expect(await running).toMatchObject({ status: "aborted" });
    await vi.waitFor(() => expect(remote.requests.at(-1)).toBe("CancelTask"));
  });
});

describe("a result", () => {
  test.each<readonly [string, readonly Fields[], object]>([
    ["one value is JSON", [{ data: { total: 5 } }], { type: "json", value: { total: 5 } }],
    ["texts are joined", [{ text: "a" }, { text: "b" }], { type: "text", text: "a\nb" }],
    [
      "a file by reference is its address, which is not fetched",
      [{ url: "http://127.0.0.1:1/secret", filename: "plan.pdf" }],
      { type: "text", text: "plan.pdf: http://127.0.0.1:1/secret" },
    ],
    ["nothing is said", [], { type: "text", text: "(no output)" }],
  ])("%s", proven, async (_name, parts, output) => {
    const { readOutput } = await callRemote({ get: () => produced(...parts) });
    expect(await readOutput()).toMatchObject({ outcome: "ok", output });
  });

  test("has the files that the agent sends", proven, async () => {
    const data = Buffer.from("png").toString("base64");
    const { readOutput } = await callRemote({
      get: () => produced({ text: "A picture" }, { raw: data, mediaType: "image/png", filename: "p.png" }),
    });
    const finished = await readOutput();
    expect(finished?.output).toMatchObject({
      type: "content",
      parts: [
        { type: "text", text: "A picture" },
        { type: "file", mediaType: "image/png", filename: "p.png" },
      ],
    });
  });

  test("can be a message without a task", proven, async () => {
    const { readOutput, remote } = await callRemote({
      send: () => ({ messageId: "m", role: "ROLE_AGENT", parts: [{ text: "At once." }] }),
    });
    expect(textOf(await readOutput())).toBe("At once.");
    expect(remote.requests).toEqual(["send 1"]);
  });
});

test("a question in plain text is answered in plain text, once, with the task's ids", proven, async () => {
  const remote = await startScriptedRemote({
    get: (_poll, answers) =>
      answers.length === 0 ? says("INPUT_REQUIRED", "Which box?") : produced({ text: "Packed." }),
  });
  const { start, readOutput } = await bench(remote.url);
  const agent = await start();
  const [question] = asked(await agent.run("Go", { sessionId: "s" }));
  expect(question?.question).toBe('The A2A agent "remote" asks: Which box?');
  const { callKey = "", questionId = "" } = question ?? {};
  await agent.session("s").answer(callKey, { type: "reply", value: { answer: "The red one." } }, { questionId });
  expect(await agent.session("s").resume()).toMatchObject({ status: "completed" });
  expect(textOf(await readOutput())).toBe("Packed.");
  expect(remote.answers).toMatchObject([{ taskId: "t1", contextId: "c1", parts: [{ text: "The red one." }] }]);
});

describe("a task without a result", () => {
  test("is unknown when its question is answered", proven, async () => {
    const unknown = { error: { code: -32_001, message: "Task not found" } };
    const get = (poll: number) => (poll === 1 ? says("INPUT_REQUIRED", "Which box?") : unknown);
    const { agent, result, readOutput } = await callRemote({ get });
    const [{ callKey = "", questionId = "" } = {}] = asked(result);
    await agent.session("s").answer(callKey, { type: "reply", value: { answer: "The red one." } }, { questionId });
    expect(await agent.session("s").resume()).toMatchObject({ status: "completed" });
    expect(textOf(await readOutput())).toMatch(/does not know the task/);
    expect(await readOutput()).toMatchObject({ outcome: "error" });
  });

  test.each<readonly [string, object, RegExp]>([
    ["is rejected", says("REJECTED", "Not today."), /rejected the task: Not today/],
    ["fails", says("FAILED", "The box is torn."), /the task failed: The box is torn/],
    ["is cancelled there", task("CANCELED"), /was cancelled: no reason given/],
    ["has an unknown state", task("DREAMING"), /unknown state/],
    ["is unknown", { error: { code: -32_001, message: "Task not found" } }, /does not know the task/],
  ])("%s", proven, async (_name, reply, message) => {
    const { readOutput } = await callRemote({ get: () => ({ ...reply }) });
    expect(textOf(await readOutput())).toMatch(message);
    expect(await readOutput()).toMatchObject({ outcome: "error" });
  });

  test("needs a login, and is cancelled", proven, async () => {
    const { readOutput, remote } = await callRemote({ get: () => says("AUTH_REQUIRED", "Log in to the bank.") });
    expect(textOf(await readOutput())).toMatch(/needs a login, and was cancelled: Log in to the bank/);
    expect(remote.requests).toEqual(["send 1", "get", "CancelTask"]);
  });

  test.each([
    ["a2a_rejected", "REJECTED"],
    ["a2a_auth_required", "AUTH_REQUIRED"],
  ])("throws %s to a program that calls the tool itself", proven, async (code, state) => {
    const remote = await startScriptedRemote({ get: () => task(state) });
    const tool = await connectA2aAgent({ name: "remote", url: remote.url });
    const context = {
      ...{ sessionId: "s", idempotencyKey: "k", signal: new AbortController().signal, progress() {} },
      step: (_name: string, run: (step: object) => unknown) => run({ signal: new AbortController().signal, tries: 1 }),
    };
    const call = async () => tool.execute?.({ message: "Go" }, context as never);
    await expect(call()).rejects.toMatchObject({ name: "PawlError", code });
  });

  test("takes longer than it may, and is cancelled", proven, async () => {
    const { readOutput, remote } = await callRemote({}, { taskTimeoutMs: 1 });
    expect(textOf(await readOutput())).toMatch(/took longer than taskTimeoutMs/);
    expect(remote.requests).toEqual(["send 1", "get", "CancelTask"]);
  });

  test("waits for a person for no longer than it may take, and is cancelled", proven, async () => {
    const get = () => says("INPUT_REQUIRED", "Which box?");
    const { agent, remote, result, readOutput } = await callRemote({ get }, { taskTimeoutMs: 60_000 });
    const now = Date.now;
    expect(asked(result)[0]?.expiresAt).toBeLessThanOrEqual(now() + 60_000);
    vi.spyOn(Date, "now").mockImplementation(() => now() + 60_001);
    onTestFinished(() => void vi.restoreAllMocks());
    expect(await agent.session("s").resume()).toMatchObject({ status: "completed" });
    expect(textOf(await readOutput())).toMatch(/took longer than taskTimeoutMs/);
    expect(remote.requests.at(-1)).toBe("CancelTask");
  });
});

describe("a message whose response is lost", () => {
  /** Breaks the first connection of a message, after the agent has it. */
  const lose = () => {
    const sent: string[] = [];
    const send: RemoteScript["send"] = ({ messageId }) => {
      sent.push(String(messageId));
      return sent.length === 1 ? { error: { code: -32_603, message: "Lost." } } : task("WORKING");
    };
    return { sent, script: { send, get: () => produced({ text: "Packed." }) } };
  };

  test("is sent again with the same id, if the agent keeps ids", proven, async () => {
    const { sent, script } = lose();
    const { readOutput, remote } = await callRemote(script, { resend: true });
    expect(textOf(await readOutput())).toBe("Packed.");
    expect(new Set(sent).size).toBe(1);
    expect(remote.requests.slice(0, 2)).toEqual(["send 1", "send 1"]);
  });

  test("is not sent again by default", proven, async () => {
    const { readOutput, remote } = await callRemote(lose().script);
    expect(textOf(await readOutput())).toMatch(/Lost/);
    expect(remote.requests).toEqual(["send 1"]);
  });
});

describe("a hostile agent", () => {
  test("without an end is left to the durable sleep, and no process waits", proven, async () => {
    const now = performance.now.bind(performance);
    let passedMs = 0;
    vi.spyOn(performance, "now").mockImplementation(() => now() + passedMs);
    onTestFinished(() => void vi.restoreAllMocks());
    const get = () => {
      // As if this process had polled for longer than it may.
      passedMs = 400_000;
      return task("WORKING");
    };
    const clock = createTestClock();
    const { result, agent, remote } = await callRemote({ get }, {}, clock);
    expect(result).toMatchObject({ status: "waiting", waits: [{ on: "time" }] });
    clock.jump(60_000);
    expect(await agent.session("s").resume()).toMatchObject({ status: "waiting", waits: [{ on: "time" }] });
    expect(remote.requests).toEqual(["send 1", "get", "get"]);
  });

  test("that names another task is not believed", proven, async () => {
    const { readOutput } = await callRemote({
      get: (poll) => (poll === 1 ? { ...produced({ text: "Wrong." }), id: "t2" } : produced({ text: "Right." })),
    });
    expect(textOf(await readOutput())).toBe("Right.");
  });

  test.each([
    ["no id", ""],
    ["too long an id", "x".repeat(8_001)],
    ["half a character", "\ud800"],
  ])("that begins a task with %s ends the call", proven, async (_name, id) => {
    const { readOutput } = await callRemote({ send: () => task("WORKING", { id }) });
    expect(textOf(await readOutput())).toMatch(/no valid id/);
  });

  test("with a huge result is cut for the model, and beyond the bound refused", proven, async () => {
    const large = await callRemote({ get: () => produced({ text: "x".repeat(200_000) }) });
    expect(textOf(await large.readOutput())?.length).toBeLessThan(60_000);
    const huge = await callRemote({ get: () => produced({ text: "x".repeat(9_000_000) }) });
    expect(textOf(await huge.readOutput())).toMatch(/longer than 8388608 bytes/);
    expect(huge.remote.requests).toEqual(["send 1", "get", "CancelTask"]);
  });

  const redirect = { location: "http://127.0.0.1:1/" };

  test("that redirects is not followed, so no header reaches another host", proven, async () => {
    const target = await startScriptedRemote({});
    const remote = await startScriptedRemote({}, (path) =>
      path === "/a2a" ? [307, { location: `${target.url}/a2a` }, ""] : null,
    );
    const { start, readOutput } = await bench(remote.url, { headers: { authorization: "secret" } });
    expect(await (await start()).run("Go", { sessionId: "s" })).toMatchObject({ status: "completed" });
    expect(textOf(await readOutput())).toMatch(/redirects are not followed/);
    expect(target.authorizations).toEqual([]);
  });

  test.each<readonly [string, Parameters<typeof startScriptedRemote>, RegExp]>([
    ["redirects its card", [{}, () => [302, redirect, ""]], /redirects are not followed/],
    ["has a card that is not JSON", [{}, () => [200, {}, "<p>"]], /could not be connected/],
    ["has an endless card", [{}, () => [200, {}, "x".repeat(9_000_000)]], /longer than/],
    [
      "names an endpoint on another origin",
      [{ card: () => createCard("http://169.254.169.254") }],
      /http:\/\/169\.254\.169\.254\/a2a", which is on another origin/,
    ],
    ["speaks another version", [{ card: (url) => createCard(url, { supportedInterfaces: [{ url }] }) }], /no endpoint/],
    ["has a card of the wrong types", [{ card: () => ({ supportedInterfaces: 5 }) }], /no endpoint/],
  ])("that %s cannot be connected", proven, async (_name, remote, message) => {
    const { url } = await startScriptedRemote(...remote);
    await expect(connectA2aAgent({ name: "remote", url })).rejects.toThrow(message);
  });
});

describe("the tool", () => {
  test("describes the agent as its card does, and asks before each call by default", proven, async () => {
    const { url } = await startScriptedRemote({});
    const tool = await connectA2aAgent({ name: "remote", url });
    expect(tool).toMatchObject({ name: "remote", needsApproval: true, durable: true });
    expect(tool.description).toBe("Packer: Packs boxes.\n- Pack: Packs one box.");
    expect((await connectA2aAgent({ name: "remote", url, description: "Mine." })).description).toBe("Mine.");
  });

  test("sends headers with each request, and finds a card at its own address", proven, async () => {
    let count = 0;
    const headers = async () => {
      count += 1;
      return { authorization: `token ${count}` };
    };
    const remote: ScriptedRemote = await startScriptedRemote({ get: () => produced({ text: "Packed." }) });
    const { start } = await bench(`${remote.url}/agents/7/agent-card.json`, { headers, endpoint: `${remote.url}/a2a` });
    await (await start()).run("Go", { sessionId: "s" });
    expect(remote.authorizations).toEqual(["token 1", "token 2", "token 3"]);
  });

  test("headers that never come do not outlast the time limit of a request", proven, async () => {
    const remote = await startScriptedRemote({ get: () => produced({ text: "Packed." }) });
    const options = {
      name: "remote",
      url: remote.url,
      headers: () => new Promise<never>(() => {}),
      requestTimeoutMs: 100,
    };
    await expect(connectA2aAgent(options)).rejects.toThrow(
      "could not be connected: The operation was aborted due to timeout",
    );
  });

  test.each<readonly [string, object]>([
    ["url", { url: "ftp://example.org" }],
    ["endpoint", { endpoint: "nowhere" }],
    ["headers", { headers: "none" }],
    ["trust", { trust: "hints" }],
  ])("refuses a wrong %s", proven, async (name, options) => {
    const call = connectA2aAgent({ name: "remote", url: "http://localhost:1", ...options } as never);
    await expect(call).rejects.toMatchObject({ code: "bad_configuration", message: expect.stringContaining(name) });
  });
});
