/**
 * A Responses API on this machine that bills prompts as OpenAI documents its prompt cache
 * (https://developers.openai.com/api/docs/guides/prompt-caching). It answers by a script and calls no model.
 *
 * 1. A prompt is a list of blocks: tools, then the items of the input. Nothing has to be marked. What a request shares with
 *    an earlier one from its beginning on is read, in steps of 128 tokens and from 1,024 tokens on. Here only whole blocks are
 *    shared, so the figures are a lower bound.
 * 2. Before GPT-5.6 each machine has a cache of its own. A request goes to a machine by the first 256 tokens of its prompt and
 *    its `prompt_cache_key`. Above 15 requests a minute with the same two, the next ones go to another machine. From GPT-5.6 on,
 *    caching is documented as more reliable: here it is one cache.
 * 3. The server keeps the items of its answers, and an `item_reference` stands for one of them.
 * 4. Deferred functions are not in the prompt. The definitions in a `tool_search_output` are, where that item is
 *    (https://developers.openai.com/api/docs/guides/tools-tool-search).
 * 5. Requests that the API refuses get a 400: an output without its call, a call without its output, an id of another kind
 *    of item, an unknown reference, deferred functions without a search tool, and a search item without that tool.
 */
import { createHash } from "node:crypto";
import { serveLocally } from "./local-server.mjs";

const minimumTokens = 1_024;
const stepTokens = 128;
const routedTokens = 256;
const perMinute = 15;

const prefixes = { message: "msg", function_call: "fc", tool_search_call: "tsc", tool_search_output: "tso" };
const outputs = { function_call: "function_call_output", tool_search_call: "tool_search_output" };

/**
 * Starts the server on a free port of the loopback interface.
 * @param reply what the n-th request (from 0) is answered: `{ text?, calls?: [{ name, input }], search?: arguments }`
 * @param isBefore56 whether the model is older than GPT-5.6: it has many machines, and writes to the cache cost nothing more
 */
export async function startOpenAiServer({
  reply,
  now = Date.now,
  countTokens = (text) => Math.ceil(text.length / 4),
  isBefore56 = false,
  refuse = () => null,
}) {
  const everywhere = new Set();
  const machines = new Map();
  const routes = new Map();
  const stored = new Map();
  const ledger = [];
  const { baseURL, close } = await serveLocally(async (body, response) => {
    const input = resolved(body.input, stored);
    const problem = refuse(body) ?? problemWith({ ...body, input });
    if (problem !== null) {
      ledger.push({ refused: problem, body });
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: problem, type: "invalid_request_error", code: null } }));
      return;
    }
    const bill = charge({ ...body, input });
    const number = ledger.length;
    const answer = await reply(number, { ...body, input });
    const items = itemsOf(answer, number);
    for (const item of items) stored.set(item.id, item);
    ledger.push({ ...bill, body });
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(eventsOf(items, bill, number));
  });

  function charge(body) {
    const blocks = blocksOf(body, countTokens);
    const total = blocks.at(-1)?.end ?? 0;
    const known = machineFor(blocks, body.prompt_cache_key);
    const shared = blocks.findLast(({ hash }) => known.has(hash))?.end ?? 0;
    const read = shared < minimumTokens ? 0 : shared - (shared % stepTokens);
    for (const { hash } of blocks) known.add(hash);
    const written = !isBefore56 && total >= minimumTokens ? total - (total % stepTokens) - read : 0;
    return {
      total,
      read,
      written5m: Math.max(0, written),
      written1h: 0,
      full: total - read - Math.max(0, written),
      marks: 0,
      blocks: blocks.map(({ own }) => own),
    };
  }

  function machineFor(blocks, key = "") {
    if (!isBefore56) return everywhere;
    const start = blocks.find(({ end }) => end >= routedTokens)?.hash ?? blocks.at(-1)?.hash;
    const route = `${start} ${key}`;
    const minute = Math.floor(now() / 60_000);
    const last = routes.get(route);
    const count = last?.minute === minute ? last.count + 1 : 1;
    routes.set(route, { minute, count });
    const machine = `${route} ${Math.floor((count - 1) / perMinute)}`;
    const known = machines.get(machine) ?? new Set();
    machines.set(machine, known);
    return known;
  }

  return {
    baseURL,
    /** Every request so far: its bill and body, or why it was refused. */
    ledger,
    close,
  };
}

