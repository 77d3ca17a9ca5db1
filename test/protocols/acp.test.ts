/**
 * ACP over durable sessions: its own client, unmodified, in this process.
 */
import * as sdk from "@agentclientprotocol/sdk";
import { describe, expect, onTestFinished, test } from "vitest";
import { finishPlan } from "../../src/cli/agent/finish-plan.js";
import { type Agent, createAgent, createMemoryStore, defineTool, type Store } from "../../src/index.js";
import { type AcpAgent, type AcpHost, serveAcp } from "../../src/protocols/acp/index.js";
import { createScriptedModel, type Script } from "../../src/testing/scripted-model.js";
import { askPerson, todo } from "../../src/tools/index.js";
import { createEchoTool } from "../support/agents.js";
import { createPayTool } from "../support/pay-tool.js";
import { verifies } from "../verifies.js";
import { collectText, connectClient, createStreamPair, type Person } from "./acp-client.js";

const cwd = "/work";
const open = { cwd, mcpServers: [] };

type Made = { readonly agent: Agent; readonly paid: unknown[]; readonly store: Store };

function agentOf(script: Script, store = createMemoryStore()): Made {
  const paid: unknown[] = [];
  const pay = createPayTool(paid);
  const edit = defineTool({
    name: "edit_file",
    description: "Edits.",
    input: { type: "object" },
    execute: () => "Edited a.ts",
  });
  const tools = [pay, edit, createEchoTool().tool, askPerson()];
  const agent = createAgent({ name: "pawl", root: cwd, model: createScriptedModel(script), tools, store });
  return { agent, paid, store };
}

async function editorOf({ agent, store }: Made, person: Person = {}, more: Partial<AcpAgent & AcpHost> = {}) {
  const [here, there] = createStreamPair();
  let ids = 0;
  const reports: unknown[] = [];
  const host: AcpHost = {
    store,
    info: { name: "pawl", title: "Pawl", version: "0" },
    agentFor: async () => ({ agent, ...more }),
    makeId: () => `id-${++ids}-${Math.random()}`,
    by: "Ada",
    report: (what) => reports.push(what),
    ...(more.redaction === undefined ? {} : { redaction: more.redaction }),
  };
  const connection = serveAcp(sdk, host, here);
  const editor = await connectClient(there, person);
  onTestFinished(() => connection.close());
  return { ...editor, reports, close: () => connection.close() };
}

const pay = { calls: [{ name: "pay", input: { cents: 5 } }] };

