/**
 * An MCP server over HTTP whose tool `pack` answers with tasks: the server package of the MCP project, unmodified.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type CallToolResult, createMcpHandler, ProtocolError, Server } from "@modelcontextprotocol/server";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { onTestFinished } from "vitest";

type Fields = { readonly [name: string]: unknown };

export type TaskScript = {
  /** The reply to a call. */
  readonly call: (input: Fields) => Fields;
  /** The reply to a poll: the first one has the number 1. `answers` has the answers that came so far. */
  readonly get: (poll: number, answers: Fields, taskId: string) => Fields;
  /** Throws to refuse answers: those of the first update have the number 1. */
  readonly update: (update: number) => void;
};

export type TaskServer = {
  readonly url: string;
  /** The requests about the tool and its tasks, in order, with the answers of updates. */
  readonly requests: readonly string[];
  /** From now on, the server answers so. */
  readonly answerBy: (script: Partial<TaskScript>) => void;
};

const time = "2026-11-29T00:00:00.000Z";
const common = { createdAt: time, lastUpdatedAt: time, ttlMs: null };

export const newTask = (fields: Fields = {}): Fields => ({
  resultType: "task",
  taskId: "t1",
  status: "working",
  pollIntervalMs: 100,
  ...common,
  ...fields,
});
export const working = (fields: Fields = {}): Fields => ({ status: "working", pollIntervalMs: 100, ...fields });
export const completed = (text: string): Fields => ({
  status: "completed",
  result: { content: [{ type: "text", text }] },
});
export const asks = (keys: readonly string[]): Fields => ({
  status: "input_required",
  pollIntervalMs: 100,
  inputRequests: Object.fromEntries(
    keys.map((key) => {
      const requestedSchema = { type: "object", properties: { count: { type: "number" } }, required: ["count"] };
      return [key, { method: "elicitation/create", params: { mode: "form", message: `${key}?`, requestedSchema } }];
    }),
  ),
});
export const protocolError = (code: number, message: string) => new ProtocolError(code, message);

/** Accepts any parameters, and takes the id of the task out of them. */
const params: StandardSchemaV1<unknown, { readonly taskId: string }> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value: unknown) => ({ value: value as { readonly taskId: string } }),
  },
};

/** Serves until the test ends. */
export async function startTaskServer(first: Partial<TaskScript>): Promise<TaskServer> {
  const requests: string[] = [];
  const polls = new Map<string, number>();
  const answers = new Map<string, Fields>();
  let updates = 0;
  let script: TaskScript = { call: () => newTask(), get: () => working(), update() {}, ...first };

  function createTools(): Server {
    const extensions = { "io.modelcontextprotocol/tasks": {} };
    const server = new Server({ name: "packer", version: "1" }, { capabilities: { tools: {}, extensions } });
    server.setRequestHandler("tools/list", () => ({
      tools: [{ name: "pack", inputSchema: { type: "object", properties: {} } }],
    }));
    server.setRequestHandler("tools/call", (request) => {
      requests.push("call");
      return script.call(request.params.arguments ?? {}) as unknown as CallToolResult;
    });
    server.setRequestHandler("tasks/get", { params }, ({ taskId }) => {
      requests.push("get");
      const poll = (polls.get(taskId) ?? 0) + 1;
      polls.set(taskId, poll);
      return { taskId, ...common, ...script.get(poll, answers.get(taskId) ?? {}, taskId) };
    });
    server.setRequestHandler("tasks/update", { params }, ({ taskId }, { mcpReq }) => {
      requests.push(`update ${JSON.stringify(mcpReq.inputResponses)}`);
      updates += 1;
      script.update(updates);
      // An answer counts once.
      answers.set(taskId, { ...mcpReq.inputResponses, ...answers.get(taskId) });
      return {};
    });
    server.setRequestHandler("tasks/cancel", { params }, () => {
      requests.push("cancel");
      return {};
    });
    return server;
  }

  const handler = createMcpHandler(createTools);
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const { method = "GET" } = incoming;
    const body = method === "POST" ? { body: Buffer.concat(chunks) } : {};
    const response = await handler.fetch(new Request(`http://localhost${incoming.url}`, { method, headers, ...body }));
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    if (response.body !== null) for await (const chunk of response.body) outgoing.write(chunk);
    outgoing.end();
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    requests,
    answerBy(next) {
      script = { ...script, ...next };
    },
  };
}
