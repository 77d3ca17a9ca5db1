/**
 * docs/guide/serverless.md: its functions run as they stand on the page, with a store in memory in place of PostgreSQL. Whatever
 * one call leaves behind, the next one continues, as the page says.
 */
import { readFileSync } from "node:fs";
import ts from "typescript";
import { beforeEach, describe, expect, test, vi } from "vitest";
import * as pawl from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";

type Module = { readonly [name: string]: unknown };
type Handler = (request: Request) => Promise<Response>;

const blocks = [...readFileSync("docs/guide/serverless.md", "utf8").matchAll(/^```ts\n(.*?)^```$/gms)].map(
  ([, code = ""]) => code,
);
const [agentFile = "", chatRoute = "", workRoute = "", lambda = ""] = blocks;

/** Runs a block as a module that sees these modules and globals. */
async function load(code: string, modules: { readonly [name: string]: Module }, globals: Module = {}): Promise<Module> {
  const compilerOptions = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 };
  const { outputText } = ts.transpileModule(code, { compilerOptions });
  const exported: { [name: string]: unknown } = {};
  const names = Object.keys(globals);
  const run = new Function("require", "exports", ...names, `return (async () => { ${outputText} })();`);
  await run((name: string) => modules[name], exported, ...Object.values(globals));
  return exported;
}

let refunds: string[] = [];
let store: pawl.Store;
let agent: Module;

beforeEach(async () => {
  refunds = [];
  store = pawl.createMemoryStore();
  const refund = pawl.defineTool({
    name: "refund",
    description: "Refunds an order.",
    input: { type: "object" },
    needsApproval: true,
    execute(_input, { sessionId }) {
      refunds.push(sessionId);
      return "refunded";
    },
  });
  const model = createScriptedModel(({ messages }) =>
    messages.some(({ role }) => role === "tool") ? { text: "Done." } : { calls: [{ name: "refund" }] },
  );
  const modules = { pawl, "pawl/postgres": { openPostgresStore: async () => store } };
  agent = await load(agentFile, modules, { model, tools: [refund] });
});

/** A customer asks, and a person approves, while no function runs. */
async function leaveWork(): Promise<void> {
  const { POST } = await load(chatRoute, { "@/agent": agent });
  const body = JSON.stringify({ sessionId: "ticket-7", text: "Refund it." });
  const response = await (POST as Handler)(new Request("http://localhost/api/chat", { method: "POST", body }));
  expect(await response.json()).toMatchObject({ status: "awaiting_human" });
  const session = pawl.createClient({ store }).session("ticket-7");
  for (const { callKey } of await session.pendingApprovals()) await session.answer(callKey, { type: "approve" });
  expect(refunds).toEqual([]);
}

const resultOf = () => pawl.createClient({ store }).session("ticket-7").result();

describe("on Vercel", () => {
  test("the timer's function continues what other functions have left", async () => {
    vi.stubEnv("CRON_SECRET", "secret");
    await leaveWork();
    const { GET, maxDuration } = await load(workRoute, { "@/agent": agent });
    const call = (headers: { readonly [name: string]: string }) =>
      (GET as Handler)(new Request("http://localhost/api/work", { headers }));
    expect((await call({})).status).toBe(401);
    expect(refunds).toEqual([]);
    expect((await call({ authorization: "Bearer secret" })).status).toBe(204);
    expect(refunds).toEqual(["ticket-7"]);
    expect(await resultOf()).toMatchObject({ status: "completed", text: "Done." });
    expect(Number(/workFor\(([\d_]+)\)/.exec(workRoute)?.[1]?.replaceAll("_", ""))).toBeLessThan(
      1_000 * Number(maxDuration),
    );
    vi.unstubAllEnvs();
  });

  test("without a secret in the environment, every call is refused", async () => {
    vi.stubEnv("CRON_SECRET", undefined);
    const { GET } = await load(workRoute, { "@/agent": agent });
    const headers = { authorization: "Bearer undefined" };
    expect((await (GET as Handler)(new Request("http://localhost/api/work", { headers }))).status).toBe(401);
    vi.unstubAllEnvs();
  });
});

test("on AWS Lambda, the handler continues what other functions have left", async () => {
  await leaveWork();
  const { handler } = await load(lambda, { "./agent.js": agent });
  await (handler as (event: unknown, context: object) => Promise<void>)(null, {
    getRemainingTimeInMillis: () => 60_000,
  });
  expect(refunds).toEqual(["ticket-7"]);
  expect(await resultOf()).toMatchObject({ status: "completed", text: "Done." });
});
