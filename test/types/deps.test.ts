/**
 * `deps` and the types of tools. Most of these tests are for the compiler: `npm run types` fails if a claim does not hold, or if a
 * mistake that is marked with `@ts-expect-error` compiles.
 */
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { tool as aiTool, jsonSchema } from "ai";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  type Agent,
  type AgentOptions,
  type AnyTool,
  type CanExecuteTool,
  createAgent,
  createEngine,
  defineTool,
  defineToolFor,
  type Hook,
  type InferUiTools,
  isCallOf,
  type Json,
  type PermissionContext,
  type Tool,
  type ToolContext,
} from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { verifies } from "../verifies.js";

type Order = { readonly total: number };
type Database = { readonly find: (id: string) => Order | null };
type Deps = { readonly db: Database; readonly mail: (to: string) => Promise<void> };

const db: Database = { find: (id) => (id === "A1" ? { total: 80 } : null) };
const mails: string[] = [];
const deps: Deps = { db, mail: async (to) => void mails.push(to) };
const model = createScriptedModel([]);
const basics = { name: "t", description: "Does it" } as const;

const refund = defineTool({
  name: "refund",
  description: "Pays an order back",
  input: z.object({ order: z.string(), cents: z.number().default(0) }),
  execute: (input, { deps }: ToolContext<Deps>) => {
    expectTypeOf(input).toEqualTypeOf<{ order: string; cents: number }>();
    expectTypeOf(deps).toEqualTypeOf<Deps>();
    return { total: deps.db.find(input.order)?.total ?? 0, at: new Date(0) };
  },
});
const look = defineTool({
  name: "look",
  description: "Looks for an order",
  input: toStandardJsonSchema(v.object({ q: v.string(), n: v.optional(v.number(), 5) })),
  readOnly: true,
  execute: ({ q, n }, { deps }: ToolContext<Pick<Deps, "db">>) => {
    expectTypeOf(n).toEqualTypeOf<number>();
    return deps.db.find(q) === null ? "none" : `found ${n}`;
  },
});
const mail = defineTool({
  name: "mail",
  description: "Sends a mail",
  input: type({ to: "string.email", "cc?": "string[]" }),
  execute: async ({ to, cc }, { deps }: ToolContext<Pick<Deps, "mail">>) => {
    expectTypeOf(cc).toEqualTypeOf<string[] | undefined>();
    await deps.mail(to);
  },
});
const plain = defineTool({
  name: "plain",
  description: "Counts keys",
  input: { type: "object", properties: { a: { type: "string" } } },
  execute: (input) => Object.keys(input).length,
});
const sdk = defineTool({
  name: "sdk",
  description: "Adds one",
  input: jsonSchema<{ a: number }>({ type: "object" }),
  execute: ({ a }) => a + 1,
});
const slow = defineTool({
  name: "slow",
  description: "Counts on",
  input: z.object({ n: z.number() }),
  async *execute({ n }, { deps }: ToolContext<Pick<Deps, "db">>) {
    yield { done: n > 1, at: deps.db.find("1")?.total ?? 0 };
  },
});
const tools = [refund, look, mail, plain, sdk, slow];

const tool = defineToolFor<Deps>();
const limit = tool({
  name: "limit",
  description: "Reads the limit",
  input: z.object({ cents: z.number() }),
  needsApproval: ({ cents }, { deps }) => cents > (deps.db.find("limit")?.total ?? 100),
  recover: {
    reconcile: async ({ deps }) => ({ status: deps.db.find("A1") === null ? "not_started" : "unknown" }),
  },
  execute: ({ cents }, { deps }) => ({ cents, order: deps.db.find("A1") }),
});

