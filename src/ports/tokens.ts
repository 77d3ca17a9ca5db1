/**
 * Tokens: what counts them, and what it is asked.
 */
import type { CountedTokens } from "../core/data/counted-tokens.js";
import type { Message } from "../core/data/message.js";
import type { ModelRequest } from "./model.js";

/** Counts the tokens of a text as one model does; without one, they are estimated. */
export type Tokenizer = {
  /** Called within the loop, for each new message: quick, and not asynchronous. What throws is estimated. */
  readonly count: (text: string) => number;
};

/** What of a request its tokens depend on. */
export type Sized = Pick<ModelRequest, "systemPrompt" | "messages" | "tools">;

/** How many tokens something takes. A provider has counted `counted` of them; the others are an estimate. */
export type TokenCount = { readonly tokens: number; readonly counted: number };

export type TokenEstimator = {
  readonly text: (text: string) => number;
  readonly message: (message: Message) => number;
  /** A whole request, by estimate alone. */
  readonly request: (request: Sized) => number;
  /** A request: what a provider has counted of its conversation (`transcript.measured`), and an estimate of what came since. */
  readonly context: (request: Sized, measured: CountedTokens | null) => TokenCount;
};
