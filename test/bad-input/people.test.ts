/**
 * What people say badly (docs/bad-input.md): twice, against each other, too late, to something else.
 */
import { expect, test } from "vitest";
import { type AnyTool, defineTool, type Permission } from "../../src/index.js";
import type { Script } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";
import { expectBadInputTable, type Row } from "./page.js";
import { runScene, type Scene, type SceneCase, told } from "./scenes.js";

const day = 24 * 60 * 60 * 1_000;

const pay = (required = "amount"): AnyTool =>
  defineTool({
    name: "pay",
    description: "Pays.",
    input: { type: "object", properties: { amount: { type: "number" } }, required: [required] },
    execute: (input) => `paid ${JSON.stringify(input)}`,
  });

const script: Script = ({ messages }) =>
  messages.at(-1)?.role === "tool" ? { text: "Done." } : { calls: [{ name: "pay", input: { amount: 10 } }] };

const ask = (): Permission => "ask";

function people(input: string, act: Act, canExecuteTool: () => Permission = ask): SceneCase {
  return {
    input,
    make: () => ({ script, tools: [pay()], options: { canExecuteTool }, expectedStatus: "awaiting_human", act }),
  };
}

const key = "r/1/1";
type Act = ReturnType<SceneCase["make"]>["act"];
const approve = { type: "approve" } as const;
const deny = { type: "deny", note: "too dear" } as const;

async function hashNow({ session }: Scene): Promise<string> {
  return (await session.pendingApprovals())[0]?.inputHash ?? "";
}

const cases: readonly SceneCase[] = [
  people("The same answer twice", async ({ session, runToRest }) => {
    const said = [await told(session.answer(key, approve)), await told(session.answer(key, approve))];
    await runToRest();
    return said;
  }),
  people("Contradicting answers by two people, one after the other", async ({ client, session, runToRest }) => {
    const said = [
      await told(client.answer(key, deny, { by: "Ada" })),
      await told(session.answer(key, approve, { by: "Bob" })),
    ];
    await runToRest();
    return said;
  }),
  people("An edit that does not fit the schema, and then an approval of the input as it was", async (scene) => {
    const { session, runToRest } = scene;
    const inputHash = await hashNow(scene);
    const edit = await told(session.answer(key, { type: "modify", input: { sum: 5 } }));
    await runToRest();
    return [edit, await told(session.answer(key, approve, { inputHash }))];
  }),
  people("An edit that is not JSON", async ({ session }) => [
    await told(session.answer(key, { type: "modify", input: { amount: 1n } })),
  ]),
  people("An edit with the key `__proto__`", async ({ session }) => [
    await told(session.answer(key, { type: "modify", input: JSON.parse('{"__proto__": {"amount": 1}}') })),
  ]),
  people("A note of 2 MB", async ({ session }) => [
    await told(session.answer(key, { type: "deny", note: "no ".repeat(700_000) })),
  ]),
  people("An answer to a question of another kind", async ({ session }) => [
    await told(session.answer(key, { type: "rerun" })),
  ]),
  people("An answer to a call that does not exist", async ({ session }) => [
    await told(session.answer("r/9/9", approve)),
  ]),
  people("An answer after an abort", async ({ session, client }) => {
    await session.abort();
    return [await told(session.answer(key, approve)), await told(client.answer(key, approve))];
  }),
  people(
    "An answer after the approval has expired",
    async ({ session, clock, runToRest }) => {
      await clock.advance(60_000);
      const said = await told(session.answer(key, approve));
      await runToRest();
      return [said];
    },
    () => ({ verdict: "ask", expiresInMs: 60_000 }),
  ),
  people("An answer 30 days later, in a process whose tool has another schema", async ({ clock, createLaterAgent }) => {
    await clock.advance(30 * day);
    const session = createLaterAgent([pay("currency")]).session("s");
    return [await told(session.answer(key, approve)), await told(session.result().then(() => "carried on"))];
  }),
  people("An answer 30 days later, in a process without the tool", async ({ clock, createLaterAgent }) => {
    await clock.advance(30 * day);
    const session = createLaterAgent([]).session("s");
    return [await told(session.answer(key, approve)), await told(session.result().then(() => "carried on"))];
  }),
];

const rows = new Map<string, Row>();

test.each(cases)("$input", verifies("HITL-4", "SEC-6#bound"), async (one) => {
  rows.set(one.input, await runScene(one));
});

test("the page says the same", () => {
  expect(rows.size).toBe(cases.length);
  expectBadInputTable(
    "People",
    cases.flatMap((one) => rows.get(one.input) ?? []),
  );
});
