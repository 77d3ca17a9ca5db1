/**
 * A Messages API on this machine that bills prompts as Anthropic documents its prompt cache
 * (https://platform.claude.com/docs/en/build-with-claude/prompt-caching). It answers by a script and calls no model.
 *
 * 1. A prompt is a list of blocks: tools, then the system prompt, then the messages. A mark (`cache_control`) writes one cache
 *    entry: the hash of everything up to its block. A read looks for an entry at each mark and at the 20 positions before it.
 * 2. A run of `tool_use` blocks is one position, and so is a run of `tool_result` blocks. With `positions: "blocks"`, every
 *    block is one.
 * 3. An entry's lifetime starts with the request that wrote it. Each read renews it. A prompt below the minimum is not cached.
 * 4. `tool_choice`, thinking, effort and the presence of images are part of what the messages' hashes cover, but not of the
 *    tools' and the system prompt's.
 * 5. Tools with `defer_loading` are not in the prompt. A `tool_reference` in a result is replaced by the tool's definition
 *    (https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool).
 * 6. Requests that the API refuses get a 400: more than four marks; a mark on empty text, on thinking or on a deferred tool; a
 *    one-hour mark after a five-minute mark; empty text; a tool result that does not directly follow its call; a reference
 *    that is not in a result, or to a tool that is not in the request and deferred; a request whose tools are all deferred, or
 *    that has deferred tools and examples of inputs.
 */
import { createHash } from "node:crypto";
import { serveLocally } from "./local-server.mjs";

const lookBack = 20;
const lifetimesMs = { "5m": 5 * 60_000, "1h": 60 * 60_000 };

/** The factor of the price of plain input. */
export const factors = { full: 1, read: 0.1, written5m: 1.25, written1h: 2 };

/** What a request costs, in tokens of plain input. */
export function billed({ full, read, written5m, written1h }) {
  return full * factors.full + read * factors.read + written5m * factors.written5m + written1h * factors.written1h;
}

/**
 * Starts the server on a free port of the loopback interface.
 * @param reply what the n-th request (from 0) is answered: `{ text?, calls?: [{ name, input }], outputTokens? }`
 */
export async function startBillingServer({
  reply,
  now = Date.now,
  minimumTokens = 1024,
  positions = "runs",
  countTokens = (text) => Math.ceil(text.length / 4),
  refuse = () => null,
}) {
  const entries = new Map();
  const ledger = [];
  const { baseURL, close } = await serveLocally(async (body, response) => {
    const problem = refuse(body) ?? problemWith(body);
    if (problem !== null) {
      ledger.push({ refused: problem, body });
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ type: "error", error: { type: "invalid_request_error", message: problem } }));
      return;
    }
    const bill = charge(body);
    const answer = await reply(ledger.length, body);
    ledger.push({ ...bill, body });
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(eventsOf(answer, bill, ledger.length));
  });

  function charge(body) {
    const blocks = blocksOf(body, { positions, countTokens });
    const total = blocks.at(-1)?.end ?? 0;
    const marked = blocks.filter(({ mark }) => mark !== null);
    const at = now();
    const hit = findHit(blocks, marked, at);
    const read = hit?.end ?? 0;
    if (hit !== undefined) renew(hit, at);
    const bill = {
      total,
      read,
      written5m: 0,
      written1h: 0,
      full: 0,
      marks: marked.length,
      blocks: blocks.map(({ own }) => own),
    };
    let covered = read;
    for (const block of marked) {
      if (block.end < minimumTokens) continue;
      const lifetime = block.mark;
      if (block.end > covered) {
        bill[lifetime === "1h" ? "written1h" : "written5m"] += block.end - covered;
        covered = block.end;
      }
      const known = entries.get(block.hash);
      if (known === undefined || known.until < at + lifetimesMs[lifetime])
        entries.set(block.hash, { until: at + lifetimesMs[lifetime], lifetime });
    }
    bill.full = total - covered;
    return bill;
  }

  function renew({ hash }, at) {
    const entry = entries.get(hash);
    entries.set(hash, { ...entry, until: at + lifetimesMs[entry.lifetime] });
  }

  function findHit(blocks, marked, at) {
    const live = ({ hash }) => (entries.get(hash)?.until ?? Number.NEGATIVE_INFINITY) >= at;
    for (const { position } of marked.toReversed()) {
      const found = blocks.findLast(
        (block) => block.position <= position && block.position >= position - lookBack && live(block),
      );
      if (found !== undefined) return found;
    }
    return undefined;
  }

  return {
    baseURL,
    /** Every request so far: its bill and body, or why it was refused. */
    ledger,
    close,
  };
}

/** Whether a request begins with everything of another one. Marks do not count. */
export function beginsWith(request, earlier) {
  return earlier.blocks.every((block, index) => request.blocks[index] === block);
}

function blocksOf(
  { tools = [], system = [], messages, tool_choice, thinking, output_config },
  { positions, countTokens },
) {
  const blocks = [];
  let hash = "";
  let end = 0;
  let position = 0;
  let lastType = "";
  const add = (where, block, extra = "") => {
    const { cache_control: control, ...rest } = block;
    const own = `${where}${JSON.stringify(rest)}`;
    hash = createHash("sha256").update(`${hash}\n${extra}${own}`).digest("hex");
    end += countTokens(own);
    const continuesRun =
      positions === "runs" && rest.type === lastType && (rest.type === "tool_use" || rest.type === "tool_result");
    if (!continuesRun) position += 1;
    lastType = rest.type;
    const mark = control == null ? null : (control.ttl ?? "5m");
    blocks.push({ own, hash, end, position, mark });
  };
  for (const tool of tools) if (tool.defer_loading !== true) add("tool", tool);
  for (const block of asBlocks(system)) add("system", block);
  const hasImages = messages.some(({ content }) => JSON.stringify(content).includes('"type":"image"'));
  const extra = JSON.stringify([tool_choice ?? null, thinking ?? null, output_config?.effort ?? null, hasImages]);
  const definitions = new Map(tools.map((tool) => [tool.name, tool]));
  for (const { role, content } of messages)
    for (const block of asBlocks(content)) add(role, withDefinitions(block, definitions), extra);
  return blocks;
}

