/**
 * A case has none of what identifies people, and still plays the same.
 */
import { describe, expect, test } from "vitest";
import { createCase, evaluate, inRecord, sameAnswer, sameCalls, sameEnd } from "../../src/evals/index.js";
import { createAgent, createMemoryStore, defineTool, textOf } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { verifies } from "../verifies.js";

const names = ['Zoë O"Brien', "Jürgen Übel", "Annual", "李小龙", "Maria de la Cruz"];

/** Who a customer is, as JSON text and as data. */
function findCustomer(mail: string) {
  const index = Number(/\d+/.exec(mail)?.[0]);
  return {
    customer: {
      name: names[index % names.length],
      mail,
      card: "4242 4242 4242 4242",
      iban: "DE89 3704 0044 0532 0130 00",
      phone: "+49 30 901820-0",
      address: { street: `Lindenweg ${index}`, lines: [`c/o ${names[index % names.length]}`] },
      number: 70_000 + index,
    },
    key: "sk-ant-abcdefghijklmnopqrstuvwxyz",
  };
}

const find = defineTool({
  name: "find",
  description: "Finds a customer.",
  input: { type: "object", properties: { mail: { type: "string" } }, required: ["mail"] },
  readOnly: true,
  execute: ({ mail }) => JSON.stringify(findCustomer(String(mail))),
});
const describe_ = defineTool({
  name: "describe",
  description: "Describes a customer.",
  input: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  readOnly: true,
  execute: ({ name }) => ({ summary: `${name} is a customer.`, name }),
});

const model = createScriptedModel(
  ({ messages }) => {
    const results = messages.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === "tool_result" ? [part.output] : [])),
    );
    const [found] = results;
    if (found === undefined) {
      const [first] = messages;
      const mail = /[\w.]+@[\w.]+\w/.exec(first === undefined ? "" : textOf(first))?.[0] ?? "";
      return { reasoning: `Who is ${mail}?`, calls: [{ name: "find", input: { mail } }] };
    }
    const { customer } = JSON.parse(found.type === "text" ? found.text : "{}");
    if (results.length === 1) return { calls: [{ name: "describe", input: { name: customer.name } }] };
    return { text: `${customer.name}, ${customer.address.street}, number ${customer.number}, card ${customer.card}.` };
  },
  { record: false },
);

describe("A case of a session with a customer's data", verifies("EVAL-1#redaction"), () => {
  test("has none of it, in inputs, results, JSON text, answers and thoughts, and plays the same", async () => {
    const store = createMemoryStore();
    const agent = createAgent({ name: "crm", model, tools: [find, describe_], store });
    const cases = [];
    for (let index = 0; index < 10; index += 1) {
      const mail = `customer${index}@shop.example.org`;
      await agent.run(`Who is ${mail}? Ann asks; it is our Annual list.`, { sessionId: mail });
      const made = await createCase(store, mail, { name: `case-${index}`, hide: ["name", "address", "number"] });
      const text = JSON.stringify(made);
      const name = names[index % names.length] ?? "";
      const escaped = JSON.stringify(name).slice(1, -1);
      const canaries = [
        mail,
        name,
        escaped,
        JSON.stringify(escaped).slice(1, -1),
        `Lindenweg ${index}"`,
        String(70_000 + index),
      ];
      for (const canary of [...canaries, "4242 4242", "DE89 3704", "901820", "sk-ant-abcdef"])
        expect([index, canary, text.includes(canary)]).toEqual([index, canary, false]);
      cases.push(made);
    }
    const report = await evaluate({
      name: "crm",
      agent: createAgent({ name: "crm", model, tools: [find, describe_] }),
      cases,
      judges: [sameEnd(), inRecord(), sameCalls(), sameAnswer()],
    });
    expect(report.trials.filter(({ passed }) => !passed)).toEqual([]);
    expect(report.variants.agent).toMatchObject({ passed: 10, trials: 10 });
  });

  test("keeps the names of tools and members, and words that only contain a hidden name", async () => {
    const store = createMemoryStore();
    const agent = createAgent({
      model: createScriptedModel([{ calls: [{ name: "who" }] }, { text: "Ann has the Annual pass; ann is a tool." }]),
      tools: [
        defineTool({
          name: "who",
          description: "Says who.",
          input: { type: "object", properties: {} },
          execute: () => ({ name: "Ann", tool: "who" }),
        }),
      ],
      store,
    });
    await agent.run("Who?", { sessionId: "who" });
    const made = await createCase(store, "who", { hide: ["name"] });
    expect(made.expected?.text).toBe("name-1 has the Annual pass; ann is a tool.");
    expect(made.calls).toMatchObject([{ tool: "who", output: { value: { name: "name-1", tool: "who" } } }]);
  });

  test("keeps a mail address under a hidden member a mail address, so that the tool's schema still accepts it", async () => {
    const store = createMemoryStore();
    const send = defineTool({
      name: "send",
      description: "Sends a mail.",
      input: { type: "object", properties: { email: { type: "string" } }, required: ["email"] },
      execute: () => ({ email: "Ada Lovelace" }),
    });
    const model = createScriptedModel([
      { calls: [{ name: "send", input: { email: "ada@shop.example.org" } }] },
      { text: "Sent." },
    ]);
    await createAgent({ model, tools: [send], store }).run("Send it.", { sessionId: "mail" });
    const made = await createCase(store, "mail", { hide: ["email"] });
    expect(made.calls).toMatchObject([
      { input: { email: "mail1@example.com" }, output: { value: { email: "email-1" } } },
    ]);
  });
});
