/**
 * Tools that a provider defines: run here by their `execute`, or by the provider itself. The real packages against servers
 * that speak their wire formats.
 */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createAnthropic as createAnthropicV4 } from "anthropic-v4";
import { createOpenAI as createOpenAIV4 } from "openai-v4";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type AgentOptions, createAgent, createMemoryStore, defineTool } from "../../src/index.js";
import { fromAiSdk } from "../../src/models/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { type Body, readList, startWireServer, type WireReply } from "../models/wire-server.js";
import { anthropicMessage, createOutputText, responses } from "../models/wires.js";
import { createGateTool } from "../support/agents.js";
import { verifies } from "../verifies.js";

const done = responses("resp_2", [createOutputText("msg_2", "Done.")]);

async function startOpenAI(
  create: typeof createOpenAI | typeof createOpenAIV4,
  item: Parameters<typeof responses>[1][number],
  toolsOf: (tools: ReturnType<typeof createOpenAI>["tools"]) => AgentOptions["tools"],
  options: Partial<AgentOptions> = {},
) {
  const server = await startWireServer([responses("resp_1", [item]), done]);
  const provider = create({ baseURL: `${server.origin}/v1`, apiKey: "sk-test" });
  const model = fromAiSdk(provider("gpt-5"), { providerOptions: { openai: { store: false } } });
  const tools = toolsOf(provider.tools as ReturnType<typeof createOpenAI>["tools"]) ?? {};
  return { agent: createAgent({ model, tools, ...options }), server };
}

/** The tools of a request, but for those that read outputs again. */
const toolsIn = (body: Body | undefined) =>
  readList(body, "tools").filter(({ name }) => name !== "read_output" && name !== "search_output");
const inputsOf = (body: Body | undefined, type: string) => readList(body, "input").filter((item) => item.type === type);

const shellCall = {
  type: "shell_call",
  id: "sh_1",
  call_id: "call_1",
  status: "completed",
  action: { commands: ["ls"] },
};

describe.each([
  ["v3", createOpenAI],
  ["v4", createOpenAIV4],
] as const)("OpenAI's tools, by the package of specification %s", (_specification, create) => {
  test("shell: sent once as OpenAI's, run by `execute`, with its result", verifies("TOOL-18"), async () => {
    const commands: unknown[] = [];
    const { agent, server } = await startOpenAI(create, shellCall, (tools) => ({
      shell: tools.shell({
        execute: async ({ action }) => {
          commands.push(action.commands);
          return { output: [{ stdout: "a.txt", stderr: "", outcome: { type: "exit", exitCode: 0 } }] };
        },
      }),
    }));
    expect(await agent.run("List.")).toMatchObject({ status: "completed", text: "Done.", steps: 2 });
    expect(commands).toEqual([["ls"]]);
    expect(toolsIn(server.bodies[0])).toEqual([{ type: "shell" }]);
    expect(inputsOf(server.bodies[1], "shell_call")).toMatchObject([{ call_id: "call_1" }]);
    expect(inputsOf(server.bodies[1], "shell_call_output")).toEqual([
      {
        type: "shell_call_output",
        call_id: "call_1",
        output: [{ stdout: "a.txt", stderr: "", outcome: { type: "exit", exit_code: 0 } }],
      },
    ]);
  });

  test(
    "shell: needs approval, and a refusal reaches OpenAI as a result of its shell",
    verifies("TOOL-18"),
    async () => {
      const { agent, server } = await startOpenAI(create, shellCall, (tools) => ({
        shell: { ...tools.shell({ execute: async () => ({ output: [] }) }), needsApproval: true },
      }));
      const result = await agent.run("List.", { sessionId: "s", runId: "r" });
      expect(result).toMatchObject({
        status: "awaiting_human",
        approvals: [{ callKey: "r/1/1", name: "shell", why: "policy", input: { action: { commands: ["ls"] } } }],
      });
      await agent.session("s").answer("r/1/1", { type: "deny", note: "not here" });
      expect(await agent.session("s").resume()).toMatchObject({ status: "completed", text: "Done." });
      expect(inputsOf(server.bodies[1], "function_call_output")).toEqual([]);
      expect(inputsOf(server.bodies[1], "shell_call_output")).toMatchObject([
        { output: [{ stderr: expect.stringContaining("Denied: not here"), outcome: { type: "exit", exit_code: 1 } }] },
      ]);
    },
  );

  test("local_shell", verifies("TOOL-18"), async () => {
    const item = {
      type: "local_shell_call",
      id: "ls_1",
      call_id: "call_1",
      status: "completed",
      action: { type: "exec", command: ["ls"], env: {} },
    };
    const { agent, server } = await startOpenAI(create, item, (tools) => ({
      local_shell: tools.localShell({ execute: async ({ action }) => ({ output: action.command.join(" ") }) }),
    }));
    expect(await agent.run("List.")).toMatchObject({ text: "Done." });
    expect(toolsIn(server.bodies[0])).toEqual([{ type: "local_shell" }]);
    expect(inputsOf(server.bodies[1], "local_shell_call_output")).toMatchObject([{ call_id: "call_1", output: "ls" }]);
  });

  test("apply_patch, whose tool throws", verifies("TOOL-18"), async () => {
    const operation = { type: "delete_file", path: "a.txt" };
    const item = { type: "apply_patch_call", id: "ap_1", call_id: "call_1", status: "completed", operation };
    const { agent, server } = await startOpenAI(create, item, (tools) => ({
      apply_patch: tools.applyPatch({ execute: () => Promise.reject(new Error("no such file")) }),
    }));
    expect(await agent.run("Delete it.")).toMatchObject({ text: "Done." });
    expect(toolsIn(server.bodies[0])).toEqual([{ type: "apply_patch" }]);
    expect(inputsOf(server.bodies[1], "apply_patch_call_output")).toEqual([
      { type: "apply_patch_call_output", call_id: "call_1", status: "failed", output: "Error: no such file" },
    ]);
  });

  test("a custom tool gets its input as a text", verifies("TOOL-18"), async () => {
    const item = {
      type: "custom_tool_call",
      id: "ctc_1",
      call_id: "call_1",
      name: "write_sql",
      input: "SELECT 'a' -- one",
      status: "completed",
    };
    const inputs: unknown[] = [];
    const { agent, server } = await startOpenAI(create, item, (tools) => ({
      write_sql: tools.customTool({
        name: "write_sql",
        description: "Runs SQL.",
        execute: async (input: unknown) => {
          inputs.push(input);
          return "1 row";
        },
      } as Parameters<typeof tools.customTool>[0]),
    }));
    expect(await agent.run("Query.")).toMatchObject({ text: "Done." });
    expect(inputs).toEqual(["SELECT 'a' -- one"]);
    expect(toolsIn(server.bodies[0])).toMatchObject([{ type: "custom", name: "write_sql" }]);
    expect(inputsOf(server.bodies[1], "custom_tool_call")).toMatchObject([{ input: "SELECT 'a' -- one" }]);
    expect(inputsOf(server.bodies[1], "custom_tool_call_output")).toMatchObject([{ output: "1 row" }]);
  });
});