/** A result with what the model reads in the place of references. */
function withDefinitions(block, definitions) {
  if (block.type !== "tool_result" || !Array.isArray(block.content)) return block;
  const content = block.content.map((part) =>
    part.type === "tool_reference" ? { type: part.type, tool: definitions.get(part.tool_name) } : part,
  );
  return { ...block, content };
}

function asBlocks(content) {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

function problemWith({ tools = [], system = [], messages = [] }) {
  const inOrder = [...tools, ...asBlocks(system), ...messages.flatMap(({ content }) => asBlocks(content))];
  const marked = inOrder.filter(({ cache_control: control }) => control != null);
  if (marked.length > 4) return `A maximum of 4 blocks with cache_control may be provided. Found ${marked.length}.`;
  if (marked.some(({ type }) => type === "thinking" || type === "redacted_thinking"))
    return "cache_control cannot be set for thinking blocks";
  if (marked.some(({ type, text }) => type === "text" && text === ""))
    return "cache_control cannot be set for empty text blocks";
  if (inOrder.some(({ type, text }) => type === "text" && text === "")) return "text content blocks must be non-empty";
  const tool = problemWithDeferred({ tools, messages });
  if (tool !== null) return tool;
  const lifetimes = marked.map(({ cache_control: control }) => control.ttl ?? "5m");
  if (lifetimes.lastIndexOf("1h") > lifetimes.indexOf("5m") && lifetimes.includes("5m"))
    return "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block";
  return problemWithResults(messages);
}

function problemWithDeferred({ tools, messages }) {
  const deferred = tools.filter(({ defer_loading: isDeferred }) => isDeferred === true);
  const marked = deferred.find(({ cache_control: control }) => control != null);
  if (marked !== undefined)
    return `Tool '${marked.name}' cannot have both defer_loading=true and cache_control set. Tools with defer_loading cannot use prompt caching.`;
  if (tools.length > 0 && deferred.length === tools.length)
    return "All tools have defer_loading set. At least one tool must be non-deferred.";
  if (deferred.length > 0 && tools.some(({ input_examples: examples }) => examples != null))
    return "The tool search tool is not compatible with tool use examples.";
  if (tools.length > 10_000) return "tools: a maximum of 10000 tools may be provided.";
  for (const [index, { content }] of messages.entries())
    for (const block of asBlocks(content)) {
      if (block.type === "tool_reference") return `messages.${index}: tool_reference is only allowed in a tool_result`;
      const parts = block.type === "tool_result" && Array.isArray(block.content) ? block.content : [];
      if (block.is_error === true && parts.some(({ type }) => type !== "text"))
        return "all content must be type 'text' if 'is_error' is true";
      for (const { type, tool_name: name } of parts)
        if (type === "tool_reference" && !deferred.some((one) => one.name === name))
          return `Tool reference '${name}' has no corresponding tool definition`;
    }
  return null;
}

function problemWithResults(messages) {
  for (const [index, { role, content }] of messages.entries()) {
    const calls = idsIn(content, "tool_use", "id");
    if (calls.length === 0) continue;
    const next = messages[index + 1];
    const results = next === undefined ? [] : idsIn(next.content, "tool_result", "tool_use_id");
    const missing = calls.filter((id) => !results.includes(id));
    if (role !== "assistant" || missing.length > 0)
      return `messages.${index}: tool_use ids were found without tool_result blocks immediately after: ${missing.join(", ")}`;
  }
  return null;
}

function idsIn(content, type, key) {
  return asBlocks(content).flatMap((block) => (block.type === type ? [block[key]] : []));
}

function eventsOf({ text = "", calls = [], outputTokens = 50 }, { full, read, written5m, written1h }, number) {
  const usage = {
    input_tokens: full,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written5m + written1h,
    cache_creation: { ephemeral_5m_input_tokens: written5m, ephemeral_1h_input_tokens: written1h },
    output_tokens: 1,
  };
  const id = `msg_${number}`;
  const message = {
    id,
    type: "message",
    role: "assistant",
    model: "claude-sonnet-5",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
  const events = [{ type: "message_start", message }];
  const blocks = [
    ...(text === "" ? [] : [{ start: { type: "text", text: "" }, delta: { type: "text_delta", text } }]),
    ...calls.map(({ name, input }, index) => ({
      start: { type: "tool_use", id: `toolu_${number}_${index}`, name, input: {} },
      delta: { type: "input_json_delta", partial_json: JSON.stringify(input) },
    })),
  ];
  for (const [index, { start, delta }] of blocks.entries()) {
    events.push({ type: "content_block_start", index, content_block: start });
    events.push({ type: "content_block_delta", index, delta });
    events.push({ type: "content_block_stop", index });
  }
  const stopReason = calls.length > 0 ? "tool_use" : "end_turn";
  events.push({
    type: "message_delta",
    delta: { stop_reason: stopReason, stop_sequence: null },
    usage: { output_tokens: outputTokens },
  });
  events.push({ type: "message_stop" });
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}
