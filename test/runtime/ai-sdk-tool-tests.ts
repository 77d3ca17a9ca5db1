/**
 * The fields of a tool of the AI SDK, made by its own `tool()`: each is honored, or warned of by name. Each version runs these tests.
 */
import type { jsonSchema, tool } from "ai";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { startBillingServer } from "../../bench/economy/billing-server.mjs";
import { createAgent, defineTool } from "../../src/index.js";
import type { LanguageModel } from "../../src/models/ai-sdk/language-model.js";
import type { Tools } from "../../src/runtime/tools/compile-tools.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { collect } from "../support/agents.js";
import { verifies } from "../verifies.js";

const proven = verifies("COST-6", "TOOL-1#ai-sdk");

/** What an author of tools uses of the AI SDK. Fields that only one version has are given as unknown ones. */
export type Sdk = { readonly tool: typeof tool; readonly jsonSchema: typeof jsonSchema };

type Fields = { readonly [field: string]: unknown };

export function toolTests(title: string, sdk: Sdk, claude: (baseURL: string) => LanguageModel): void {
  const make = (fields: Fields): Tools =>
    ({
      charge: sdk.tool({ description: "Charges.", inputSchema: z.object({ cents: z.number() }), ...fields }),
    }) as Tools;
  const call = { calls: [{ name: "charge", input: { cents: 5 } }] };

  async function outputOf(tools: Tools, deps?: unknown): Promise<unknown> {
    const agent = createAgent({ model: createScriptedModel([call, { text: "Done." }]), tools, deps });
    const events = await collect(agent.runStream("Go"));
    return events.find(({ type }) => type === "tool_result");
  }

  async function warningsOf(act: () => unknown): Promise<readonly string[]> {
    const heard: string[] = [];
    const hear = (warning: Error & { code?: string }) => {
      if (warning.code === "PAWL_TOOL_OPTION") heard.push(warning.message);
    };
    process.on("warning", hear);
    onTestFinished(() => void process.off("warning", hear));
    await act();
    await new Promise<void>((resolve) => setImmediate(resolve));
    return heard;
  }

  describe(title, () => {
    test(
      "a tool gets the agent's deps under the names of both versions, its call and the conversation",
      proven,
      async () => {
        const tools = make({
          execute: (_: unknown, { context, experimental_context, toolCallId, abortSignal, messages }: Fields) =>
            JSON.stringify({
              context,
              experimental_context,
              hasId: typeof toolCallId === "string",
              aborted: (abortSignal as AbortSignal).aborted,
              messages: (messages as readonly unknown[]).length,
            }),
        });
        const deps = { account: "a-1" };
        const expected = { context: deps, experimental_context: deps, hasId: true, aborted: false, messages: 1 };
        expect(await outputOf(tools, deps)).toMatchObject({ output: { text: JSON.stringify(expected) } });
      },
    );

    test("deps are checked and changed by the tool's contextSchema", proven, async () => {
      const seen: unknown[] = [];
      const tools = make({
        contextSchema: z.object({ account: z.string(), retries: z.number().default(3) }),
        needsApproval: (_: unknown, { context }: Fields) => {
          seen.push(context);
          return false;
        },
        async *execute(_: unknown, { context }: Fields) {
          yield "charging";
          yield `charged ${JSON.stringify(context)}`;
        },
      });
      const whole = { account: "a-1", retries: 3 };
      expect(await outputOf(tools, { account: "a-1" })).toMatchObject({
        output: { text: `charged ${JSON.stringify(whole)}` },
      });
      expect(seen).toEqual([whole]);
      const wrong = make({
        contextSchema: sdk.jsonSchema(
          { type: "object" },
          { validate: () => ({ success: false, error: new Error("no account") }) },
        ),
        execute: () => "charged",
      });
      expect(await outputOf(wrong, 7)).toMatchObject({
        isError: true,
        output: { text: expect.stringMatching(/deps do not match the contextSchema of the tool "charge": no account/) },
      });
    });

    test("a description that is a function is called once, and refused if it needs a context", proven, async () => {
      let called = 0;
      const tools = make({
        description: () => {
          called += 1;
          return "Charges in cents.";
        },
        execute: () => "charged",
      });
      const agent = createAgent({ model: createScriptedModel([call, { text: "Done." }]), tools });
      expect(agent.specifications()[0]).toMatchObject({ name: "charge", description: "Charges in cents." });
      await agent.run("Go");
      expect(called).toBe(1);
      const needy = make({
        description: ({ context }: { context: { name: string } }) => context.name,
        execute: () => "",
      });
      expect(() => createAgent({ model: createScriptedModel([]), tools: needy })).toThrow(
        /The description of the tool "charge" is a function that needs a context/,
      );
    });

    test(
      "strict, input examples and options of providers reach the provider, also from defineTool",
      proven,
      async () => {
        const server = await startBillingServer({ reply: () => ({ text: "Done." }) });
        onTestFinished(server.close);
        const fields = {
          strict: true,
          providerOptions: { anthropic: { eagerInputStreaming: true } },
        };
        const own = defineTool({
          name: "refund",
          description: "Refunds.",
          input: { type: "object", properties: { cents: { type: "number" } }, required: ["cents"] },
          inputExamples: [{ cents: 10 }],
          ...fields,
          execute: () => "refunded",
        });
        const theirs = make({ ...fields, inputExamples: [{ input: { cents: 500 } }], execute: () => "charged" });
        await createAgent({ model: claude(server.baseURL), toolOutput: null, tools: { ...theirs, refund: own } }).run(
          "Go",
        );
        const [{ body }] = server.ledger as unknown as readonly [
          { readonly body: { readonly tools: readonly Fields[] } },
        ];
        expect(body.tools).toMatchObject([
          { name: "charge", eager_input_streaming: true, input_examples: [{ cents: 500 }], strict: true },
          { name: "refund", eager_input_streaming: true, input_examples: [{ cents: 10 }], strict: true },
        ]);
      },
    );

    test("a mark for the cache on a tool is kept, and the only one", proven, async () => {
      const server = await startBillingServer({ reply: () => ({ text: "Done." }) });
      onTestFinished(server.close);
      const providerOptions = { anthropic: { cacheControl: { type: "ephemeral", ttl: "1h" } } };
      const tools = make({ providerOptions, execute: () => "charged" });
      await createAgent({ model: claude(server.baseURL), toolOutput: null, tools, systemPrompt: "You charge." }).run(
        "Go",
      );
      expect(JSON.stringify(server.ledger[0]?.body).match(/cache_control/g)).toHaveLength(1);
      expect(server.ledger[0]?.body).toMatchObject({ tools: [{ cache_control: { type: "ephemeral", ttl: "1h" } }] });
    });

    test("fields without a use are warned of by name, once a tool", proven, async () => {
      const callbacks = { onInputStart: () => {}, onInputDelta: () => {}, onInputAvailable: () => {} };
      const tools = make({ ...callbacks, title: "Charge", metadata: { from: "bank" }, execute: () => "charged" });
      const warnings = await warningsOf(() => {
        createAgent({ model: createScriptedModel([]), tools });
        createAgent({ model: createScriptedModel([]), tools });
      });
      expect(warnings).toHaveLength(1);
      for (const field of [...Object.keys(callbacks), "title", "metadata"])
        expect(warnings[0]).toContain(`${field} is not`);
      expect(warnings[0]).toMatch(/^The tool "charge": onInputStart is not called: use onToolCall of the agent;/);
      expect(
        await warningsOf(() => createAgent({ model: createScriptedModel([]), tools: make({ execute: () => "" }) })),
      ).toEqual([]);
    });

    test("needsApproval, toModelOutput and a missing execute work", proven, async () => {
      const asks = make({ needsApproval: true, execute: () => "charged" });
      const waiting = await createAgent({ model: createScriptedModel([call]), tools: asks }).run("Go");
      expect(waiting).toMatchObject({ status: "awaiting_human", approvals: [{ name: "charge", input: { cents: 5 } }] });
      const shaped = make({
        execute: () => 5,
        toModelOutput: ({ output }: Fields) => ({ type: "text", value: `paid ${output}` }),
      });
      expect(await outputOf(shaped)).toMatchObject({
        output: { type: "text", text: "paid 5" },
        returned: { type: "json", value: 5 },
      });
      const external = make({ outputSchema: z.string() });
      expect(await createAgent({ model: createScriptedModel([call]), tools: external }).run("Go")).toMatchObject({
        status: "awaiting_human",
      });
    });
  });
}