describe("a prompt", () => {
  test("streams thoughts, words, calls and results", verifies("PROT-3"), async () => {
    const edit = { path: "src/a.ts", oldText: "a", newText: "b" };
    const editor = await editorOf(
      agentOf([
        { reasoning: "I look.", text: "Looking.", calls: [{ name: "edit_file", input: edit }], chunk: 2 },
        { text: "Found it.", chunk: 3 },
      ]),
      {},
      { contextWindow: 1_000 },
    );
    const { sessionId } = await editor.request("session/new", open);
    expect(await editor.prompt(sessionId, "Find it.")).toMatchObject({
      stopReason: "end_turn",
      _meta: { pawl: { reason: "stop", usage: { outputTokens: 10 } } },
    });
    expect(collectText(editor.updates, "agent_thought_chunk")).toBe("I look.");
    expect(collectText(editor.updates, "agent_message_chunk")).toBe("Looking.Found it.");
    const calls = editor.updates.filter(({ sessionUpdate }) => sessionUpdate.startsWith("tool_call"));
    const diff = [{ type: "diff", path: "/work/src/a.ts", oldText: "a", newText: "b" }];
    expect(calls).toMatchObject([
      { sessionUpdate: "tool_call", status: "pending", kind: "edit", name: "edit_file" },
      {
        sessionUpdate: "tool_call_update",
        status: "in_progress",
        title: "edit_file src/a.ts",
        locations: [{ path: "/work/src/a.ts" }],
        rawInput: edit,
        content: diff,
      },
      { sessionUpdate: "tool_call_update", status: "completed", rawOutput: "Edited a.ts", content: diff },
    ]);
    expect(editor.updates).toContainEqual({ sessionUpdate: "usage_update", used: 15, size: 1_000 });
  });

  test("shows the plan that the agent keeps, and what the session has cost", verifies("PROT-3"), async () => {
    const plan = (...statuses: readonly string[]) => ({
      calls: [{ name: "todo", input: { items: statuses.map((status, at) => ({ text: `Part ${at + 1}`, status })) } }],
      usage: { inputTokens: 10, outputTokens: 2, costUsd: 0.25 },
    });
    const store = createMemoryStore();
    const script = [
      plan("in_progress", "open"),
      plan("done", "in_progress"),
      // A call that is refused keeps no plan.
      plan("done", "unheard-of"),
      { text: "Done.", usage: { inputTokens: 10, outputTokens: 2, costUsd: 0.25 } },
      { text: "More." },
    ];
    const agent = createAgent({ name: "pawl", root: cwd, model: createScriptedModel(script), tools: [todo()], store });
    const made = { agent, store, paid: [] };
    const editor = await editorOf(made, {}, { contextWindow: 1_000 });
    const { sessionId } = await editor.request("session/new", open);
    await editor.prompt(sessionId, "Go.");
    const plans = (updates: readonly sdk.SessionUpdate[]) =>
      updates.flatMap((update) => (update.sessionUpdate === "plan" ? [update.entries] : []));
    const entry = (content: string, status: string) => ({ content, priority: "medium", status });
    const kept = [
      [entry("Part 1", "in_progress"), entry("Part 2", "pending")],
      [entry("Part 1", "completed"), entry("Part 2", "in_progress")],
    ];
    expect(plans(editor.updates)).toEqual(kept);
    const costs = () =>
      editor.updates.flatMap((update) => (update.sessionUpdate === "usage_update" ? [update.cost?.amount] : []));
    expect(costs()).toEqual([0.25, 0.5, 0.75, 1]);
    // A model without a price: the sum is not known any more.
    await editor.prompt(sessionId, "More.");
    expect(costs().at(-1)).toBeUndefined();
    const later = await editorOf(made);
    await later.request("session/load", { sessionId, ...open });
    expect(plans(later.updates)).toEqual(kept);
  });

  test("shows the plan that the person is asked about", verifies("PROT-3"), async () => {
    const script = [{ calls: [{ name: "finish_plan", input: { steps: ["Read.", "Write."] } }] }, { text: "Done." }];
    const model = createScriptedModel(script);
    const store = createMemoryStore();
    const agent = createAgent({ name: "pawl", root: cwd, model, tools: [finishPlan()], store });
    const editor = await editorOf({ agent, store, paid: [] });
    const { sessionId } = await editor.request("session/new", open);
    await editor.prompt(sessionId, "Plan.");
    const entries = ["Read.", "Write."].map((content) => ({ content, priority: "medium", status: "pending" }));
    expect(editor.updates.filter(({ sessionUpdate }) => sessionUpdate === "plan")).toEqual([
      { sessionUpdate: "plan", entries },
    ]);
    expect(editor.updates).toContainEqual(expect.objectContaining({ name: "finish_plan", kind: "switch_mode" }));
  });

  test("sends texts, links and images to the model", async () => {
    const store = createMemoryStore();
    const made = agentOf([{ text: "Seen." }], store);
    const editor = await editorOf(made);
    const { sessionId } = await editor.request("session/new", open);
    await editor.request("session/prompt", {
      sessionId,
      prompt: [
        { type: "text", text: "See" },
        { type: "resource_link", name: "a.ts", uri: "file:///work/a.ts" },
        { type: "resource", resource: { uri: "file:///work/b.ts", text: "let b" } },
        { type: "image", mimeType: "image/png", data: "aGk=" },
      ],
    });
    const [message] = await made.agent.session(sessionId).messages();
    expect(message?.parts).toEqual([
      { type: "text", text: "See" },
      { type: "text", text: "[a.ts](file:///work/a.ts)" },
      { type: "text", text: "The editor sends file:///work/b.ts:\n\nlet b" },
      { type: "file", mediaType: "image/png", data: "aGk=" },
    ]);
    const audio = [{ type: "audio" as const, mimeType: "audio/wav", data: "aGk=" }];
    await expect(editor.request("session/prompt", { sessionId, prompt: audio })).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining("Audio"),
    });
    await expect(editor.request("session/prompt", { sessionId, prompt: [] })).rejects.toThrow(/empty/);
  });

  test("ends with the reason for which the run ended", verifies("PROT-3"), async () => {
    const failure = { kind: "auth", message: "The key is wrong.", statusCode: 401 } as const;
    const cut = { text: "Much", finish: "length" } as const;
    const filtered = { text: "", finish: "content-filter" } as const;
    const editor = await editorOf(agentOf([cut, cut, cut, cut, filtered, { error: failure }]));
    const { sessionId } = await editor.request("session/new", open);
    expect(await editor.prompt(sessionId, "Tell.")).toMatchObject({ stopReason: "max_tokens" });
    expect(await editor.prompt(sessionId, "Tell.")).toMatchObject({ stopReason: "refusal" });
    await expect(editor.prompt(sessionId, "Tell.")).rejects.toThrow("The key is wrong.");
  });

  test("that is sent while another is open comes after it", async () => {
    let go = () => {};
    const wait = new Promise<void>((resolve) => {
      go = resolve;
    });
    const editor = await editorOf(agentOf([{ text: "One.", wait }, { text: "Two." }]));
    const { sessionId } = await editor.request("session/new", open);
    const first = editor.prompt(sessionId, "A");
    const second = editor.prompt(sessionId, "B");
    go();
    expect(await Promise.all([first, second])).toMatchObject([{ stopReason: "end_turn" }, { stopReason: "end_turn" }]);
    expect(collectText(editor.updates, "agent_message_chunk")).toBe("One.Two.");
  });

  test("keeps secrets from the editor", async () => {
    const redact = (text: string) => text.replaceAll("tok-1", "…");
    const redaction = {
      text: redact,
      stream: () => (item: unknown) => [JSON.parse(redact(JSON.stringify(item)))],
    };
    const editor = await editorOf(agentOf([{ text: "It is tok-1", chunk: 100 }]), {}, { redaction });
    const { sessionId } = await editor.request("session/new", open);
    await editor.prompt(sessionId, "Tell.");
    expect(collectText(editor.updates, "agent_message_chunk")).toBe("It is …");
    await editor.request("session/load", { ...open, sessionId });
    expect(JSON.stringify(editor.updates)).not.toContain("tok-1");
  });
});

