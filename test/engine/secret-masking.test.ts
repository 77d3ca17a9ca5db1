/**
 * The plugin of the examples that masks secrets: looked for in everything that is kept, sent to a model or shown.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createSecretMasking, type Secrets } from "../../examples/plugins/secret-masking.js";
import { type AnyTool, createEngine, createMemoryStore, type EngineAgent, type Store } from "../../src/index.js";
import { createScriptedModel, type ScriptedCall, type ScriptedModel } from "../../src/testing/scripted-model.js";
import { collect, createGateTool } from "../support/agents.js";
import { verifies } from "../verifies.js";

const secret = "correct-horse-battery-staple";
const longer = `${secret}-and-more`;
const masking = () => createSecretMasking({ TOKEN: secret, LONGER: longer });

/** A store that keeps what was written to it as text: log, state, inbox and blobs. */
function createReadableStore() {
  const store = createMemoryStore();
  const written: string[] = [];
  const kept: Store = {
    ...store,
    commit(lease, commit) {
      written.push(JSON.stringify(commit));
      return store.commit(lease, commit);
    },
    putBlob(sessionId, bytes) {
      written.push(new TextDecoder().decode(bytes));
      return store.putBlob(sessionId, bytes);
    },
  };
  return { store: kept, written: () => written.join("\n") };
}

const leak = (execute: AnyTool["execute"]): AnyTool => ({
  name: "leak",
  description: "Gives secrets away.",
  input: { type: "object" },
  readOnly: true,
  ...(execute === undefined ? {} : { execute }),
});

const calling = (...calls: readonly ScriptedCall[]) => createScriptedModel([{ calls }, { text: "Done." }]);

/** Runs an agent with the plugin; gives all that anybody else could get to see of it. */
async function play(model: ScriptedModel, more: Partial<EngineAgent>, input = "Go") {
  const { store, written } = createReadableStore();
  const engine = await createEngine({ store, plugins: [masking()], agents: [{ name: "x", model, ...more }] });
  const stream = engine.agent("x").runStream(input);
  const shown = JSON.stringify(await collect(stream));
  const result = await stream.result;
  await engine.shutdown();
  return { result, shown, kept: written(), sent: JSON.stringify(model.requests) };
}

describe("a tool that gives secrets away", () => {
  const outputs: readonly (readonly [string, () => unknown])[] = [
    ["as text", () => `it is ${secret}, or ${longer}`],
    ["in JSON, as a key too", () => ({ deep: [{ [secret]: `x${longer}` }] })],
    ["in parts", () => ({ type: "content", parts: [{ type: "text", text: `${secret} ${longer}` }] })],
    ["in a text that is cut and kept whole", () => `${"a line\n".repeat(20_000)}${secret} ${longer}`],
    [
      "in an error",
      () => {
        throw new Error(`401 for ${secret} and ${longer}`);
      },
    ],
  ];
  test.each(outputs)("%s: the model and the log know them by name", verifies("SEC-14", "HOOK-1"), async (_, give) => {
    const { result, shown, kept, sent } = await play(calling({ name: "leak" }), { tools: [leak(give)] });
    expect(result.status).toBe("completed");
    for (const place of [shown, kept, sent]) expect(place).not.toContain("battery");
    expect(kept).toContain("{{TOKEN}}");
    expect(kept).toContain("{{LONGER}}");
  });

  test("of a known shape: they are redacted, though nobody named them", async () => {
    const key = `sk-ant-${"a1B2c3D4".repeat(5)}`;
    const { kept, sent } = await play(calling({ name: "leak" }), { tools: [leak(() => `the key is ${key}`)] });
    for (const place of [kept, sent]) expect(place).not.toContain(key);
  });

  test("after it was given up: its late result is masked as well", async () => {
    const { store, written } = createReadableStore();
    const gate = createGateTool("leak", { heedsSignal: false });
    const engine = await createEngine({
      store,
      plugins: [masking()],
      agents: [{ name: "x", model: calling({ name: "leak" }), tools: [gate.tool], limits: { abortGraceMs: 0 } }],
    });
    const controller = new AbortController();
    const run = engine.agent("x").run("Go", { sessionId: "s", signal: controller.signal });
    await gate.started;
    controller.abort();
    expect((await run).status).toBe("aborted");
    gate.open(`late: ${secret}`);
    for await (const item of engine.agent("x").session("s").events())
      if (item.type === "late_result") {
        expect(JSON.stringify(item)).toContain("late: {{TOKEN}}");
        break;
      }
    await engine.shutdown();
    expect(written()).not.toContain("battery");
  });
});

test(
  "a tool gets the name, where the model wrote the secret, and turns it into the secret itself",
  verifies("PLUG-2"),
  async () => {
    const got: unknown[] = [];
    const model = calling({
      name: "leak",
      input: { header: `Bearer ${secret}`, list: [longer], name: "{{TOKEN}}", other: "{{NONE}}" },
    });
    const tool = leak((input, { services }) => {
      const { reveal } = services.secrets as Secrets;
      got.push(input, reveal("a {{TOKEN}}, a {{LONGER}}, a {{NONE}}, a {{constructor}}"));
    });
    await play(model, { tools: [tool] });
    expect(got).toEqual([
      { header: "Bearer {{TOKEN}}", list: ["{{LONGER}}"], name: "{{TOKEN}}", other: "{{NONE}}" },
      `a ${secret}, a ${longer}, a {{NONE}}, a {{constructor}}`,
    ]);
  },
);

test("what a user types and a system prompt says reaches the model masked", async () => {
  const model = createScriptedModel([{ text: "Hello." }]);
  const { sent } = await play(model, { systemPrompt: `The password is ${longer}.` }, `My token is ${secret}.`);
  expect(sent).not.toContain("battery");
  expect(sent).toContain("My token is {{TOKEN}}.");
  expect(sent).toContain("The password is {{LONGER}}.");
});

test("a secret that could be a word is refused", () => {
  expect(() => createSecretMasking({ PIN: "1234567" })).toThrow("The secret PIN is shorter than 8 characters");
});

test("whatever stands around secrets: none is left, and names become them again", async () => {
  let secrets: Secrets | undefined;
  const values = { A: "aaaaaaaa", "B-2": "aaaaaaaab", DOLLARS: "$&$1$$``''" };
  const engine = await createEngine({
    plugins: [
      createSecretMasking(values),
      {
        name: "reader",
        version: "1",
        dependencies: ["secret-masking"],
        setup({ service }) {
          secrets = service("secrets") as Secrets;
        },
      },
    ],
    agents: [],
  });
  const piece = fc.oneof(fc.constantFrom(...Object.values(values)), fc.constantFrom(" ", "$", "a b", "é", "}{", "\n"));
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      const text = pieces.join("");
      const masked = secrets?.mask(text) ?? text;
      for (const value of Object.values(values)) expect(masked).not.toContain(value);
      expect(secrets?.reveal(masked)).toBe(text);
    }),
  );
  await engine.shutdown();
});
