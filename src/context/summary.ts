/**
 * Formats the summarizer's input, and parses its answer.
 *
 * 1. The summarizer gets the conversation as one text, without tools. Any model can therefore summarize what another model said.
 * 2. Each call is followed by its result, however much of both is omitted to make them fit.
 */
import type { AssistantPart, Message, ToolMessage, UserPart } from "../core/data/message.js";
import { textOfOutput } from "../core/transcript/results.js";
import type { CompactionTask, Summary } from "../ports/compaction.js";
import {
  conversationTitle,
  formatAgentMessage,
  formatEarlierSummary,
  formatFile,
  formatFolded,
  formatOmittedCharacters,
  formatRetained,
  formatToolCall,
  formatToolResult,
  formatUserMessage,
} from "./prompts.js";

type SummaryInputOptions = Pick<CompactionTask, "messages" | "estimator"> & {
  readonly earlier: Summary;
  /** Items that were kept word for word so far, and now become part of the summary. */
  readonly folded: readonly string[];
  /** The size limit of the whole text, in tokens. */
  readonly room: number;
};

/** The maximum length of one message part, in characters. Each limit is tried in turn, until everything fits. */
const partLimits = [20_000, 6_000, 2_000, 600, 200, 60];

/** The conversation as one text that fits in `room`. */
export function formatSummaryInput({ messages, earlier, folded, room, estimator }: SummaryInputOptions): string {
  const preamble = [
    ...formatRetained(earlier.retained),
    ...formatFolded(folded),
    ...(earlier.summary === "" ? [] : [formatEarlierSummary(earlier.summary)]),
  ];
  for (const limit of partLimits) {
    const text = [...preamble, conversationTitle, ...messages.map((message) => formatMessage(message, limit))].join(
      "\n\n",
    );
    if (estimator.text(text) <= room) return text;
  }
  const [minPartLimit = 0] = partLimits.slice(-1);
  const conversation = messages.map((message) => formatMessage(message, minPartLimit)).join("\n\n");
  const maxCharacters = Math.max(400, Math.floor(room * 2));
  return [...preamble, conversationTitle, shortenMiddle(conversation, maxCharacters)].join("\n\n");
}

function formatMessage(message: Message, limit: number): string {
  switch (message.role) {
    case "user":
      return formatUserMessage(message.parts.map((part) => formatUserPart(part, limit)));
    case "assistant":
      return formatAgentMessage(joinTexts(message.parts).flatMap((part) => formatAgentPart(part, limit)));
    case "tool":
      return message.parts.map((part) => formatResult(part, limit)).join("\n\n");
  }
}

/** Joins adjacent texts, because a provider splits a sentence into several parts, for example at citations. */
function joinTexts(parts: readonly AssistantPart[]): readonly AssistantPart[] {
  const joined: AssistantPart[] = [];
  for (const part of parts) {
    if (part.type === "source") continue;
    const last = joined.at(-1);
    if (part.type === "text" && last?.type === "text")
      joined.splice(-1, 1, { type: "text", text: last.text + part.text });
    else joined.push(part);
  }
  return joined;
}

function formatUserPart(part: UserPart, limit: number): string {
  return part.type === "text" ? shortenMiddle(part.text, limit) : formatFile(part);
}

function formatAgentPart(part: AssistantPart, limit: number): readonly string[] {
  switch (part.type) {
    case "text":
      return [shortenMiddle(part.text, limit)];
    case "tool_call":
      return [formatToolCall(part.name, part.toolCallId, shortenMiddle(JSON.stringify(part.input), limit))];
    case "tool_result":
      return [formatResult(part, limit)];
    case "file":
      return [formatFile(part)];
    case "reasoning":
    case "source":
      return [];
  }
}

function formatResult({ toolCallId, name, output, isError }: ToolMessage["parts"][number], limit: number): string {
  const kind = isError === true ? "error" : "result";
  return formatToolResult(kind, name, toolCallId, shortenMiddle(textOfOutput(output), limit));
}

function shortenMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  return replaceLoneSurrogates(
    `${text.slice(0, half)} ${formatOmittedCharacters(text.length - 2 * half)} ${text.slice(-half)}`,
  );
}

/** A cut may split a surrogate pair. Providers may reject lone surrogates, so U+FFFD replaces them. */
function replaceLoneSurrogates(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\uFFFD");
}

/** The maximum length of a retained item, in characters. */
const maxItem = 600;

/** Parses the answer. Without the two headings, all of it is the summary. */
export function parseSummary(output: string): Summary {
  const parts = /^#+\s*keep\b[^\n]*\n([\s\S]*?)^#+\s*summary\b[^\n]*\n?([\s\S]*)$/im.exec(output);
  if (parts === null) return { summary: output.trim(), retained: [] };
  const [, keep = "", summary = ""] = parts;
  const items = keep.split(/^\s*[-*]\s+/m).flatMap((item) => {
    const text = item.replace(/\s+/g, " ").trim();
    return text === "" ? [] : [replaceLoneSurrogates(text.slice(0, maxItem))];
  });
  return { summary: summary.trim(), retained: items };
}
