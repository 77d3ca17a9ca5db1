/**
 * What 400 tools of ten servers cost, all offered or deferred: `node bench/economy/many-tools.mjs`. Eight tasks, each a find and
 * two calls, with the real @ai-sdk/anthropic against the billing server. Prices are those of claude-sonnet-5.
 */
import { createAnthropic } from "@ai-sdk/anthropic";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { createAgent } from "../../dist/index.js";
import { billed, startBillingServer } from "./billing-server.mjs";

const verbs = ["create", "list", "update", "delete", "search"];
const nouns = ["invoice", "customer", "refund", "ticket", "comment", "page", "project", "report"];
const servers = ["billing", "crm", "tickets", "wiki", "mail", "calendar", "hosting", "payroll", "stock", "surveys"];
const dollarsPerMillion = 2;

export function manyTools(defer) {
  return servers.flatMap((server) =>
    verbs.flatMap((verb) => nouns.map((noun) => toolOf({ server, verb, noun, ...(defer ? { defer } : {}) }))),
  );
}

function toolOf({ server, verb, noun, ...more }) {
  const text = (description) => ({ type: "string", description });
  return {
    name: `${server}_${verb}_${noun}`,
    description: `Can ${verb} a ${noun} in ${server}. Use it when the user asks to ${verb} one, and check the id of the ${noun} before.`,
    input: {
      type: "object",
      properties: {
        id: text(`The id of the ${noun}, as ${server} shows it.`),
        title: text(`A short title of the ${noun}.`),
        owner: text("The person who is responsible."),
        limit: { type: "integer", description: "How many to return at most." },
      },
      required: ["id"],
    },
    execute: ({ id }) => `${verb} ${noun} ${id}: ok ${"and so on ".repeat(40)}`,
    ...more,
  };
}

/** The task's model calls: with deferred tools a find first, then two calls. */
function replyFor(isDeferred, step) {
  const perTask = isDeferred ? 4 : 3;
  const task = Math.floor(step / perTask);
  const within = (step % perTask) + (isDeferred ? 0 : 1);
  const names = [`${servers[task]}_search_${nouns[task]}`, `${servers[task]}_update_${nouns[task]}`];
  if (within === 0) return { calls: [{ name: "find_tools", input: { query: `${servers[task]} ${nouns[task]}` } }] };
  if (within === 3) return { text: `The ${nouns[task]} is done.` };
  const name = names[within - 1];
  const input = { id: `${task}-${within}` };
  return { calls: [isDeferred ? { name: "call_tool", input: { name, input } } : { name, input }] };
}

export async function measureManyTools(isDeferred) {
  const server = await startBillingServer({ reply: (step) => replyFor(isDeferred, step), countTokens });
  const model = createAnthropic({ baseURL: server.baseURL, apiKey: "none" })("claude-sonnet-5");
  const agent = createAgent({ model, tools: manyTools(isDeferred), systemPrompt: "You do office work with tools." });
  for (let task = 0; task < 8; task += 1)
    await agent.run(`Please see to the ${nouns[task]} in ${servers[task]}.`, { sessionId: "s" });
  const bills = server.ledger;
  await server.close();
  const refused = bills.filter((bill) => bill.refused !== undefined);
  const sum = (key) => bills.reduce((total, bill) => total + bill[key], 0);
  const breaks = bills
    .slice(1)
    .filter((bill, index) => bills[index].blocks.some((block, at) => bill.blocks[at] !== block));
  return {
    requests: bills.length,
    refused: refused.length,
    first: bills[0].total,
    total: sum("total"),
    readShare: sum("read") / sum("total"),
    breaks: breaks.length,
    dollars: (bills.reduce((total, bill) => total + billed(bill), 0) * dollarsPerMillion) / 1e6,
    kilobytes: bills.reduce((total, { body }) => total + JSON.stringify(body).length, 0) / 1000,
  };
}

if (process.argv[1]?.endsWith("many-tools.mjs"))
  for (const isDeferred of [false, true])
    console.log(isDeferred ? "deferred" : "all offered", await measureManyTools(isDeferred));
