/**
 * `/context`: the last request to the model in tokens, part by part, and the last break of the provider's cache.
 */
import {
  type Agent,
  estimateTokens,
  type Message,
  type ModelRequest,
  type PublicEvent,
  type Store,
} from "../../../index.js";
import { modelRequests, type TraceRecordOf } from "../../../inspect.js";
import { cacheLoss } from "../../../models/index.js";
import { formatNumber } from "../../../view/format-number.js";
import { formatCompaction } from "../../render/format-compaction.js";
import { type Line, lineOf, spanOf } from "../../screen/line.js";
import { formatCount, toOneLine, truncate, widthOf } from "../../terminal/text.js";
import { wrapNote } from "../lines/view-lines.js";
import type { CommandContext } from "./command-context.js";
import { formatLastBreak } from "./format-cache-breaks.js";
import { readTraceRecords } from "./trace-records.js";

type TokenShare = readonly [name: string, tokens: number];

export async function runContextCommand({ agent, store, sessionId, columns, say }: CommandContext): Promise<void> {
  const request = await findLastRequest(store, sessionId);
  if (request === null) return say([lineOf("No model has been called in this session yet.", "dim")]);
  const { sources, fromProvider, broke } = await findLastStep(store, sessionId);
  // A provider that loads deferred tools counts each of them where `find_tools` found it.
  const offered = request.tools.filter(({ defer }) => defer !== true);
  const parts: readonly TokenShare[] = [
    ...measurePrompt(request.systemPrompt ?? "", sources),
    [formatCount(offered.length, "tool"), estimateTokens(JSON.stringify(offered))],
    ...measureMessages(request.messages),
  ];
  const total = parts.reduce((sum, [, tokens]) => sum + tokens, 0);
  const shares = [...parts, ["total", total] as const];
  const nameWidth = Math.min(maxName, Math.max(...shares.map(([name]) => widthOf(name))));
  say([
    ...wrapNote("The last request to the model, estimated:", columns(), "dim"),
    ...shares.map((share) => renderShare(share, total, nameWidth)),
    ...(fromProvider === null ? [] : [lineOf(`  Its provider counted ${formatNumber(fromProvider)} tokens.`, "dim")]),
    ...wrapNote(await describeOmitted(agent, sessionId), columns(), "dim"),
    ...(broke === null ? [] : wrapNote(broke, columns(), "dim")),
  ]);
}

/** Columns. */
const maxName = 40;

function renderShare([name, tokens]: TokenShare, total: number, nameWidth: number): Line {
  const shown = truncate(name, nameWidth);
  return [
    spanOf(`  ${shown}${" ".repeat(Math.max(0, nameWidth - widthOf(shown)))} `, "dim"),
    spanOf(`${formatNumber(tokens).padStart(7)} tokens`),
    spanOf(total === 0 || name === "total" ? "" : `  ${Math.round((tokens / total) * 100)} %`, "dim"),
  ];
}

/** The number of entries that are searched first for the last request. */
const recentEntries = 300;

async function findLastRequest(store: Store, sessionId: string): Promise<ModelRequest | null> {
  const summary = await store.describe(sessionId);
  if (summary === null) return null;
  for (const after of new Set([Math.max(0, summary.seq - recentEntries), 0])) {
    let last: ModelRequest | null = null;
    for await (const request of modelRequests(store, sessionId, { after }))
      if (request.purpose !== "compaction") last = { ...request, messages: [...request.messages] };
    if (last !== null) return last;
  }
  return null;
}

type Sources = NonNullable<TraceRecordOf<"step">["sources"]>;

type LastStep = {
  /** The context sources of the step's run. */
  readonly sources: Sources;
  /** The tokens that the provider counted; null if it has not reported any. */
  readonly fromProvider: number | null;
  /** Describes the last break of the provider's cache; null if there was none. */
  readonly broke: string | null;
};

async function findLastStep(store: Store, sessionId: string): Promise<LastStep> {
  let runId: string | null = null;
  let sources: Sources = [];
  let fromProvider: number | null = null;
  let broke: string | null = null;
  for await (const step of readTraceRecords(store, sessionId, "step")) {
    // The first step of a run names the sources of all its steps.
    if (step.runId !== runId) sources = [];
    runId = step.runId;
    sources = step.sources ?? sources;
    fromProvider = step.attempts.at(-1)?.usage?.inputTokens ?? fromProvider;
    const loss = cacheLoss(step);
    if (loss !== null) broke = formatLastBreak(step.modelCallIndex, loss);
  }
  return { sources, fromProvider, broke };
}

/** Divides the tokens of the system prompt among the agent's prompt and the context sources, by their bytes. */
function measurePrompt(prompt: string, sources: Sources): readonly TokenShare[] {
  const tokens = estimateTokens(prompt);
  const bytes = Math.max(1, Buffer.byteLength(prompt));
  const named = new Map<string, number>();
  for (const source of sources) named.set(source.name, (named.get(source.name) ?? 0) + source.bytes);
  const sourceShares = [...named].map(
    ([name, size]): TokenShare => [toOneLine(name), Math.round((tokens * size) / bytes)],
  );
  const own = tokens - sourceShares.reduce((sum, [, part]) => sum + part, 0);
  return [["system prompt", Math.max(0, own)], ...sourceShares];
}

function measureMessages(messages: readonly Message[]): readonly TokenShare[] {
  const tokens = { user: 0, assistant: 0, tool: 0 };
  for (const message of messages) tokens[message.role] += estimateTokens(JSON.stringify(message.parts));
  return [
    ["your messages", tokens.user],
    ["answers and tool calls", tokens.assistant],
    ["tool results", tokens.tool],
  ];
}

async function describeOmitted(agent: Agent, sessionId: string): Promise<string> {
  let compactions = 0;
  let last: Extract<PublicEvent, { readonly type: "compacted" }> | null = null;
  for await (const event of agent.session(sessionId).events({ follow: false, live: false }))
    if (event.type === "compacted" && event.summary !== undefined) [last, compactions] = [event, compactions + 1];
  if (last === null) return "Nothing was left out of the conversation.";
  const { retained = [] } = last;
  const kept = retained.length === 0 ? "" : ` Kept word for word: ${formatCount(retained.length, "text")}.`;
  return `${formatCompaction(last)}${kept}${compactions === 1 ? "" : ` This was summary number ${compactions}.`}`;
}
