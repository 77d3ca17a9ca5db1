/**
 * The tokens port: how the tokens of strings, messages and requests are counted.
 */
import type { CountedTokens } from "../core/data/counted-tokens.js";
import type { Message } from "../core/data/message.js";
import type { ModelRequest } from "./model.js";

/** Counts the tokens of a string exactly as a model does. Without a tokenizer, Pawl estimates them. */
export type Tokenizer = {
  /** Must be fast and synchronous, because the loop calls it for each new message. If it throws, Pawl estimates instead. */
  readonly count: (text: string) => number;
};

/** The parts of a request that its tokens depend on. */
export type Sized = Pick<ModelRequest, "systemPrompt" | "messages" | "tools">;

/** A number of tokens. A provider has counted `counted` of them; the rest is an estimate. */
export type TokenCount = {
  /** All tokens, counted and estimated. */
  readonly tokens: number;
  /** How many of these tokens a provider has counted. */
  readonly counted: number;
};

/** Counts tokens. */
export type TokenEstimator = {
  /** The tokens of a string. */
  readonly text: (text: string) => number;
  /** The tokens of a message. */
  readonly message: (message: Message) => number;
  /** The tokens of a whole request, estimated without a provider's count. */
  readonly request: (request: Sized) => number;
  /**
   * The tokens of a request: the provider's count of its conversation (`transcript.countedTokens`) plus an estimate of all later messages.
   */
  readonly context: (request: Sized, measured: CountedTokens | null) => TokenCount;
};
