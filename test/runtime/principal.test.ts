/**
 * Who began a session, as its tools, policies and hooks are told.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, defineTool } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";

/** An agent that writes down whom its parts are told of, and an agent that has it as a tool. */
function family() {
  const told: string[] = [];
  const store = createMemoryStore();
  const tell = (where: string, { principal = "nobody" }: { readonly principal?: string }) => {
    told.push(`${where} ${principal}`);
  };
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: { type: "object" },
    needsApproval(_input, context) {
      tell("needsApproval", context);
      return false;
    },
    execute(_input, context) {
      tell("tool", context);
      return "seen";
    },
  });
  const script = (name: string) =>
    createScriptedModel(({ messages }) =>
      messages.at(-1)?.role === "tool" ? { text: "Done." } : { calls: [{ name, input: { task: "Look." } }] },
    );
  const below = createAgent({ name: "below", model: script("look"), tools: [look] });
  const agent = createAgent({
    name: "above",
    model: script("below"),
    tools: [below.asTool({ description: "Looks." })],
    store,
    canExecuteTool(_call, context) {
      tell("policy", context);
      return "allow";
    },
    hooks: [{ name: "told", beforeRun: (_run, context) => tell("hook", context) }],
  });
  return { agent, told, store };
}

const all = (who: string) => [`hook ${who}`, `policy ${who}`, `needsApproval ${who}`, `tool ${who}`];

test("tools, policies and hooks are told who began the session, in child sessions too", async () => {
  const { agent, told, store } = family();
  expect(await agent.run("Look.", { sessionId: "s", by: "acme/ada" })).toMatchObject({ status: "completed" });
  expect(told).toEqual(all("acme/ada"));
  const children = await store.list({ parent: "s" });
  expect(children.map(({ info }) => info?.principal)).toEqual(["acme/ada"]);
});

test("it is who began the session, not who sent this request", async () => {
  const { agent, told } = family();
  await agent.run("Look.", { sessionId: "s", by: "acme/ada" });
  told.length = 0;
  await agent.run("Look.", { sessionId: "s", by: "acme/bob" });
  expect(told).toEqual(all("acme/ada"));
  const sent = [];
  for await (const event of agent.session("s").events({ follow: false }))
    if (event.type === "run_started") sent.push(event.by);
  expect(sent).toEqual(["acme/ada", "acme/bob"]);
});

test("it is absent if nobody was named", async () => {
  const { agent, told } = family();
  await agent.run("Look.");
  expect(told).toEqual(all("nobody"));
});

test("reconcile is told after a crash", async () => {
  const store = createMemoryStore();
  const told: (string | undefined)[] = [];
  const create = (execute: () => unknown) =>
    createAgent({
      model: createScriptedModel(({ messages }) =>
        messages.at(-1)?.role === "tool" ? { text: "Done." } : { calls: [{ name: "look" }] },
      ),
      tools: [
        defineTool({
          name: "look",
          description: "Looks.",
          input: { type: "object" },
          recover: {
            reconcile: async ({ principal }) => {
              told.push(principal);
              return { status: "finished", output: "seen" };
            },
          },
          execute,
        }),
      ],
      store,
    });
  const first = create(() => {
    void first.shutdown({ graceMs: 0 });
    return new Promise(() => {});
  });
  await first.run("Look.", { sessionId: "s", by: "ada" });
  expect(
    await create(() => "seen")
      .session("s")
      .resume(),
  ).toMatchObject({ status: "completed" });
  expect(told).toEqual(["ada"]);
});
