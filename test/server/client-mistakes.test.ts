/**
 * What a client gets wrong is answered with a status of 4xx and a code, on every route and store.
 */
import { describe, expect, onTestFinished, test } from "vitest";
import { createAgent, createMemoryStore, defineTool, type Store } from "../../src/index.js";
import { openPostgresStore } from "../../src/stores/postgres/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { openFileStore } from "../stores/open.js";
import { createDatabase, hasPostgres, usePostgres } from "../support/postgres.js";
import { withServer } from "./rig.js";

const cursorOf = (place: object) => Buffer.from(JSON.stringify(place)).toString("base64url");

const server = usePostgres();

const stores: readonly (readonly [string, () => Promise<Store>])[] = [
  ["memory", async () => createMemoryStore()],
  [
    "SQLite",
    async () => {
      const { store, close } = await openFileStore();
      onTestFinished(close);
      return store;
    },
  ],
  [
    "PostgreSQL",
    async () => {
      const store = await openPostgresStore({ url: await createDatabase(server()) });
      onTestFinished(() => store.close());
      return store;
    },
  ],
];

describe.each(stores.slice(0, hasPostgres ? 3 : 2))("a mistake of the client, with a store in %s,", (_name, open) => {
  test("in a schema, a cursor or a text is answered with 400 and a code", async () => {
    const store = await open();
    const agents = [createAgent({ name: "desk", model: createScriptedModel(() => ({ text: "Done." })), store })];
    await withServer({ store, agents, clientOptions: ["output"] }, async ({ ask }) => {
      const odd = [
        { type: "object", properties: 3 },
        { type: "object", properties: { a: 3 } },
        { type: "object", properties: {}, required: "a" },
        { type: "object", properties: { a: { type: "array", items: "text" } } },
        { type: "object", anyOf: {} },
      ];
      for (const output of [5, "text", [], { type: 9 }, ...odd]) {
        const { status, json } = await ask("POST", "/v1/sessions", {
          agent: "desk",
          input: "Hi.",
          options: { output },
        });
        expect([status, json.error?.code], JSON.stringify(output)).toEqual([400, "bad_input"]);
      }
      const places = [
        { waitsSince: -1, sessionId: "s", callKey: "r/1/1", questionId: "" },
        { waitsSince: 0.5, sessionId: "s", callKey: "r/1/1", questionId: "" },
        { waitsSince: 1e300, sessionId: "s", callKey: "r/1/1", questionId: "" },
        { waitsSince: 1, sessionId: "s\0", callKey: "r/1/1", questionId: "" },
        { waitsSince: 1, sessionId: "x".repeat(1_001), callKey: "r/1/1", questionId: "" },
      ];
      for (const place of places) {
        const { status, json } = await ask("GET", `/v1/approvals?cursor=${cursorOf(place)}`);
        expect([status, json.error?.code], JSON.stringify(place)).toEqual([400, "bad_cursor"]);
      }
      for (const [updatedAt, sessionId] of [
        [1.5, "s"],
        [-1, "s"],
        [1, "\0"],
      ] as const)
        for (const path of ["/v1/sessions", "/v1/approvals/answered"])
          expect((await ask("GET", `${path}?cursor=${cursorOf({ updatedAt, sessionId })}`)).status).toBe(400);
      for (const query of ["agent=%00", "parent=a%00", "q=%00"])
        expect((await ask("GET", `/v1/sessions?${query}`)).json.error?.code, query).toBe("bad_input");
      const named = await ask("POST", "/v1/sessions", { agent: "desk\0", input: "Hi." });
      expect(named.json.error?.code).toBe("bad_input");
    });
  });
});

test("the list of agents has no secrets of their tools", async () => {
  const tool = defineTool({
    name: "pay",
    description: "Pays with the key sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789.",
    input: { type: "object" },
    execute: () => "paid",
  });
  const store = createMemoryStore();
  const agents = [createAgent({ name: "desk", model: createScriptedModel([]), tools: [tool], store })];
  await withServer({ store, agents }, async ({ ask }) => {
    const { json } = await ask("GET", "/v1/agents");
    expect(json.agents[0].tools[0].name).toBe("pay");
    expect(JSON.stringify(json)).not.toContain("sk-ant-api03");
  });
});