describe("a permission", () => {
  test("is given, and the prompt goes on", verifies("PROT-3"), async () => {
    const made = agentOf([pay, { text: "Paid." }]);
    const editor = await editorOf(made, { answer: () => "allow" });
    const { sessionId } = await editor.request("session/new", open);
    expect(await editor.prompt(sessionId, "Pay.")).toMatchObject({ stopReason: "end_turn" });
    expect(made.paid).toEqual([{ cents: 5 }]);
    expect(editor.permissionRequests).toMatchObject([
      {
        sessionId,
        toolCall: { title: "pay", status: "pending", rawInput: { cents: 5 } },
        options: [{ kind: "allow_once" }, { kind: "reject_once" }],
      },
    ]);
    const events = [];
    for await (const event of made.agent.session(sessionId).events({ follow: false })) events.push(event);
    expect(events).toContainEqual(expect.objectContaining({ type: "approval_answered", answer: "approve", by: "Ada" }));
  });

  test("is refused, and the model is told", verifies("PROT-3"), async () => {
    const made = agentOf([pay, { text: "Then not." }]);
    const editor = await editorOf(made, { answer: () => "deny" });
    const { sessionId } = await editor.request("session/new", open);
    expect(await editor.prompt(sessionId, "Pay.")).toMatchObject({ stopReason: "end_turn" });
    expect(made.paid).toEqual([]);
    expect(editor.updates).toContainEqual(
      expect.objectContaining({ sessionUpdate: "tool_call_update", status: "failed" }),
    );
    expect(collectText(editor.updates, "agent_message_chunk")).toBe("Then not.");
  });

  test("that is cancelled aborts the run", verifies("PROT-3"), async () => {
    const made = agentOf([pay, { text: "Never." }]);
    const editor = await editorOf(made, { answer: () => null });
    const { sessionId } = await editor.request("session/new", open);
    expect(await editor.prompt(sessionId, "Pay.")).toMatchObject({ stopReason: "cancelled" });
    expect(made.paid).toEqual([]);
  });

  test("is given for good by the rule that the person picks among those of the host", async () => {
    const kept: string[] = [];
    const made = agentOf([pay, { text: "Paid." }]);
    const choice = (rule: string, verdict: "allow" | "deny" = "allow") => ({
      ...{ verdict, label: rule },
      keep: async () => void kept.push(`${verdict} ${rule}`),
    });
    const rulesFor = async ({ name }: { readonly name: string }) => ({
      choices: [choice(`${name} of 5`), choice(`${name} of anything`), choice(`${name} of 5`, "deny")],
      notes: ["Money is at stake."],
    });
    const editor = await editorOf(made, { answer: () => "always-1" }, { rulesFor });
    const { sessionId } = await editor.request("session/new", open);
    await editor.prompt(sessionId, "Pay.");
    expect(editor.permissionRequests[0]).toMatchObject({
      options: [
        { kind: "allow_once" },
        { kind: "reject_once" },
        { kind: "allow_always", name: "Always allow pay of 5" },
        { kind: "allow_always", name: "Always allow pay of anything" },
        { kind: "reject_always", name: "Never allow pay of 5" },
      ],
    });
    expect(JSON.stringify(editor.permissionRequests[0]?.toolCall)).toContain("Money is at stake.");
    expect(kept).toEqual(["allow pay of 5"]);
    expect(made.paid).toEqual([{ cents: 5 }]);

    const again = agentOf([pay, { text: "Not paid." }]);
    const other = await editorOf(again, { answer: () => "always-3" }, { rulesFor });
    await other.prompt((await other.request("session/new", open)).sessionId, "Pay.");
    expect(kept).toEqual(["allow pay of 5", "deny pay of 5"]);
    expect(again.paid).toEqual([]);
  });

  test("that is given elsewhere is no longer asked for", async () => {
    const made = agentOf([pay, { text: "Paid." }]);
    let cancelled = () => {};
    const whenCancelled = new Promise<void>((resolve) => {
      cancelled = resolve;
    });
    const answer: Person["answer"] = async ({ toolCall, sessionId }, signal) => {
      const elsewhere = made.agent.session(sessionId);
      await elsewhere.answer(toolCall.toolCallId, { type: "approve" }, { by: "Bob" });
      void elsewhere.resume();
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      cancelled();
      return null;
    };
    const editor = await editorOf(made, { answer });
    const { sessionId } = await editor.request("session/new", open);
    expect(await editor.prompt(sessionId, "Pay.")).toMatchObject({ stopReason: "end_turn" });
    expect(made.paid).toEqual([{ cents: 5 }]);
    await whenCancelled;
  });

  test("of several calls is asked one after the other", async () => {
    const two = { calls: [1, 2].map((cents) => ({ name: "pay", input: { cents } })) };
    const made = agentOf([two, { text: "Paid." }]);
    const answer: Person["answer"] = ({ toolCall }) => (Object(toolCall.rawInput).cents === 1 ? "allow" : "deny");
    const editor = await editorOf(made, { answer });
    const { sessionId } = await editor.request("session/new", open);
    await editor.prompt(sessionId, "Pay.");
    expect(made.paid).toEqual([{ cents: 1 }]);
    expect(editor.permissionRequests).toHaveLength(2);
  });
});

