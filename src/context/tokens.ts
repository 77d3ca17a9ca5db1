/**
 * How many tokens texts, messages and requests take. This is an estimate and says so: no model's vocabulary is in here.
 *
 * 1. What a provider has counted is believed; only what came after it is estimated (CTX-7).
 * 2. A message is estimated once: a step pays for what is new.
 * 3. A tokenizer that throws, or says what is no number, costs its exactness and not the run.
 */
import type { FilePart, Message, ToolOutput } from "../core/data/message.js";
import type { ToolSpecification } from "../ports/model.js";
import type { Sized, TokenEstimator, Tokenizer } from "../ports/tokens.js";
import { estimateTokens } from "./estimate.js";

/** What a message and a part cost beyond their texts: roles, ids, brackets. */
const messageTokens = 4;
const partTokens = 6;

/** An image, whatever its size: models scale them down to about this much. */
const imageTokens = 1_600;

/** Other files are billed by page or second, which cannot be seen from here. */
const bytesInFileToken = 50;

/** @param tokenizer instead of the built-in estimate for texts */
export function createTokenEstimator(tokenizer?: Tokenizer): TokenEstimator {
  const messages = new WeakMap<Message, number>();
  const tools = new WeakMap<readonly ToolSpecification[], number>();

  function text(value: string): number {
    return (tokenizer === undefined ? undefined : countedBy(tokenizer, value)) ?? estimateTokens(value);
  }

  function message(value: Message): number {
    let tokens = messages.get(value);
    if (tokens === undefined) {
      tokens = sum(value.parts, (part) => partTokens + tokensOfPart(part, text)) + messageTokens;
      messages.set(value, tokens);
    }
    return tokens;
  }

  function toolTokens(specifications: readonly ToolSpecification[]): number {
    let tokens = tools.get(specifications);
    if (tokens === undefined) {
      tokens = sum(specifications, (one) => partTokens + text(JSON.stringify(one)));
      tools.set(specifications, tokens);
    }
    return tokens;
  }

  function request({ systemPrompt, messages: all, tools: specifications }: Sized): number {
    const prompt = systemPrompt === undefined ? 0 : messageTokens + text(systemPrompt);
    return prompt + toolTokens(specifications) + sum(all, message);
  }

  return {
    text,
    message,
    request,
    context(next, measured) {
      if (measured === null) return { tokens: request(next), counted: 0 };
      let tokens = measured.tokens;
      for (let index = measured.messages; index < next.messages.length; index++) {
        const one = next.messages[index];
        if (one !== undefined) tokens += message(one);
      }
      return { tokens, counted: measured.tokens };
    },
  };
}

function countedBy(tokenizer: Tokenizer, text: string): number | undefined {
  try {
    const count = tokenizer.count(text);
    return Number.isFinite(count) && count >= 0 ? Math.ceil(count) : undefined;
  } catch {
    return undefined;
  }
}

function tokensOfPart(part: Message["parts"][number], text: TokenEstimator["text"]): number {
  switch (part.type) {
    case "text":
    case "reasoning":
      return text(part.text);
    case "file":
      return tokensOfFile(part);
    case "source":
      return 0;
    case "tool_call":
      return text(part.name) + text(JSON.stringify(part.input));
    case "tool_result":
      return text(part.name) + tokensOfOutput(part.output, text);
  }
}

function tokensOfOutput(output: ToolOutput, text: TokenEstimator["text"]): number {
  switch (output.type) {
    case "text":
      return text(output.text);
    case "json":
      return text(JSON.stringify(output.value));
    case "content":
      return sum(output.parts, (part) => (part.type === "text" ? text(part.text) : tokensOfFile(part)));
  }
}

function tokensOfFile({ mediaType, data }: FilePart): number {
  if (mediaType.startsWith("image/")) return imageTokens;
  return Math.max(imageTokens, Math.ceil((data.length * 3) / 4 / bytesInFileToken));
}

function sum<Item>(items: readonly Item[], tokensOf: (item: Item) => number): number {
  let total = 0;
  for (const item of items) total += tokensOf(item);
  return total;
}