describe("deps", () => {
  test(
    "come typed from an annotation, or from defineToolFor, and reach the tool",
    verifies("TYPE-1#deps"),
    async () => {
      const scripted = createScriptedModel([
        {
          calls: [
            { name: "refund", input: { order: "A1" } },
            { name: "limit", input: { cents: 5 } },
          ],
        },
        { text: "Done." },
      ]);
      const agent = createAgent({ model: scripted, deps, tools: [...tools, limit] });
      expect(await agent.run("Go")).toMatchObject({ status: "completed" });
      expect(scripted.requests[1]?.messages.at(-1)).toMatchObject({
        parts: [
          { output: { value: { total: 80, at: "1970-01-01T00:00:00.000Z" } } },
          { output: { value: { cents: 5, order: { total: 80 } } } },
        ],
      });
    },
  );

  test("are unknown without an annotation", verifies("TYPE-1#deps"), () => {
    const any = defineTool({
      ...basics,
      input: z.object({}),
      execute: (_, context) => expectTypeOf(context.deps).toEqualTypeOf<unknown>(),
    });
    createAgent({ model, tools: [any] });
  });

  test("reach needsApproval and reconcile with the same type", verifies("TYPE-1#deps"), () => {
    const input = z.object({ cents: z.number() });
    defineTool({
      ...basics,
      input,
      execute: (_, { deps }: ToolContext<Deps>) => deps.db.find("a"),
      needsApproval: ({ cents }, { deps }) => cents > (deps.db.find("limit")?.total ?? 0),
      recover: {
        async reconcile({ deps }) {
          return deps.db.find("a") === null ? { status: "not_started" } : { status: "finished", output: 1 };
        },
      },
    });
    // Before execute, it needs its own annotation.
    defineTool({
      ...basics,
      input,
      needsApproval: ({ cents }, { deps }: PermissionContext<Deps>) => cents > (deps.db.find("limit")?.total ?? 0),
      execute: (_, { deps }: ToolContext<Deps>) => deps.db.find("a"),
    });
  });

  test("with defineToolFor, schemas of zod, valibot and arktype need no annotation", verifies("TYPE-1#deps"), () => {
    const valibot = tool({
      ...basics,
      name: "v",
      input: toStandardJsonSchema(v.object({ a: v.string() })),
      execute: ({ a }, { deps }) => deps.db.find(a),
    });
    const arktype = tool({
      ...basics,
      name: "a",
      input: type({ a: "string" }),
      execute: ({ a }, { deps }) => deps.mail(a),
    });
    createAgent({ model, deps, tools: [limit, valibot, arktype] });
    // @ts-expect-error: the tools need deps
    createAgent({ model, tools: [valibot] });
    // @ts-expect-error: the AI SDK's name of `input`, and not `execute`, is the mistake
    expect(() => tool({ ...basics, inputSchema: z.object({ a: z.string() }), execute: () => "" })).toThrow("input?");
    expect(() => tool({ ...basics, name: "a b", input: z.object({}) })).toThrow("a b");
  });

  test("of an agent must have what its tools need", verifies("TYPE-1#deps"), () => {
    createAgent({ model, deps, tools });
    createAgent({ model, deps: { ...deps, more: 1 }, tools: [refund, look] });
    // @ts-expect-error: there are no deps
    createAgent({ model, tools: [refund] });
    // @ts-expect-error: mail is missing
    createAgent({ model, deps: { db }, tools: [look, refund] });
    createAgent({ model, tools: [plain, sdk], deps: 5 });
    createAgent({ model });
  });

  test("are known to hooks and policies", verifies("TYPE-1#deps"), async () => {
    createAgent({
      model,
      deps,
      hooks: [{ name: "h", beforeRun: (_, { deps }) => expectTypeOf(deps).toEqualTypeOf<Deps>() as never }],
      canExecuteTool: ({ tool }, { deps }) => (deps.db.find(tool.name) === null ? "ask" : "allow"),
    });
    const audit: Hook<Pick<Deps, "mail">> = {
      name: "audit",
      afterRun: (_, { deps }) => deps.mail("audit@example.org"),
    };
    const policy: CanExecuteTool<Pick<Deps, "db">> = (_, { deps }) => (deps.db.find("x") === null ? "deny" : "allow");
    // @ts-expect-error: mail is missing
    createAgent({ model, deps: { db }, hooks: [audit] });
    const scripted = createScriptedModel([{ text: "Done." }]);
    await createAgent({ model: scripted, deps, hooks: [audit], canExecuteTool: policy }).run("Go");
    expect(mails).toEqual(["audit@example.org"]);
  });

  test("need nothing in lists of all kinds", verifies("TYPE-1#deps"), async () => {
    const all: readonly AnyTool[] = tools;
    createAgent({ model, tools: all });
    const one: Tool = plain as unknown as Tool;
    createAgent({ model, tools: [one] });
    const sum = aiTool({ description: "", inputSchema: z.object({ a: z.number() }), execute: async ({ a }) => a });
    createAgent({ model, tools: { sum, refund }, deps });
    const options: AgentOptions = { model, tools: [refund], deps };
    createAgent({ ...options, name: "b" });
    const agents = [
      { name: "a", model, tools: [refund], deps },
      { name: "b", model },
    ];
    await (await createEngine({ agents })).shutdown();
    let later: Agent = createAgent({ model, tools: [plain] });
    later = createAgent({ model, tools, deps });
    later.with({ systemPrompt: "x" });
  });
});

describe("the types of tools", () => {
  type Tools = InferUiTools<typeof tools>;

  test("are known by name, as a page gets them", verifies("TYPE-2#types"), () => {
    expectTypeOf<keyof Tools>().toEqualTypeOf<"refund" | "look" | "mail" | "plain" | "sdk" | "slow">();
    expectTypeOf<Tools["refund"]["input"]>().toEqualTypeOf<{ order: string; cents?: number | undefined }>();
    expectTypeOf<Tools["refund"]["output"]>().toEqualTypeOf<{ total: number; at: string }>();
    expectTypeOf<Tools["look"]["output"]>().toEqualTypeOf<string>();
  });

  test("leave out tools whose names the compiler does not know", verifies("TYPE-2#types"), () => {
    const all: readonly AnyTool[] = tools;
    expectTypeOf<keyof InferUiTools<typeof all>>().toEqualTypeOf<never>();
    const mixed = [refund, ...all];
    expectTypeOf<keyof InferUiTools<typeof mixed>>().toEqualTypeOf<"refund">();
    const record = { plain, refund };
    expectTypeOf<InferUiTools<typeof record>["refund"]["output"]>().toEqualTypeOf<{ total: number; at: string }>();
    expectTypeOf<InferUiTools<typeof record>["plain"]["input"]>().toExtend<{ readonly [key: string]: Json }>();
  });

  test("narrow the items of a stream", verifies("TYPE-2#types"), async () => {
    const scripted = createScriptedModel([
      {
        calls: [{ name: "refund", input: { order: "A1" } }, { name: "refund", input: { order: 1 } }, { name: "plain" }],
      },
      { text: "Done." },
    ]);
    const orders: string[] = [];
    const invalid: Json[] = [];
    for await (const item of createAgent({ model: scripted, deps, tools }).runStream("Go")) {
      if (isCallOf(item, refund)) {
        expectTypeOf(item.input).toEqualTypeOf<{ readonly order: string; readonly cents?: number }>();
        orders.push(item.input.order);
      }
      if (item.type === "tool_call" && item.invalid === true) invalid.push(item.input);
    }
    expect(orders).toEqual(["A1"]);
    expect(invalid).toEqual([{ order: 1 }]);
  });
});
