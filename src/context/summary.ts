/**
 * The summariser's input, and how its answer is read.
 *
 * 1. The summariser gets the conversation as one text, without tools. So any model can summarise what another model
 *    said.
 * 2. Each call is followed by its result, however much is left out of both to make them fit.
 */
import type { AssistantPart, Message, ToolMessage, UserPart } from "../core/data/message.js";
import { textOfOutput } from "../core/transcript/results.js";
import type { CompactionTask, Summary } from "../ports/compaction.js";
import {
  agentMessage,
  conversationTitle,
  earlierSummary,
  fileNote,
  foldedSection,
  omittedCharacters,
  retainedSection,
  toolCallNote,
  toolResultNote,
  userMessage,
} from "./prompts.js";

type InputOptions = Pick<CompactionTask, "messages" | "estimator"> & {
  readonly earlier: Summary;
  /** Items that were kept word for word until now, and become part of the summary. */
  readonly folded: readonly string[];
  /** In tokens. */
  readonly room: number;
};

/** Characters of one part of a message. Each limit is tried in turn, until everything fits. */
const partLimits = [20_000, 6_000, 2_000, 600, 200, 60];

/** The conversation as one text that fits in `room`. */
export function summaryInput({ messages, earlier, folded, room, estimator }: InputOptions): string {
  const before = [
    ...retainedSection(earlier.retained),
    ...foldedSection(folded),
    ...(earlier.summary === "" ? [] : [earlierSummary(earlier.summary)]),
  ];
  for (const limit of partLimits) {
    const text = [...before, conversationTitle, ...messages.map((message) => messageText(message, limit))].join("\n\n");
    if (estimator.text(text) <= room) return text;
  }
  const [shortest = 0] = partLimits.slice(-1);
  const conversation = messages.map((message) => messageText(message, shortest)).join("\n\n");
  const maxCharacters = Math.max(400, Math.floor(room * 2));
  return [...before, conversationTitle, headAndTail(conversation, maxCharacters)].join("\n\n");
}

function messageText(message: Message, limit: number): string {
  switch (message.role) {
    case "user":
      return userMessage(message.parts.map((part) => userText(part, limit)));
    case "assistant":
      return agentMessage(joinedTexts(message.parts).flatMap((part) => agentText(part, limit)));
    case "tool":
      return message.parts.map((part) => resultText(part, limit)).join("\n\n");
  }
}

/** Texts that follow each other are one: a provider cuts a sentence into several parts, for example at citations. */
function joinedTexts(parts: readonly AssistantPart[]): readonly AssistantPart[] {
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

function userText(part: UserPart, limit: number): string {
  return part.type === "text" ? headAndTail(part.text, limit) : fileNote(part);
}

function agentText(part: AssistantPart, limit: number): readonly string[] {
  switch (part.type) {
    case "text":
      return [headAndTail(part.text, limit)];
    case "tool_call":
      return [toolCallNote(part.name, part.toolCallId, headAndTail(JSON.stringify(part.input), limit))];
    case "tool_result":
      return [resultText(part, limit)];
    case "file":
      return [fileNote(part)];
    case "reasoning":
    case "source":
      return [];
  }
}

function resultText({ toolCallId, name, output, isError }: ToolMessage["parts"][number], limit: number): string {
  const kind = isError === true ? "error" : "result";
  return toolResultNote(kind, name, toolCallId, headAndTail(textOfOutput(output), limit));
}

function headAndTail(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  return wellFormed(`${text.slice(0, half)} ${omittedCharacters(text.length - 2 * half)} ${text.slice(-half)}`);
}

/** A cut may split a surrogate pair. A provider may refuse the lone half, so U+FFFD replaces it. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\uFFFD");
}

/** In characters. */
const longestItem = 600;

/** If the answer does not have the two headings, all of it is the summary. */
export function parseAnswer(answer: string): Summary {
  const parts = /^#+\s*keep\b[^\n]*\n([\s\S]*?)^#+\s*summary\b[^\n]*\n?([\s\S]*)$/im.exec(answer);
  if (parts === null) return { summary: answer.trim(), retained: [] };
  const [, keep = "", summary = ""] = parts;
  const items = keep.split(/^\s*[-*]\s+/m).flatMap((item) => {
    const text = item.replace(/\s+/g, " ").trim();
    return text === "" ? [] : [wellFormed(text.slice(0, longestItem))];
  });
  return { summary: summary.trim(), retained: items };
}