describe("a question of a tool", () => {
  const script: Script = ({ messages }) => {
    const last = messages.at(-1);
    if (last?.role !== "tool") return { calls: [{ name: "ask_person", input: { question: "Which day?" } }] };
    return { text: JSON.stringify(last.parts) };
  };

  test("is a form, if the editor has forms", async () => {
    const forms: unknown[] = [];
    const fill = (form: unknown) => {
      forms.push(form);
      return { action: "accept", content: { answer: "Monday" } } as const;
    };
    const editor = await editorOf(agentOf(script), { fill, capabilities: { elicitation: { form: {} } } });
    const { sessionId } = await editor.request("session/new", open);
    await editor.prompt(sessionId, "Plan it.");
    expect(forms).toMatchObject([{ mode: "form", message: expect.stringContaining("Which day?") }]);
    expect(collectText(editor.updates, "agent_message_chunk")).toContain("Monday");
  });

  const choosing: Script = ({ messages }) => {
    const last = messages.at(-1);
    const input = { question: "Which day?", options: ["Monday", "Friday"] };
    return last?.role === "tool" ? { text: JSON.stringify(last.parts) } : { calls: [{ name: "ask_person", input }] };
  };

  test.each([
    ["answer-2", "Friday"],
    ["decline", "The person declined to answer"],
  ])("that lists answers is a choice of them in an editor without forms: %s", async (optionId, said) => {
    const asked: unknown[] = [];
    const answer = (request: unknown) => {
      asked.push(request);
      return optionId;
    };
    const editor = await editorOf(agentOf(choosing), { answer });
    const { sessionId } = await editor.request("session/new", open);
    await editor.prompt(sessionId, "Plan it.");
    expect(asked).toMatchObject([{ options: [{ name: "No answer" }, { name: "Monday" }, { name: "Friday" }] }]);
    expect(JSON.stringify(asked)).toContain("Which day?");
    expect(collectText(editor.updates, "agent_message_chunk")).toContain(said);
  });

  test.each([
    ["allow_once", "Cancelled"],
    ["reject_once", "The person declined to answer"],
  ])("gets no answer from an editor that decides by itself: %s", async (kind, said) => {
    const answer = ({ options }: sdk.RequestPermissionRequest) =>
      options.find((option) => option.kind === kind)?.optionId ?? null;
    const editor = await editorOf(agentOf(choosing), { answer });
    const { sessionId } = await editor.request("session/new", open);
    const { stopReason } = await editor.prompt(sessionId, "Plan it.");
    const text = collectText(editor.updates, "agent_message_chunk");
    expect(text).not.toContain("Monday");
    if (said === "Cancelled") expect(stopReason).toBe("cancelled");
    else expect(text).toContain(said);
  });

  test("is declined otherwise", async () => {
    const editor = await editorOf(agentOf(script));
    const { sessionId } = await editor.request("session/new", open);
    await editor.prompt(sessionId, "Plan it.");
    expect(collectText(editor.updates, "agent_message_chunk")).toContain("cannot show a form");
  });
});

