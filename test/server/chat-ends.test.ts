/**
 * A chat stream that ends before its run does is not taken for a whole answer: it breaks off, or says so.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore } from "../../src/index.js";
import { createServer, createToken } from "../../src/server/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createEchoTool, createGateTool } from "../support/agents.js";
import { verifies } from "../verifies.js";
import { startTestServer } from "./rig.js";

/** An agent that never says more than the beginning of its answer. */
function begun() {
  async function* said() {
    yield { kind: "text-start", id: "1" } as const;
    for (const text of ["A long beginning, ", "and ", "then "]) yield { kind: "text-delta", id: "1", text } as const;
    await new Promise(() => {});
  }
  const store = createMemoryStore();
  return {
    store,
    agent: createAgent({ name: "talker", store, model: createScriptedModel([{ deltas: said() as never }]) }),
  };
}

const message = (id: string) =>
  JSON.stringify({ id: "chat-1", messages: [{ id, role: "user", parts: [{ type: "text", text: "Go." }] }] });
const body = message("m-1");

/** Reads until the answer has begun; `rest` is what follows, or how it broke off. */
async function readBeginning(response: Response) {
  const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("A long beginning")) {
    const { done, value = "" } = await reader.read();
    expect(done).toBe(false);
    text += value;
  }
  return async () => {
    for (let rest = ""; ; ) {
      const { done, value } = await reader.read();
      if (done) return rest;
      rest += value;
    }
  };
}

describe("a chat stream", () => {
  test("breaks off when the server drains, on a socket of Node", verifies("SRV-5"), async () => {
    const { store, agent } = begun();
    const rig = await startTestServer({ store, agents: [agent] });
    const headers = { authorization: `Bearer ${rig.token}`, "content-type": "application/json" };
    const rest = await readBeginning(await fetch(`${rig.url}/v1/chat`, { method: "POST", headers, body }));
    const ended = expect(rest()).rejects.toThrow(TypeError);
    await rig.server.close({ graceMs: 0 });
    await ended;
  });

  test("breaks off when the server drains, as a response of the Web", verifies("SRV-5"), async () => {
    const { store, agent } = begun();
    const token = createToken();
    const server = createServer({ store, agents: [agent], token });
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const request = new Request("http://localhost/v1/chat", { method: "POST", headers, body });
    const rest = await readBeginning(await server.fetch(request));
    const ended = expect(rest()).rejects.toThrow("aborted");
    await server.close({ graceMs: 0 });
    await ended;
  });

  test("says so when the agent is shut down in this process", async () => {
    const { store, agent } = begun();
    const { url, token } = await startTestServer({ store, agents: [agent] });
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const rest = await readBeginning(await fetch(`${url}/v1/chat`, { method: "POST", headers, body }));
    await agent.shutdown({ graceMs: 0 });
    const text = await rest();
    expect(text).toContain('"type":"error"');
    expect(text).not.toContain("[DONE]");
  });

  test("tells the client only that it failed, and the log why", async () => {
    const { store, agent } = begun();
    const redact = (text: string) => {
      if (text.includes("then")) throw new Error("no such file: /etc/words");
      return text;
    };
    const { url, token, lines } = await startTestServer({ store, agents: [agent], redact });
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const text = await (await fetch(`${url}/v1/chat`, { method: "POST", headers, body })).text();
    expect(text).toContain('"type":"error"');
    expect(text).not.toMatch(/etc|\[DONE\]/);
    const failures = lines.filter(({ error }) => error !== undefined);
    expect(failures).toMatchObject([{ action: "chat", sessionId: expect.stringContaining("chat-"), status: 500 }]);
    expect(String(failures[0]?.error)).toContain("/etc/words");
  });

  test("tells the client that it failed even if that cannot be logged, and the server goes on", async () => {
    const { store, agent } = begun();
    const redact = (text: string) => {
      if (text.includes("then")) throw new Error("no such file: /etc/words");
      return text;
    };
    const log = ({ error }: { readonly error?: unknown }) => {
      if (error !== undefined) throw new Error("The disk is full.");
    };
    const { url, token } = await startTestServer({ store, agents: [agent], redact, log });
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const response = await fetch(`${url}/v1/chat`, { method: "POST", headers, body });
    const text = await response.text();
    expect(text).toContain('"type":"error"');
    expect(text).not.toMatch(/etc|\[DONE\]/);
    expect((await fetch(`${url}/health`)).status).toBe(200);
  });

  test("ends if its message comes after a run with a call that waits for a person, even if another call still runs", async () => {
    const gate = createGateTool();
    const asking = { ...createEchoTool("pay").tool, needsApproval: true };
    const model = createScriptedModel([{ calls: [{ name: "pay" }, { name: "gate" }] }]);
    const store = createMemoryStore();
    const agent = createAgent({ name: "payer", store, model, tools: [asking, gate.tool] });
    const { url, token } = await startTestServer({ store, agents: [agent] });
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    await fetch(`${url}/v1/chat`, { method: "POST", headers, body });
    await gate.started;
    const second = await fetch(`${url}/v1/chat`, { method: "POST", headers, body: message("m-2") });
    expect(await second.text()).toContain("[DONE]");
    gate.open("opened");
  });
});
