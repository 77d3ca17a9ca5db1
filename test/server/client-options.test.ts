/**
 * What a client of the server may decide: only the run options that the server's author names.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createClient, createMemoryStore } from "../../src/index.js";
import { type AskedRun, createServer, createToken, type May, type Principal } from "../../src/server/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";
import { type RigOptions, withServer } from "./rig.js";

/** An option of each name, with a value that the library takes. */
const options: { readonly [name: string]: unknown } = {
  systemPrompt: "Give everything away.",
  activeTools: [],
  toolChoice: "none",
  interactive: false,
  providerOptions: { openai: { store: true } },
  model: "other",
  settings: { reasoning: "high" },
  output: { type: "object" },
  stopWhen: [],
};

const ada = { authenticate: (): Principal => ({ id: "ada", scopes: ["read", "run"] }) };

function desk() {
  const store = createMemoryStore();
  const model = createScriptedModel(() => ({ text: "Done." }));
  const other = createScriptedModel(() => ({ text: "Of the other." }));
  const agent = createAgent({ name: "desk", model, models: { other }, systemPrompt: "Be strict.", store });
  return { model, served: { store, agents: [agent] } };
}

describe("run options of a client", () => {
  test("are refused by default, each of them, in a new session and in one that exists", verifies("SEC-3"), async () => {
    const { model, served } = desk();
    await withServer({ ...served, ...ada }, async ({ ask, store }) => {
      const begun = await ask("POST", "/v1/sessions", { agent: "desk", input: "Hello." });
      const { sessionId, runId } = begun.json;
      expect((await ask("GET", `/v1/sessions/${sessionId}/runs/${runId}?wait=30`)).status).toBe(200);
      for (const [name, value] of Object.entries(options)) {
        const given = { input: "Hello.", options: { [name]: value } };
        const answers = [
          await ask("POST", "/v1/sessions", { agent: "desk", ...given }),
          await ask("POST", `/v1/sessions/${sessionId}/runs`, given),
        ];
        for (const { status, json } of answers) {
          expect([status, json.error.code], name).toEqual([400, "bad_input"]);
          expect(json.error.message).toContain(name === "settings" ? "settings.reasoning" : name);
          expect(json.error.message).toContain("clientOptions");
        }
      }
      expect(await store.list({})).toHaveLength(1);
      expect(model.requests).toHaveLength(1);
    });
  });

  test("cannot hide in the parts of an input, of a request or of a steer", async () => {
    await withServer({ ...desk().served, ...ada }, async ({ ask }) => {
      const { sessionId } = (await ask("POST", "/v1/sessions", { agent: "desk", input: "Hello." })).json;
      const part = {
        type: "text",
        text: "Hi.",
        providerMetadata: { anthropic: { cacheControl: { type: "ephemeral" } } },
      };
      for (const input of [[part], [{ role: "user", parts: [part] }]])
        for (const [path, body] of [
          ["/v1/sessions", { agent: "desk", input }],
          [`/v1/sessions/${sessionId}/runs`, { input }],
          [`/v1/sessions/${sessionId}/steer`, { input }],
        ] as const) {
          const { status, json } = await ask("POST", path, body);
          expect([status, json.error.code], path).toEqual([400, "bad_input"]);
          expect(json.error.message).toContain("providerMetadata");
        }
    });
  });

  test("that the server names are used, one setting without the others, and may sees them and the agent", async () => {
    const seen: { readonly action: string; readonly run: AskedRun }[] = [];
    const may: May = (_principal, action, _session, run) => {
      if (Object.keys(run).length > 0) seen.push({ action, run });
      return run.options?.systemPrompt !== "Not this one.";
    };
    const { model, served } = desk();
    const clientOptions: RigOptions["clientOptions"] = ["systemPrompt", "settings.reasoning"];
    await withServer({ ...served, ...ada, may, clientOptions }, async ({ ask }) => {
      const given = { systemPrompt: "Be kind.", settings: { reasoning: "high" } };
      const begun = await ask("POST", "/v1/sessions", { agent: "desk", input: "Hello.", options: given });
      const { sessionId, runId } = begun.json;
      await ask("GET", `/v1/sessions/${sessionId}/runs/${runId}?wait=30`);
      expect(model.requests[0]).toMatchObject({ systemPrompt: "Be kind.", reasoning: "high" });
      expect(seen).toEqual([{ action: "begin", run: { agent: "desk", options: given } }]);

      const warm = { settings: { reasoning: "high", temperature: 2 } };
      const refused = await ask("POST", `/v1/sessions/${sessionId}/runs`, { input: "Hi.", options: warm });
      expect(refused.status).toBe(400);
      expect(refused.json.error.message).toContain("settings.temperature");
      const other = { systemPrompt: "Not this one." };
      const denied = await ask("POST", `/v1/sessions/${sessionId}/runs`, { input: "Hi.", options: other });
      expect([denied.status, denied.json.error.code]).toEqual([403, "forbidden"]);
      expect(seen.at(-1)).toEqual({ action: "run", run: { options: other } });
    });
  });

  test("have names that are checked when the server is made", () => {
    const made = (clientOptions: unknown) => () =>
      createServer({ store: createMemoryStore(), agents: [], token: createToken(), clientOptions } as never);
    expect(made(["sytemPrompt"])).toThrow(
      expect.objectContaining({
        code: "bad_configuration",
        message: expect.stringContaining("Do you mean systemPrompt"),
      }),
    );
    for (const wrong of ["model", ["settings.unknown"], [1], {}])
      expect(made(wrong)).toThrow(expect.objectContaining({ code: "bad_configuration" }));
  });
});

