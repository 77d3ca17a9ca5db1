/**
 * What a client gets wrong is answered with a status of 4xx and a code, on every route and store.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, defineTool } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { withServer } from "./rig.js";

const cursorOf = (place: object) => Buffer.from(JSON.stringify(place)).toString("base64url");

describe("a mistake of the client", () => {
  test("in a schema, a cursor or a text is answered with 400 and a code", async () => {
    const store = createMemoryStore();
    const agents = [createAgent({ name: "desk", model: createScriptedModel(() => ({ text: "Done." })), store })];
    await withServer({ store, agents, clientOptions: ["output"] }, async ({ ask }) => {
      for (const output of [5, "text", [], { type: 9 }]) {
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
