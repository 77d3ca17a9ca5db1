/**
 * The trace of a run in the requests to an MCP server.
 */
import { expect, onTestFinished, test } from "vitest";
import { createAgent, createMemoryStore, type RunResult } from "../../src/index.js";
import { traceSession } from "../../src/inspect.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { connectMcpServer, type McpServerOptions } from "../../src/tools/mcp/index.js";
import { verifies } from "../verifies.js";
import { type RawServer, startRawServer } from "./raw-mcp-server.js";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const requestSpan = "00f067aa0ba902b7";

/** A server with a tool that asks a person before it gives its result, and a resource. */
function startAskingServer(): Promise<RawServer> {
  const form = {
    mode: "form",
    message: "How many?",
    requestedSchema: { type: "object", properties: { count: { type: "number" } } },
  };
  return startRawServer({
    "tools/list": () => ({ tools: [{ name: "pack", inputSchema: { type: "object", properties: {} } }] }),
    "tools/call": ({ params: { inputResponses } }) =>
      inputResponses === undefined
        ? { resultType: "input_required", inputRequests: { q: { method: "elicitation/create", params: form } } }
        : { content: [{ type: "text", text: "Packed." }] },
    "resources/read": ({ params }) => ({ contents: [{ uri: params.uri, text: "Notes." }] }),
  });
}

/** Runs two calls, and answers the question of the first. */
async function run(raw: RawServer, options: Partial<McpServerOptions>, traceparent?: string) {
  const server = await connectMcpServer({
    name: "s",
    transport: { type: "http", url: raw.url },
    trust: "all",
    resources: true,
    ...options,
  });
  onTestFinished(server.close);
  const store = createMemoryStore();
  const model = createScriptedModel([
    { calls: [{ name: "s_pack" }, { name: "s_read_resource", input: { uri: "notes://1" } }] },
    { text: "Done." },
  ]);
  const agent = createAgent({ model, tools: [...server.tools], store });
  const { sessionId } = await agent.run("Go", traceparent === undefined ? {} : { traceparent });
  const session = agent.session(sessionId);
  const [pending] = await session.pendingApprovals();
  const { callKey = "", questionId = "" } = pending ?? {};
  await session.answer(callKey, { type: "reply", value: { count: 3 } }, { questionId });
  const result = (await session.resume()) as RunResult | null;
  expect(result).toMatchObject({ status: "completed" });
  const [started] = await traceSession(store, sessionId);
  return { traceId: started?.traceId ?? "" };
}

const sent = ({ requests }: RawServer, method: string) =>
  requests
    .filter((request) => request.method === method)
    .map(({ params }) => (params._meta as { readonly traceparent?: string }).traceparent);

test("calls of a server carry the run's trace and one span for each call", verifies("PROT-6#trace"), async () => {
  const raw = await startAskingServer();
  const { traceId: own } = await run(raw, { trace: true });
  const [first = "", second] = sent(raw, "tools/call");
  expect(first).toMatch(new RegExp(`^00-${own}-[0-9a-f]{16}-01$`));
  // The call goes on with the answer, in the same span.
  expect(second).toBe(first);
  const [read = ""] = sent(raw, "resources/read");
  expect(read).toMatch(new RegExp(`^00-${own}-[0-9a-f]{16}-01$`));
  expect(read).not.toBe(first);
  // The lists are the connection's, of no run.
  expect(sent(raw, "tools/list")).toEqual([undefined]);
});

test.each(["01", "00"])("a call is in the trace of the request for its run, sampled or not: %s", async (flags) => {
  const raw = await startAskingServer();
  await run(raw, { trace: true }, `00-${traceId}-${requestSpan}-${flags}`);
  const [first = ""] = sent(raw, "tools/call");
  expect(first).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-${flags}$`));
  expect(first).not.toContain(requestSpan);
});

test("a server gets no trace without the option", verifies("SEC-10"), async () => {
  const raw = await startAskingServer();
  await run(raw, {}, `00-${traceId}-${requestSpan}-01`);
  expect(sent(raw, "tools/call")).toEqual([undefined, undefined]);
  expect(JSON.stringify(raw.requests)).not.toContain(traceId);
});
