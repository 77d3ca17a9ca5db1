/**
 * Remote agents for tests: Pawl's own server, whose agent pays after an approval, and a server that answers as a script says.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { createAgent, createMemoryStore } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { startTestServer } from "../server/rig.js";
import { createPayTool } from "../support/pay-tool.js";

/** An agent that pays once for each request, after an approval. */
export async function startPayer() {
  const paid: unknown[] = [];
  const store = createMemoryStore();
  const model = createScriptedModel(({ messages }) =>
    messages.some(({ role }) => role === "tool")
      ? { text: "It is paid." }
      : { calls: [{ name: "pay", input: { cents: 5 } }] },
  );
  const agents = [createAgent({ name: "payer", store, model, tools: [createPayTool(paid)] })];
  const { url, token } = await startTestServer({ store, agents, a2a: { description: "Pays invoices." } });
  return { url, token, store, paid, headers: { authorization: `Bearer ${token}` } };
}

export type Fields = { readonly [name: string]: unknown };

/** The results of the agent's methods. A result with `error` is a JSON-RPC error. */
export type RemoteScript = {
  readonly card: (url: string) => Fields;
  /** The response to a message that begins a task. */
  readonly send: (message: Fields) => Fields;
  /** The response to a poll: the first one has the number 1. `answers` are the messages to the task. */
  readonly get: (poll: number, answers: readonly Fields[]) => Fields;
};

export const task = (state: string, fields: Fields = {}): Fields => ({
  id: "t1",
  contextId: "c1",
  status: { state: `TASK_STATE_${state}` },
  ...fields,
});
export const says = (state: string, text: string, fields: Fields = {}): Fields =>
  task(state, {
    status: {
      state: `TASK_STATE_${state}`,
      message: { messageId: `says ${text}`, role: "ROLE_AGENT", parts: [{ text }], ...fields },
    },
  });
export const produced = (...parts: readonly Fields[]): Fields =>
  task("COMPLETED", { artifacts: [{ artifactId: "a", parts }] });

export type ScriptedRemote = {
  readonly url: string;
  /** The methods that were called, in order, and the ids of messages. */
  readonly requests: readonly string[];
  readonly answers: readonly Fields[];
  readonly authorizations: readonly (string | undefined)[];
};

/** A response that takes the place of the script's: status, headers and body. */
export type RawResponse = readonly [number, Record<string, string>, string];

/** @param respond answers a request for this path; null: the script does */
export async function startScriptedRemote(
  script: Partial<RemoteScript>,
  respond: (path: string) => RawResponse | null = () => null,
): Promise<ScriptedRemote> {
  const requests: string[] = [];
  const answers: Fields[] = [];
  const authorizations: (string | undefined)[] = [];
  const ids: string[] = [];
  let polls = 0;
  let url = "";
  const run = (method: string, params: Fields): Fields => {
    switch (method) {
      case "SendMessage": {
        const message = params.message as Fields;
        if (message.taskId === undefined || message.taskId === "") {
          ids.push(String(message.messageId));
          requests.push(`send ${new Set(ids).size}`);
          const reply = (script.send ?? (() => task("WORKING")))(message);
          if ("error" in reply) return reply;
          return "parts" in reply ? { message: reply } : { task: reply };
        }
        requests.push("answer");
        answers.push(message);
        return { task: task("WORKING") };
      }
      case "GetTask":
        polls += 1;
        requests.push("get");
        return (script.get ?? (() => task("WORKING")))(polls, answers);
      default:
        requests.push(method);
        return task("CANCELED");
    }
  };
  const http = createServer((request, response) => {
    const end = (status: number, headers: Record<string, string>, body: string) =>
      void response.writeHead(status, headers).end(body);
    authorizations.push(request.headers.authorization);
    const raw = respond(request.url ?? "");
    if (raw !== null) return end(...raw);
    const json = { "content-type": "application/json" };
    if (request.url?.endsWith("agent-card.json") === true)
      return end(200, json, JSON.stringify((script.card ?? createCard)(url)));
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      const { id, method, params } = JSON.parse(body);
      const { error, ...result } = run(method, params);
      end(200, json, JSON.stringify({ jsonrpc: "2.0", id, ...(error === undefined ? { result } : { error }) }));
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  onTestFinished(async () => {
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  return { url, requests, answers, authorizations };
}

export const createCard = (url: string, fields: Fields = {}): Fields => ({
  name: "Packer",
  description: "Packs boxes.",
  version: "1",
  supportedInterfaces: [{ url: `${url}/a2a`, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
  skills: [{ id: "pack", name: "Pack", description: "Packs one box.", tags: [] }],
  ...fields,
});
