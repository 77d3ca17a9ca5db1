/**
 * A provider that asks for an approval before it runs a tool of its own (an MCP tool): the real OpenAI packages against a
 * server that speaks the Responses API.
 */
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAI as createOpenAIV4 } from "openai-v4";
import { describe, expect, test } from "vitest";
import { type AgentOptions, createAgent, createClient, defineTool, type Store } from "../../src/index.js";
import { type Body, readList, startWireServer, type WireReply } from "../models/wire-server.js";
import { createOutputText, responses } from "../models/wires.js";
import { collect, filterEventsOfType } from "../support/agents.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const code = (code: string) => expect.objectContaining({ name: "PawlError", code });

const request = {
  type: "mcp_approval_request",
  id: "mcpr_1",
  server_label: "shop",
  name: "refund",
  arguments: '{"order":42,"cents":500}',
};
const ran = {
  type: "mcp_call",
  id: "mcp_1",
  approval_request_id: "mcpr_1",
  server_label: "shop",
  name: "refund",
  arguments: '{"order":42,"cents":500}',
  output: "refunded",
  status: "completed",
};
const asks = responses("resp_1", [createOutputText("msg_1", "I refund it."), request]);
const thenRuns = responses("resp_2", [ran, createOutputText("msg_2", "Refunded.")]);
const thenGivesUp = responses("resp_2", [createOutputText("msg_2", "Not refunded.")]);

const packages = [
  ["v3", createOpenAI],
  ["v4", createOpenAIV4],
] as const;

async function start(
  create: (typeof packages)[number][1],
  replies: readonly WireReply[],
  store: Store,
  options: Partial<AgentOptions> = {},
) {
  const server = await startWireServer(replies);
  const provider = create({ baseURL: `${server.origin}/v1`, apiKey: "sk-test" });
  const shop = provider.tools.mcp({
    serverLabel: "shop",
    serverUrl: "https://mcp.example.com",
    requireApproval: "always",
  });
  const agent = createAgent({ model: provider("gpt-5"), tools: { shop }, store, ...options });
  return { agent, server };
}

const answersIn = (body: Body | undefined) =>
  readList(body, "input").filter(({ type }) => type === "mcp_approval_response");

describe.each(packages)("with the OpenAI package of specification %s", (_specification, create) => {
  test.each(localStores)(
    "a request for an approval waits, and is approved from another process, on $name",
    verifies("FIN-9", "HITL-1", "HITL-2"),
    async ({ open }) =>
      withStore(open, async (store) => {
        const { agent, server } = await start(create, [asks, thenRuns], store);
        const stream = agent.runStream("Refund order 42.", { sessionId: "s", runId: "r" });
        const items = await collect(stream);
        const input = { order: 42, cents: 500 };
        const waiting = { callKey: "r/1/1", name: "mcp.refund", why: "provider", input };
        expect(await stream.result).toMatchObject({ status: "awaiting_human", approvals: [waiting] });
        expect(filterEventsOfType(items, "approval_requested")).toMatchObject([waiting]);

        const client = createClient({ store }).session("s");
        expect(await client.pendingApprovals()).toMatchObject([waiting]);
        expect(await client.answer("r/1/1", { type: "approve" }, { by: "Ada" })).toBe("first");
        expect(await client.answer("r/1/1", { type: "deny" })).toBe("second");
        expect(await agent.session("s").resume()).toMatchObject({ status: "completed", text: "Refunded.", steps: 2 });
        expect(answersIn(server.bodies[1])).toEqual([
          { type: "mcp_approval_response", approval_request_id: "mcpr_1", approve: true },
        ]);
        const events = await collect(agent.session("s").events({ follow: false }));
        expect(filterEventsOfType(events, "approval_answered")).toMatchObject([
          { callKey: "r/1/1", answer: "approve", by: "Ada" },
        ]);
        expect(filterEventsOfType(events, "tool_result")).toMatchObject([{ callKey: "r/1/1", outcome: "ok" }]);
        expect((await agent.session("s").replay()).difference).toBeNull();
      }),
  );

  test("a denied request is answered with the denial, and the run goes on", verifies("HITL-1"), async () =>
    withStore(localStores[1]?.open ?? expect.fail, async (store) => {
      const { agent, server } = await start(create, [asks, thenGivesUp], store);
      await agent.run("Refund order 42.", { sessionId: "s", runId: "r" });
      await agent.session("s").answer("r/1/1", { type: "deny", note: "too dear" });
      expect(await agent.session("s").resume()).toMatchObject({ status: "completed", text: "Not refunded." });
      expect(answersIn(server.bodies[1])).toMatchObject([{ approval_request_id: "mcpr_1", approve: false }]);
    }),
  );
});

