/**
 * Estimates the number of tokens of strings, messages and requests. It contains no model's vocabulary.
 *
 * 1. A provider's count takes precedence. Only later messages are estimated (CTX-7).
 * 2. A step costs only its new messages: the estimate of a message is cached, unless a provider's count is about to include it.
 * 3. If a tokenizer throws or returns an invalid count, the built-in estimate replaces it and the run continues.
 */
import type { FilePart, Message, ToolOutput } from "../core/data/message.js";
import type { ToolSpecification } from "../ports/model.js";
import type { Sized, TokenEstimator, Tokenizer } from "../ports/tokens.js";
import { estimateTokens } from "./estimate.js";

/** The tokens of a message and of a part in addition to their text: roles, ids, brackets. */
const messageTokens = 4;
const partTokens = 6;

/** The tokens of an image of any size. Providers scale images down to about this cost. */
const imageTokens = 1_600;

/** Bytes per token of other files. A guess: providers charge by page or second, which the size does not reveal. */
const bytesPerFileToken = 50;

/** @param tokenizer counts strings, in place of the built-in estimate */
export function createTokenEstimator(tokenizer?: Tokenizer): TokenEstimator {
  const messages = new WeakMap<Message, number>();
  const tools = new WeakMap<readonly ToolSpecification[], number>();

  function text(value: string): number {
    return (tokenizer === undefined ? undefined : tryCount(tokenizer, value)) ?? estimateTokens(value);
  }

  function estimate({ parts }: Message): number {
    return sumTokens<Message["parts"][number]>(parts, (part) => partTokens + estimatePart(part, text)) + messageTokens;
  }

  function message(value: Message): number {
    let tokens = messages.get(value);
    if (tokens === undefined) {
      tokens = estimate(value);
      messages.set(value, tokens);
    }
    return tokens;
  }

  function estimateTools(specifications: readonly ToolSpecification[]): number {
    let tokens = tools.get(specifications);
    if (tokens === undefined) {
      const offered = specifications.filter(({ defer }) => defer !== true);
      tokens = sumTokens(offered, (specification) => partTokens + text(JSON.stringify(specification)));
      tools.set(specifications, tokens);
    }
    return tokens;
  }

  function request({ systemPrompt, messages: all, tools: specifications }: Sized): number {
    const prompt = systemPrompt === undefined ? 0 : messageTokens + text(systemPrompt);
    return prompt + estimateTools(specifications) + sumTokens(all, message);
  }

  return {
    text,
    message,
    request,
    context(next, measured) {
      if (measured === null) return { tokens: request(next), counted: 0 };
      let tokens = measured.tokens;
      for (let index = measured.messages; index < next.messages.length; index++) {
        const added = next.messages[index];
        if (added !== undefined) tokens += messages.get(added) ?? estimate(added);
      }
      return { tokens, counted: measured.tokens };
    },
  };
}

function tryCount(tokenizer: Tokenizer, text: string): number | undefined {
  try {
    const count = tokenizer.count(text);
    return Number.isFinite(count) && count >= 0 ? Math.ceil(count) : undefined;
  } catch {
    return undefined;
  }
}

function estimatePart(part: Message["parts"][number], text: TokenEstimator["text"]): number {
  switch (part.type) {
    case "text":
    case "reasoning":
      return text(part.text);
    case "file":
      return estimateFile(part);
    case "source":
      return 0;
    case "tool_call":
      return text(part.name) + text(JSON.stringify(part.input));
    case "tool_result":
      return text(part.name) + estimateOutput(part.output, text);
  }
}

function estimateOutput(output: ToolOutput, text: TokenEstimator["text"]): number {
  switch (output.type) {
    case "text":
      return text(output.text);
    case "json":
      return text(JSON.stringify(output.value));
    case "content":
      return sumTokens(output.parts, (part) => (part.type === "text" ? text(part.text) : estimateFile(part)));
  }
}

function estimateFile({ mediaType, data }: FilePart): number {
  if (mediaType.startsWith("image/")) return imageTokens;
  return Math.max(imageTokens, Math.ceil((data.length * 3) / 4 / bytesPerFileToken));
}

function sumTokens<Item>(items: readonly Item[], tokensOf: (item: Item) => number): number {
  let total = 0;
  for (const item of items) total += tokensOf(item);
  return total;
}
