/**
 * MCP servers over HTTP that send without end: messages, which the MCP library would keep until the memory is full, and changes of lists.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { connectMcpServer } from "../../src/tools/mcp/index.js";
import { collect, createDeferred } from "../support/agents.js";
import { verifies } from "../verifies.js";

type Reply = (response: ServerResponse, id: number) => void;

const mebibyte = 1024 * 1024;

/** A server whose tool, and whose list of tools, reply as given. */
async function startServer(call: Reply, list?: Reply): Promise<string> {
  const http = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    if (request.method !== "POST") return void response.writeHead(405).end();
    const { id, method } = JSON.parse(body);
    const reply = (result: object) =>
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    const serverInfo = { name: "raw", version: "1" };
    if (method === "initialize") reply({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo });
    else if (method === "tools/list" && list !== undefined) list(response, id);
    else if (method === "tools/list") reply({ tools: [{ name: "look", inputSchema: { type: "object" } }] });
    else if (method === "tools/call") call(response, id);
    else response.writeHead(202).end();
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
}

/** Calls the tool. Returns the text that the model reads. */
async function look(url: string, timeoutMs = 60_000): Promise<string> {
  const transport = { type: "http", url } as const;
  const server = await connectMcpServer({ name: "s", transport, protocol: "2025-11-25", trust: "all", timeoutMs });
  onTestFinished(server.close);
  const model = createScriptedModel([{ calls: [{ name: "s_look" }] }, { text: "Done." }]);
  await createAgent({ model, tools: server.tools }).run("Go");
  return JSON.stringify(model.requests[1]?.messages.at(-1));
}

/** Writes without end. @returns the number of mebibytes that were written when the client has left */
function writeEndlessly(response: ServerResponse, start: string, piece: string): Promise<number> {
  const left = createDeferred<number>();
  const bytes = Buffer.from(piece.repeat(Math.ceil(mebibyte / piece.length)));
  let written = 0;
  response.on("close", () => left.resolve(written));
  response.write(start);
  const write = () => {
    while (!response.destroyed) {
      written += 1;
      if (!response.write(bytes)) return void response.once("drain", write);
    }
  };
  write();
  return left.promise;
}

const start = (id: number) => `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"more":"`;

test("a response without end fails the call", verifies("SEC-10"), async () => {
  const left = createDeferred<number>();
  const url = await startServer((response, id) => {
    response.writeHead(200, { "content-type": "application/json" });
    void writeEndlessly(response, start(id), "x").then(left.resolve);
  });
  expect(await look(url)).toContain("it sent a message of more than 32 MiB");
  expect(await left.promise).toBeLessThan(64);
});

test("an event without end is not read on", verifies("SEC-10"), async () => {
  const left = createDeferred<number>();
  const url = await startServer((response, id) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    void writeEndlessly(response, `data: ${start(id)}`, `${"x".repeat(8_000)}\ndata: `).then(left.resolve);
  });
  const said = look(url, 2_000);
  expect(await left.promise).toBeLessThan(64);
  expect(await said).toContain("gave no result");
});

test("a stream of many events may be longer", async () => {
  const end = "\r\n";
  const url = await startServer((response, id) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const note = {
      jsonrpc: "2.0",
      method: "notifications/message",
      params: { level: "info", data: "x".repeat(mebibyte) },
    };
    for (let count = 0; count < 34; count += 1) response.write(`data: ${JSON.stringify(note)}${end}${end}`);
    const result = { content: [{ type: "text", text: "seen" }] };
    response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}${end}${end}`);
  });
  expect(await look(url)).toContain("seen");
});

test("a list that changes whenever it is read is read one after the other", verifies("SEC-10"), async () => {
  let [reading, peak, read] = [0, 0, 0];
  const url = await startServer(
    (response) => response.writeHead(500).end(),
    (response, id) => {
      reading += 1;
      read += 1;
      peak = Math.max(peak, reading);
      response.writeHead(200, { "content-type": "text/event-stream" });
      const changed = JSON.stringify({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
      for (let count = 0; count < 20; count += 1) response.write(`data: ${changed}\n\n`);
      setImmediate(() => {
        reading -= 1;
        response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result: { tools: [] } })}\n\n`);
      });
    },
  );
  const transport = { type: "http", url } as const;
  onTestFinished((await connectMcpServer({ name: "s", transport, protocol: "2025-11-25" })).close);
  // The first reading is that of the connection, which a change may overlap.
  await expect.poll(() => read, { timeout: 10_000 }).toBeGreaterThan(3);
  expect(peak).toBeLessThanOrEqual(2);
});

test("progress is cut, and its hidden characters are visible", verifies("SEC-10"), async () => {
  const url = await startServer((response, id) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const params = { progressToken: id, progress: 1, message: `Reading\u202e ${"x".repeat(mebibyte)}` };
    response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params })}\n\n`);
    response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result: { content: [] } })}\n\n`);
  });
  const transport = { type: "http", url } as const;
  const server = await connectMcpServer({ name: "s", transport, protocol: "2025-11-25", trust: "all" });
  onTestFinished(server.close);
  const model = createScriptedModel([{ calls: [{ name: "s_look" }] }, { text: "Done." }]);
  const items = await collect(createAgent({ model, tools: server.tools }).runStream("Go"));
  const notes = items.flatMap((item) => (item.type === "progress" ? [item.note] : []));
  expect(notes).toEqual([expect.stringMatching(/^Reading[^\u202e]+ x{400,} … \(cut\)$/)]);
});
