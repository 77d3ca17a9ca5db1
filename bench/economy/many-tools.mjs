/**
 * What 400 tools of ten servers cost, for the bench `economy`: eight tasks, each a find and two calls, with the real provider
 * packages. Tokens are counted exactly. Input costs the same with claude-sonnet-5 and gpt-6-sol.
 */
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { createAgent } from "../../dist/index.js";
import { fromAiSdk } from "../../dist/models/index.js";
import { beginsWith, billed } from "./billing-server.mjs";
import { packages, startServer } from "./sessions.mjs";

const verbs = ["create", "list", "update", "delete", "search"];
const nouns = ["invoice", "customer", "refund", "ticket", "comment", "page", "project", "report"];
const servers = ["billing", "crm", "tickets", "wiki", "mail", "calendar", "hosting", "payroll", "stock", "surveys"];
const dollarsPerMillion = 2;

function manyTools(defer) {
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

/** What a model calls in a task: with deferred tools a find first, then two calls. */
function replyFor(form, step) {
  const perTask = form === "all" ? 3 : 4;
  const task = Math.floor(step / perTask);
  const within = (step % perTask) + (form === "all" ? 1 : 0);
  const query = `${servers[task]} ${nouns[task]}`;
  if (within === 3) return { text: `The ${nouns[task]} is done.` };
  if (within === 0)
    return form === "search" ? { search: { query } } : { calls: [{ name: "find_tools", input: { query } }] };
  const name = `${servers[task]}_${within === 1 ? "search" : "update"}_${nouns[task]}`;
  const input = { id: `${task}-${within}` };
  return { calls: [form === "call_tool" ? { name: "call_tool", input: { name, input } } : { name, input }] };
}

/** How the model gets 400 tools: all in each request, loaded by its provider, or through `call_tool`. */
export const ways = ["all offered", "loaded by the provider", "through call_tool"];

export async function measureManyTools(version, way) {
  const native = version.startsWith("GPT") ? "search" : "reference";
  const form = way === ways[0] ? "all" : way === ways[1] ? native : "call_tool";
  const server = await startServer(version)({ reply: (step) => replyFor(form, step), countTokens });
  const model = fromAiSdk(packages[version](server.baseURL));
  const agent = createAgent({
    model: form === "call_tool" ? { ...model, takesDeferredTools: false } : model,
    tools: manyTools(form !== "all"),
    systemPrompt: "You do office work with tools.",
  });
  for (let task = 0; task < 8; task += 1)
    await agent.run(`Please see to the ${nouns[task]} in ${servers[task]}.`, { sessionId: "s" });
  await server.close();
  const bills = server.ledger.filter(({ refused }) => refused === undefined);
  const sum = (key) => bills.reduce((total, bill) => total + bill[key], 0);
  return {
    requests: bills.length,
    refused: server.ledger.length - bills.length,
    first: bills[0].total,
    total: sum("total"),
    readShare: sum("read") / sum("total"),
    breaks: bills.slice(1).filter((bill, index) => !beginsWith(bill, bills[index])).length,
    dollars: (bills.reduce((total, bill) => total + billed(bill), 0) * dollarsPerMillion) / 1e6,
    kilobytes: bills.reduce((total, { body }) => total + JSON.stringify(body).length, 0) / 1000,
  };
}