describe("session/cancel", () => {
  test("ends the prompt", verifies("PROT-3"), async () => {
    const wait = new Promise<void>(() => {});
    // The cancel may come before the model is called, and before the prompt is in the log.
    const script: Script = ({ messages }) =>
      JSON.stringify(messages.at(-1)).includes("Wait.") ? { text: "Never.", wait } : { text: "Now." };
    const editor = await editorOf(agentOf(script));
    const { sessionId } = await editor.request("session/new", open);
    const prompted = editor.prompt(sessionId, "Wait.");
    await editor.cancel(sessionId);
    expect(await prompted).toMatchObject({ stopReason: "cancelled" });
    expect(await editor.prompt(sessionId, "Go.")).toMatchObject({ stopReason: "end_turn" });
  });

  test("ends a prompt that waits for a permission, and the one behind it", async () => {
    let asked = () => {};
    const whenAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const made = agentOf([pay, { text: "Never." }]);
    const answer = () => {
      asked();
      return new Promise<null>(() => {});
    };
    const editor = await editorOf(made, { answer });
    const { sessionId } = await editor.request("session/new", open);
    const prompts = [editor.prompt(sessionId, "Pay."), editor.prompt(sessionId, "Pay again.")];
    await whenAsked;
    await editor.cancel(sessionId);
    expect(await Promise.all(prompts)).toMatchObject([{ stopReason: "cancelled" }, { stopReason: "cancelled" }]);
    expect(made.paid).toEqual([]);
  });
});