function resolved(input, stored) {
  return input.map((item) => (item.type === "item_reference" ? (stored.get(item.id) ?? item) : item));
}

function blocksOf({ tools = [], input }, countTokens) {
  const blocks = [];
  let hash = "";
  let end = 0;
  const add = (block) => {
    // An id is not shown to the model, and an item that is sent again may lack it.
    const { id: _, status: __, ...shown } = block;
    const own = JSON.stringify(shown);
    hash = createHash("sha256").update(`${hash}\n${own}`).digest("hex");
    end += countTokens(own);
    blocks.push({ own, hash, end });
  };
  for (const tool of tools) if (tool.defer_loading !== true) add(tool);
  for (const item of input) add(item);
  return blocks;
}

function problemWith({ tools = [], input }) {
  const search = tools.find(({ type }) => type === "tool_search");
  if (search === undefined && tools.some((tool) => tool.defer_loading === true))
    return "Invalid Value: 'tools.defer_loading'. Deferred tools require tools.tool_search.";
  for (const [index, item] of input.entries()) {
    const { type = "message", id } = item;
    if (type === "item_reference") return `Item with id '${id}' not found.`;
    if (id !== undefined && !String(id).startsWith(prefixes[type] ?? ""))
      return `Invalid 'input[${index}].id': '${id}'. Expected an ID that begins with '${prefixes[type]}'.`;
    if (type.startsWith("tool_search") && search === undefined)
      return `Invalid 'input[${index}]': ${type} requires the tool_search tool.`;
    if (type === "tool_search_output" && item.tools.some((tool) => tool.type !== "function" || !tool.name))
      return `Invalid 'input[${index}].tools'.`;
  }
  for (const [call, output] of Object.entries(outputs)) {
    const idsOf = (type) => input.flatMap((item) => (item.type === type ? [item.call_id] : []));
    const [calls, results] = [idsOf(call), idsOf(output)];
    const lost = results.find((id) => !calls.includes(id));
    if (lost !== undefined) return `No tool call found for ${output} with call_id ${lost}.`;
    const open = calls.find((id) => !results.includes(id));
    if (open !== undefined) return `No tool output found for ${call} ${open}.`;
  }
  return null;
}

function itemsOf({ text = "", calls = [], search }, number) {
  const content = [{ type: "output_text", text, annotations: [] }];
  const message = { type: "message", id: `msg_${number}`, role: "assistant", status: "completed", content };
  const searching = {
    type: "tool_search_call",
    id: `tsc_${number}`,
    call_id: `call_${number}_s`,
    execution: "client",
    status: "completed",
    arguments: search,
  };
  return [
    ...(text === "" ? [] : [message]),
    ...(search === undefined ? [] : [searching]),
    ...calls.map(({ name, input }, index) => ({
      type: "function_call",
      id: `fc_${number}_${index}`,
      call_id: `call_${number}_${index}`,
      name,
      arguments: JSON.stringify(input),
      status: "completed",
    })),
  ];
}

function eventsOf(items, { total, read, written5m }, number) {
  const response = {
    id: `resp_${number}`,
    object: "response",
    created_at: 1_790_000_000,
    model: "gpt-6-sol",
    output: [],
  };
  const usage = {
    input_tokens: total,
    input_tokens_details: { cached_tokens: read, cache_write_tokens: written5m },
    output_tokens: 50,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: total + 50,
  };
  const events = [{ type: "response.created", response: { ...response, status: "in_progress", usage: null } }];
  for (const [index, item] of items.entries()) {
    const begun = item.type === "message" ? { ...item, content: [] } : { ...item, arguments: "" };
    const at = { item_id: item.id, output_index: index };
    events.push({ type: "response.output_item.added", output_index: index, item: begun });
    if (item.type === "message") {
      const delta = item.content[0].text;
      events.push({ type: "response.output_text.delta", ...at, content_index: 0, delta, logprobs: [] });
    }
    if (item.type === "function_call")
      events.push({ type: "response.function_call_arguments.delta", ...at, delta: item.arguments });
    events.push({ type: "response.output_item.done", output_index: index, item });
  }
  events.push({
    type: "response.completed",
    response: { ...response, status: "completed", incomplete_details: null, usage },
  });
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}