test(
  "a shell of OpenAI's that was running when its process died has a result that OpenAI takes",
  verifies("TOOL-18", "REC-1"),
  async () => {
    const store = createMemoryStore();
    const gate = createGateTool("shell", { heedsSignal: false });
    const withShell = (tools: ReturnType<typeof createOpenAI>["tools"]) => ({
      shell: tools.shell({
        execute: async (_input, { toolCallId }) => gate.tool.execute?.({}, { toolCallId } as never) as never,
      }),
    });
    const first = await startOpenAI(createOpenAI, shellCall, withShell, { store });
    const running = first.agent.run("List.", { sessionId: "s" });
    await gate.started;
    await first.agent.shutdown({ graceMs: 0 });
    expect(await running).toMatchObject({ status: "interrupted" });
    const second = await startWireServer([done]);
    const provider = createOpenAI({ baseURL: `${second.origin}/v1`, apiKey: "sk-test" });
    const model = fromAiSdk(provider("gpt-5"), { providerOptions: { openai: { store: false } } });
    const agent = createAgent({ model, tools: withShell(provider.tools), store });
    expect(await agent.session("s").resume()).toMatchObject({ status: "completed", text: "Done." });
    expect(gate.runs()).toBe(1);
    expect(inputsOf(second.bodies[0], "shell_call_output")).toMatchObject([
      { output: [{ stderr: expect.stringContaining("Interrupted"), outcome: { exit_code: 1 } }] },
    ]);
  },
);

const anthropicPackages = [
  ["v3", createAnthropic],
  ["v4", createAnthropicV4],
] as const;