describe("a provider's request for an approval", () => {
  const memory = localStores[0]?.open ?? expect.fail;

  test("cannot be answered with another input: the provider has it", async () =>
    withStore(memory, async (store) => {
      const { agent } = await start(createOpenAI, [asks, thenRuns], store);
      await agent.run("Refund order 42.", { sessionId: "s", runId: "r" });
      const session = agent.session("s");
      const modify = session.answer("r/1/1", { type: "modify", input: { order: 42, cents: 5 } });
      await expect(modify).rejects.toThrow(code("bad_input"));
      await expect(modify).rejects.toThrow(/provider, which has its input.*approve, deny or abort/);
      // The refused answer has taken nothing from the person.
      expect(await session.answer("r/1/1", { type: "approve" })).toBe("first");
      expect(await session.resume()).toMatchObject({ status: "completed", text: "Refunded." });
    }));

  test("is denied if nobody can be asked", verifies("HITL-6"), async () =>
    withStore(memory, async (store) => {
      const { agent, server } = await start(createOpenAI, [asks, thenGivesUp], store);
      const result = await agent.run("Refund order 42.", { interactive: false });
      expect(result).toMatchObject({ status: "completed", text: "Not refunded." });
      expect(answersIn(server.bodies[1])).toMatchObject([{ approve: false }]);
    }),
  );

  test("is denied by a policy, and not approved by one", async () =>
    withStore(memory, async (store) => {
      const seen: unknown[] = [];
      const canExecuteTool: AgentOptions["canExecuteTool"] = ({ tool, input }) => {
        seen.push([tool.name, input]);
        return seen.length === 1 ? { verdict: "deny", reason: "not this shop" } : "allow";
      };
      const { agent, server } = await start(createOpenAI, [asks, asks], store, { canExecuteTool });
      expect(await agent.run("Refund order 42.")).toMatchObject({
        status: "awaiting_human",
        approvals: [{ why: "provider" }],
      });
      expect(answersIn(server.bodies[1])).toMatchObject([{ approve: false }]);
      expect(seen).toEqual(Array(2).fill(["mcp.refund", { order: 42, cents: 500 }]));
    }));

  test("is denied although a person approved it, if the policy denies by then", async () =>
    withStore(memory, async (store) => {
      let times = 0;
      const canExecuteTool: AgentOptions["canExecuteTool"] = () => {
        times += 1;
        return times === 1 ? "allow" : { verdict: "deny", reason: "the shop is closed" };
      };
      const { agent, server } = await start(createOpenAI, [asks, thenGivesUp], store, { canExecuteTool });
      await agent.run("Refund order 42.", { sessionId: "s", runId: "r" });
      await createClient({ store }).session("s").answer("r/1/1", { type: "approve" }, { by: "Ada" });
      expect(await agent.session("s").resume()).toMatchObject({ status: "completed", text: "Not refunded." });
      expect(answersIn(server.bodies[1])).toMatchObject([{ approve: false }]);
    }));

  test("is answered beside the results of tools that run here", async () =>
    withStore(memory, async (store) => {
      const lookUp = { type: "function_call", id: "fc_1", call_id: "call_1", name: "look_up", arguments: "{}" };
      const both = responses("resp_1", [request, { ...lookUp, status: "completed" }]);
      const tool = defineTool({
        name: "look_up",
        description: "Looks the order up.",
        input: { type: "object" },
        execute: () => "42: a chair",
      });
      const { agent, server } = await start(createOpenAI, [both, thenRuns], store, { tools: [tool] });
      const result = await agent.run("Refund order 42.", { sessionId: "s", runId: "r" });
      expect(result).toMatchObject({ status: "awaiting_human", approvals: [{ callKey: "r/1/1", why: "provider" }] });
      await agent.session("s").answer("r/1/1", { type: "approve" });
      expect(await agent.session("s").resume()).toMatchObject({ status: "completed", text: "Refunded." });
      expect(answersIn(server.bodies[1])).toMatchObject([{ approve: true }]);
      expect(readList(server.bodies[1], "input")).toContainEqual(
        expect.objectContaining({ type: "function_call_output", call_id: "call_1", output: "42: a chair" }),
      );
    }));

  test("is denied when the run is aborted, and the session goes on", async () =>
    withStore(memory, async (store) => {
      const { agent, server } = await start(createOpenAI, [asks, thenGivesUp], store);
      await agent.run("Refund order 42.", { sessionId: "s", runId: "r" });
      await agent.session("s").abort();
      expect(await agent.run("Never mind.", { sessionId: "s" })).toMatchObject({ status: "completed" });
      expect(answersIn(server.bodies[1])).toMatchObject([{ approve: false }]);
    }));
});
