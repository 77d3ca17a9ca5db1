/**
 * Params that a server sets for the runs that its clients start.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { createAgent, createMemoryStore } from "../../src/index.js";
import { createServer, createToken, type ServerOptions } from "../../src/server/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createDeferred } from "../support/agents.js";
import { verifies } from "../verifies.js";
import { startTestServer } from "./rig.js";

function startParamsServer(options: Pick<ServerOptions, "params" | "clientOptions">) {
  const model = createScriptedModel(() => ({ text: "Done." }));
  const store = createMemoryStore();
  const agent = createAgent({
    name: "shop",
    model,
    store,
    params: z.object({ tenant: z.string() }),
    systemPrompt: ({ params }) => `You serve ${params.tenant}.`,
  });
  return { model, rig: startTestServer({ store, agents: [agent], ...options }) };
}

test("a server sets the params of the runs that its clients start", verifies("TYPE-1#params"), async () => {
  const { model, rig } = startParamsServer({
    clientOptions: ["params"],
    params: ({ principal, agent, request }) => ({
      tenant: `${principal.id} of ${agent}, ${request.headers.get("x-region")}`,
    }),
  });
  const { url, token, ask } = await rig;
  const headers = { "x-region": "eu" };
  const started = await ask(
    "POST",
    "/v1/sessions",
    { agent: "shop", input: "Go.", options: { params: { tenant: "another" } } },
    headers,
  );
  const session = `/v1/sessions/${started.json.sessionId}`;
  await ask("GET", `${session}/runs/${started.json.runId}?wait=30`);
  const second = await ask("POST", `${session}/runs`, { input: "Again." }, headers);
  await ask("GET", `${session}/runs/${second.json.runId}?wait=30`);
  const chat = await fetch(`${url}/v1/chat`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ id: "c", messages: [{ id: "m", role: "user", parts: [{ type: "text", text: "Hi." }] }] }),
  });
  expect(await chat.text()).toContain("Done.");
  const prompts = model.requests.map(({ systemPrompt }) => systemPrompt);
  expect(prompts).toEqual(Array.from({ length: 3 }, () => "You serve token of shop, eu."));
});

test("params of a server that are not an object are the server's failure", verifies("TYPE-1#params"), async () => {
  const { rig } = startParamsServer({ params: () => "acme" as never });
  const { ask, lines } = await rig;
  expect(await ask("POST", "/v1/sessions", { agent: "shop", input: "Go." })).toMatchObject({ status: 500 });
  expect(lines.at(-1)).toMatchObject({ status: 500 });
  expect(() =>
    createServer({ store: createMemoryStore(), agents: [], token: createToken(), params: {} as never }),
  ).toThrow("must be a function");
});

test("a request for another agent keeps its agent, even if its session began while its params were chosen", async () => {
  const store = createMemoryStore();
  const agents = ["north", "south"].map((name) =>
    createAgent({ name, store, model: createScriptedModel(() => ({ text: `I am ${name}.` })) }),
  );
  const asked = createDeferred();
  const begun = createDeferred();
  const { ask } = await startTestServer({
    store,
    agents,
    params: async ({ agent }) => {
      if (agent === "south") {
        asked.resolve();
        await begun.promise;
      }
      return {};
    },
  });
  const begin = (agent: string) => ask("POST", "/v1/sessions", { agent, input: "Go.", sessionId: "s" });
  const south = begin("south");
  await asked.promise;
  await begin("north");
  begun.resolve();
  const { runId } = (await south).json;
  const { json } = await ask("GET", `/v1/sessions/s/runs/${runId}?wait=30`);
  expect(json).toMatchObject({ status: "completed", text: "I am south." });
});
