/**
 * Calls run only if the provider ended its answer with `stop` or `tool-calls`: real packages against a server.
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { describe, expect, test } from "vitest";
import { type AgentOptions, createAgent } from "../../src/index.js";
import { startWireServer } from "../models/wire-server.js";
import { chatCall, chatCompletion } from "../models/wires.js";
import { collect, createEchoTool, filterEventsOfType } from "../support/agents.js";
import { localStores, withStore } from "../support/stores.js";

const call = chatCall("call_1", "echo", {});
const sun = chatCompletion([{ content: "Sun." }], "stop");

async function start(reasons: readonly string[], more: Partial<AgentOptions> = {}) {
  const server = await startWireServer([...reasons.map((reason) => chatCompletion([call], reason)), sun]);
  const model = createOpenAICompatible({ name: "local", baseURL: `${server.origin}/v1` })("a-model");
  const echo = createEchoTool();
  return { agent: createAgent({ model, tools: [echo.tool], ...more }), echo, server };
}

describe("an unknown finish reason", () => {
  test.each(localStores)("runs no call: the model is told so and may ask again, on $name", ({ open }) =>
    withStore(open, async (store) => {
      const { agent, echo, server } = await start(["malformed_function_call"], { store });
      const items = await collect(agent.runStream("Go", { sessionId: "s" }));
      expect(filterEventsOfType(items, "final")[0]?.result).toMatchObject({ status: "completed", text: "Sun." });
      expect(filterEventsOfType(items, "tool_result")).toMatchObject([{ outcome: "not_run", isError: true }]);
      expect(echo.inputs).toEqual([]);
      expect(JSON.stringify(server.bodies[1])).toContain("ended with an unknown finish reason");
      expect((await agent.session("s").replay()).difference).toBeNull();
    }),
  );

  test("again and again fails the run, and no call ever runs", async () => {
    const { agent, echo, server } = await start(Array.from({ length: 9 }, () => "malformed_function_call"));
    expect(await agent.run("Go")).toMatchObject({ status: "failed", reason: "model_error" });
    expect(echo.inputs).toEqual([]);
    expect(server.bodies).toHaveLength(3);
  });

  test.each(["tool_use", "end_turn", "eos_token", "tool_calls", "stop"])("is not %s: the call runs", async (reason) => {
    const { agent, echo } = await start([reason]);
    expect(await agent.run("Go")).toMatchObject({ status: "completed", text: "Sun." });
    expect(echo.inputs).toHaveLength(1);
  });
});