describe.each(anthropicPackages)("Anthropic's tools, by the package of specification %s", (_specification, create) => {
  async function start(
    replies: readonly WireReply[],
    toolsOf: (tools: ReturnType<typeof createAnthropic>["tools"]) => AgentOptions["tools"],
  ) {
    const server = await startWireServer(replies);
    const provider = create({ baseURL: `${server.origin}/v1`, apiKey: "sk-test" });
    const tools = toolsOf(provider.tools as ReturnType<typeof createAnthropic>["tools"]) ?? {};
    return {
      agent: createAgent({
        model: provider("claude-sonnet-4-5") as ReturnType<ReturnType<typeof createAnthropic>>,
        tools,
      }),
      server,
    };
  }

  test(
    "memory, bash, text editor and computer run here, each sent once as Anthropic's",
    verifies("TOOL-18"),
    async () => {
      const call = (index: number, name: string, input: object) =>
        ({ type: "tool_use", id: `toolu_${index}`, name, input }) as const;
      const asks = anthropicMessage("tool_use", [
        call(1, "memory", { command: "view", path: "/memories" }),
        call(2, "bash", { command: "ls" }),
        call(3, "str_replace_based_edit_tool", { command: "view", path: "a.txt" }),
        call(4, "computer", { action: "screenshot" }),
      ]);
      const answers = anthropicMessage("end_turn", [{ type: "text", text: "Done." }]);
      const inputs: unknown[] = [];
      const note = (input: unknown) => {
        inputs.push(input);
        return "seen";
      };
      const { agent, server } = await start([asks, answers], (tools) => ({
        memory: tools.memory_20250818({ execute: async (input) => note(input) }),
        bash: tools.bash_20250124({ execute: async (input) => note(input) }),
        str_replace_based_edit_tool: tools.textEditor_20250728({ execute: async (input) => note(input) }),
        computer: tools.computer_20250124({
          displayWidthPx: 800,
          displayHeightPx: 600,
          execute: async (input) => note(input),
          toModelOutput: () => ({
            type: "content",
            value: [{ type: "image-data", data: "iVBORw0KGgo=", mediaType: "image/png" }],
          }),
        }),
      }));
      expect(await agent.run("Look around.")).toMatchObject({ text: "Done.", steps: 2 });
      expect(inputs).toEqual([
        { command: "view", path: "/memories" },
        { command: "ls" },
        { command: "view", path: "a.txt" },
        { action: "screenshot" },
      ]);
      expect(toolsIn(server.bodies[0]).map(({ type, name }) => [type, name])).toEqual([
        ["memory_20250818", "memory"],
        ["bash_20250124", "bash"],
        ["text_editor_20250728", "str_replace_based_edit_tool"],
        ["computer_20250124", "computer"],
      ]);
      expect(server.bodies[0]).toMatchObject({
        tools: expect.arrayContaining([expect.objectContaining({ display_width_px: 800 })]),
      });
      const results = readList(readList(server.bodies[1], "messages").at(-1), "content");
      expect(results.map(({ type, tool_use_id: id }) => [type, id])).toEqual(
        [1, 2, 3, 4].map((index) => ["tool_result", `toolu_${index}`]),
      );
      expect(JSON.stringify(results[3])).toContain('"media_type":"image/png"');
    },
  );
});

describe("a tool that the provider runs", () => {
  test("needs nothing but its name in `tools`", verifies("TOOL-18"), async () => {
    const server = await startWireServer([done]);
    const provider = createOpenAI({ baseURL: `${server.origin}/v1`, apiKey: "sk-test" });
    const model = provider("gpt-5");
    const tools = {
      web_search: provider.tools.webSearch({ searchContextSize: "low" }),
      python: provider.tools.codeInterpreter({}),
    };
    // Also given to the model itself, a tool is sent once.
    const search = { type: "provider", id: "openai.web_search", name: "web_search", args: {} } as const;
    const agent = createAgent({ model: fromAiSdk(model, { providerTools: [search] }), tools });
    expect(await agent.run("Search.")).toMatchObject({ text: "Done." });
    expect(toolsIn(server.bodies[0])).toMatchObject([
      { type: "web_search", search_context_size: "low" },
      { type: "code_interpreter" },
    ]);
  });

  test("is chosen among the active tools like any other", verifies("TOOL-18"), async () => {
    const server = await startWireServer([done]);
    const provider = createOpenAI({ baseURL: `${server.origin}/v1`, apiKey: "sk-test" });
    const tools = { web_search: provider.tools.webSearch({}), python: provider.tools.codeInterpreter({}) };
    await createAgent({ model: provider("gpt-5"), tools }).run("Search.", { activeTools: ["python"] });
    expect(toolsIn(server.bodies[0])).toMatchObject([{ type: "code_interpreter" }]);
  });
});

describe("a tool whose input is a text", () => {
  const inputs: unknown[] = [];
  const speak = defineTool({
    name: "speak",
    description: "Says a text.",
    input: z.string().min(2),
    execute: (text) => {
      inputs.push(text);
      return "said";
    },
  });

  test("gets the text, in whichever form a provider can send it", verifies("TOOL-18"), async () => {
    const model = createScriptedModel([
      {
        calls: [
          { name: "speak", input: "hello" },
          { name: "speak", input: { input: "hello again" } },
        ],
      },
      {
        calls: [
          { name: "speak", input: "x" },
          { name: "speak", input: { text: "hello" } },
        ],
      },
      { text: "Done." },
    ]);
    expect(await createAgent({ model, tools: [speak] }).run("Speak.")).toMatchObject({ text: "Done." });
    expect(inputs).toEqual(["hello", "hello again"]);
    // Providers take only objects, so the model is asked for one.
    expect(model.requests[0]?.tools.slice(0, 1)).toMatchObject([
      { inputSchema: { type: "object", properties: { input: { type: "string", minLength: 2 } }, required: ["input"] } },
    ]);
    const shown = JSON.stringify(model.requests[2]?.messages.at(-1));
    expect(shown.match(/The arguments do not fit the tool's schema/g)).toHaveLength(2);
  });
});