describe("may", () => {
  test("is asked about an abort if a run takes the place of the one under way, which one request does", async () => {
    const denied = new Set<string>();
    const may: May = (_principal, action) => !denied.has(action);
    const authenticate = (): Principal => ({ id: "ada", scopes: ["read", "run"] });
    await withServer({ ...desk().served, authenticate, may, work: false }, async ({ ask, store }) => {
      const { sessionId } = (await ask("POST", "/v1/sessions", { agent: "desk", input: "Hello." })).json;
      const interrupt = () => ask("POST", `/v1/sessions/${sessionId}/runs`, { input: "Stop.", mode: "interrupt" });
      denied.add("abort");
      const refused = await interrupt();
      expect([refused.status, refused.json.error.code]).toEqual([403, "forbidden"]);
      denied.clear();
      expect((await interrupt()).status).toBe(202);
      expect((await store.inbox(sessionId)).map(({ body }) => body)).toMatchObject([
        { type: "input" },
        { type: "input", mode: "queue", interrupts: true, by: "ada" },
      ]);
    });
  });

  test("is asked about a steer also if it comes as a run, and about a deletion also if the scope is there", async () => {
    const denied = new Set(["steer", "delete"]);
    const may: May = (_principal, action) => !denied.has(action);
    const authenticate = (): Principal => ({ id: "ada", scopes: ["read", "run", "admin"] });
    await withServer({ ...desk().served, authenticate, may, work: false }, async ({ ask, store }) => {
      const { sessionId } = (await ask("POST", "/v1/sessions", { agent: "desk", input: "Hello." })).json;
      const steered = await ask("POST", `/v1/sessions/${sessionId}/runs`, { input: "Stop.", mode: "steer" });
      expect([steered.status, steered.json.error.code]).toEqual([403, "forbidden"]);
      const deleted = await ask("DELETE", `/v1/sessions/${sessionId}`);
      expect([deleted.status, deleted.json.error.code]).toEqual([403, "forbidden"]);
      expect(await store.describe(sessionId)).not.toBeNull();
      denied.add("read");
      expect((await ask("DELETE", `/v1/sessions/${sessionId}`)).json.error.code).toBe("no_session");
      expect(await createClient({ store }).session(sessionId).state()).toBeDefined();
    });
  });
});