describe("sessions", () => {
  test("are listed in pages, by folder, without those of other agents", verifies("PROT-3"), async () => {
    const made = agentOf(() => ({ text: "Yes." }));
    for (let index = 0; index < 60; index += 1) await made.agent.run(`Task ${index}`, { sessionId: `s-${index}` });
    await made.agent.with({ name: "other" }).run("Else");
    const editor = await editorOf(made);
    const first = await editor.request("session/list", { cwd });
    expect(first.sessions).toHaveLength(50);
    expect(first.sessions[0]).toMatchObject({ cwd, title: expect.stringMatching(/^Task/) });
    const second = await editor.request("session/list", { cwd, cursor: first.nextCursor ?? "" });
    expect(second.nextCursor).toBeUndefined();
    const ids = [...first.sessions, ...second.sessions].map(({ sessionId }) => sessionId);
    expect(new Set(ids).size).toBe(60);
    expect((await editor.request("session/list", { cwd: "/elsewhere" })).sessions).toEqual([]);
    await expect(editor.request("session/list", { cursor: "?" })).rejects.toThrow(/cursor/);
  });

  test("are loaded with what was said, and resumed without", verifies("PROT-3"), async () => {
    const made = agentOf([
      { text: "Looking.", calls: [{ name: "echo", input: { a: 1 } }] },
      { text: "Found it." },
      { text: "Again." },
    ]);
    const before = await editorOf(made);
    const { sessionId } = await before.request("session/new", open);
    await before.prompt(sessionId, "Find it.");
    before.close();
    const editor = await editorOf(made);
    await editor.request("session/load", { ...open, sessionId });
    expect(editor.updates.map(({ sessionUpdate }) => sessionUpdate)).toEqual([
      "user_message_chunk",
      "agent_message_chunk",
      "tool_call",
      "tool_call_update",
      "tool_call_update",
      "agent_message_chunk",
    ]);
    const told = editor.updates.length;
    await editor.prompt(sessionId, "Once more.");
    expect(collectText(editor.updates.slice(told), "agent_message_chunk")).toBe("Again.");
    await editor.request("session/close", { sessionId });
    await expect(editor.prompt(sessionId, "More.")).rejects.toMatchObject({ code: -32_002 });

    const other = await editorOf(made);
    await other.request("session/resume", { ...open, sessionId });
    expect(other.updates).toEqual([]);
  });

  test("go on where a process broke off, with the next prompt", verifies("PROT-3"), async () => {
    const made = agentOf([pay, { text: "Paid." }, { text: "Next." }]);
    // The run waits, and the editor that began it is gone.
    await made.agent.run("Pay.", { sessionId: "s" });
    const editor = await editorOf(made, { answer: () => "allow" });
    await editor.request("session/load", { ...open, sessionId: "s" });
    expect(made.paid).toEqual([]);
    const told = editor.updates.length;
    expect(await editor.prompt("s", "Go on.")).toMatchObject({ stopReason: "end_turn" });
    expect(made.paid).toEqual([{ cents: 5 }]);
    expect(collectText(editor.updates.slice(told), "agent_message_chunk")).toBe("Paid.Next.");
  });

  test("that are unknown, or of another folder, are refused", async () => {
    const made = agentOf(() => ({ text: "Yes." }));
    await made.agent.with({ root: "/other" }).run("Hi", { sessionId: "s" });
    const editor = await editorOf(made);
    await expect(editor.request("session/load", { ...open, sessionId: "none" })).rejects.toMatchObject({
      code: -32_002,
    });
    await expect(editor.request("session/load", { ...open, sessionId: "s" })).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining("/other"),
    });
    await expect(editor.prompt("none", "Go.")).rejects.toMatchObject({ code: -32_002 });
  });

  test("say that the editor's MCP servers are not used", async () => {
    const editor = await editorOf(agentOf([]));
    const server = { name: "x", command: "x", args: [], env: [] };
    await editor.request("session/new", { cwd, mcpServers: [server] });
    expect(editor.reports).toEqual([expect.stringContaining("MCP servers")]);
  });
});
