/**
 * What a summariser is asked, and what its answer means.
 *
 * 1. It gets the conversation as one text and no tools: any model can sum up what another one said.
 * 2. A call is followed by its result, however much of both is left out to make them fit.
 */
import type { AssistantPart, Message, ToolMessage, UserPart } from "../core/data/message.js";
import { textOfOutput } from "../core/transcript/results.js";
import type { CompactionTask, Summary } from "../ports/compaction.js";

export type SummaryWishes = {
  /** Instead of the built-in instructions. */
  readonly prompt?: string;
  /** What to take care of, beside them. */
  readonly directives?: string;
};

const instructions = `You sum up the conversation of an agent with its user, so that the agent can go on from your summary alone.

Answer in this form and with nothing else:

## Keep
- what must survive word for word, an item each: the user's requests and instructions, decisions and their reasons, names, paths, ids and figures that are still needed. Leave out what is listed as kept already.

## Summary
What was done and found, what failed and why, what is under way, and what is left to do, in this order.`;

export function promptOf({ prompt = instructions, directives }: SummaryWishes, words: number): string {
  const length = `Take at most ${words} words in all.`;
  return directives === undefined ? `${prompt}\n\n${length}` : `${prompt}\n\n${directives}\n\n${length}`;
}

type InputOptions = Pick<CompactionTask, "messages" | "estimator"> & {
  readonly earlier: Summary;
  readonly folded: readonly string[];
  readonly room: number;
};

/** Lengths to which a part of a message is cut, one after the other, until everything fits. */
const partLimits = [20_000, 6_000, 2_000, 600, 200, 60];

/** The conversation as text, no longer than what the summariser can take in. */
export function inputOf({ messages, earlier, folded, room, estimator }: InputOptions): string {
  const before = [
    ...section("Kept already, word for word", earlier.retained),
    ...section("Kept until now; carry on what is still needed", folded),
    ...(earlier.summary === "" ? [] : [`The summary of what came before:\n${earlier.summary}`]),
  ];
  for (const limit of partLimits) {
    const text = [...before, "The conversation:", ...messages.map((message) => rendered(message, limit))].join("\n\n");
    if (estimator.text(text) <= room) return text;
  }
  const [shortest = 0] = partLimits.slice(-1);
  const lines = messages.map((message) => rendered(message, shortest));
  const most = Math.max(400, Math.floor(room * 2));
  return [...before, "The conversation:", shortened(lines.join("\n\n"), most)].join("\n\n");
}

function section(title: string, items: readonly string[]): readonly string[] {
  return items.length === 0 ? [] : [`${title}:\n${items.map((item) => `- ${item}`).join("\n")}`];
}

function rendered(message: Message, limit: number): string {
  switch (message.role) {
    case "user":
      return `[user]\n${message.parts.map((part) => userText(part, limit)).join("\n")}`;
    case "assistant":
      return `[agent]\n${message.parts.flatMap((part) => agentText(part, limit)).join("\n")}`;
    case "tool":
      return message.parts.map((part) => resultText(part, limit)).join("\n\n");
  }
}

function userText(part: UserPart, limit: number): string {
  return part.type === "text" ? shortened(part.text, limit) : `[${part.mediaType} ${part.filename ?? "file"}]`;
}

function agentText(part: AssistantPart, limit: number): readonly string[] {
  switch (part.type) {
    case "text":
      return [shortened(part.text, limit)];
    case "tool_call":
      return [`calls ${part.name} (${part.toolCallId}) with ${shortened(JSON.stringify(part.input), limit)}`];
    case "tool_result":
      return [resultText(part, limit)];
    case "file":
      return [`[${part.mediaType} ${part.filename ?? "file"}]`];
    case "reasoning":
    case "source":
      return [];
  }
}

function resultText({ toolCallId, name, output, isError }: ToolMessage["parts"][number], limit: number): string {
  const kind = isError === true ? "error" : "result";
  return `[${kind} of ${name} (${toolCallId})]\n${shortened(textOfOutput(output), limit)}`;
}

/** Head and tail of a text that is too long. */
function shortened(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  return wellFormed(`${text.slice(0, half)} [… ${text.length - 2 * half} characters left out …] ${text.slice(-half)}`);
}

/** A cut may go through a character that takes two places. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\uFFFD");
}

const longestItem = 600;

/** An answer that is not in the form that was asked for is a summary as it stands. */
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
