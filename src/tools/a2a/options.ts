/**
 * The options of a remote agent.
 */
import {
  aBoolean,
  anyValue,
  checkOptions,
  nonEmptyString,
  type OptionTable,
  oneOf,
  timeLimit,
} from "../../check-options.js";
import { PawlError } from "../../errors.js";

/** What the model sends to the remote agent. */
export type A2aInput = {
  /** The request, which must contain everything that the agent needs to know: each call is a new conversation. */
  readonly message: string;
};

/** How a remote agent is reached, and how it is offered to the model. */
export type A2aAgentOptions = {
  /** The name of the tool: 1 to 64 letters, digits, "_" and "-". */
  readonly name: string;
  /**
   * The address of the agent, which has its card at `/.well-known/agent-card.json`; or the address of the card, if it ends with
   * `.json`.
   */
  readonly url: string;
  /** What the agent does, for the model. Default: the description and the skills of the agent's card, which are untrusted. */
  readonly description?: string;
  /**
   * The address of the agent's JSON-RPC endpoint. Needed if it is not on the origin of `url`: a card cannot send requests, and their
   * headers, to another one. Default: the address in the card.
   */
  readonly endpoint?: string;
  /** Headers of every request, for example one with a token. A function is called for each request. Default: none. */
  readonly headers?: A2aHeaders | (() => A2aHeaders | Promise<A2aHeaders>);
  /** Which calls need approval. `ask`: all calls. `all`: no calls. Default: `ask`. */
  readonly trust?: "ask" | "all";
  /**
   * Whether a message is sent again if the process died, or the connection was lost, before the response arrived. It has the same
   * message id, so that an agent that keeps these ids, as `createServer({ a2a })` does, returns the same task. Other agents would begin
   * a second task. Default: false, and the call ends with an error that says that its outcome is unknown.
   */
  readonly resend?: boolean;
  /**
   * Milliseconds that a task may take, with its waits for people. Then it is cancelled. Default: it ends with the polls, after about two
   * weeks.
   */
  readonly taskTimeoutMs?: number;
  /** Milliseconds that a person has to answer a question of the agent; then the agent is told that it was declined. Default: no limit. */
  readonly answerTimeoutMs?: number;
  /** Milliseconds for each request. Default: 30,000. */
  readonly requestTimeoutMs?: number;
};

/** Headers of a request. */
export type A2aHeaders = Readonly<Record<string, string>>;

const optionRules: OptionTable<A2aAgentOptions> = {
  name: anyValue,
  url: anyValue,
  description: nonEmptyString,
  endpoint: anyValue,
  headers: {
    accepts: (value) => (typeof value === "object" && value !== null) || typeof value === "function",
    expected: "an object of headers, or a function that returns one",
  },
  trust: oneOf("ask", "all"),
  resend: aBoolean,
  taskTimeoutMs: timeLimit,
  answerTimeoutMs: timeLimit,
  requestTimeoutMs: timeLimit,
};

/** @throws PawlError `bad_configuration` */
export function checkA2aOptions(options: A2aAgentOptions): void {
  checkOptions("connectA2aAgent()", optionRules, options);
  checkUrl("url", options.url);
  if (options.endpoint !== undefined) checkUrl("endpoint", options.endpoint);
}

function checkUrl(option: string, url: unknown): void {
  if (isHttpUrl(url)) return;
  throw new PawlError(
    "bad_configuration",
    `The option ${option} of connectA2aAgent() is ${JSON.stringify(url)}. Use an address that begins with http:// or https://.`,
  );
}

export function isHttpUrl(url: unknown): url is string {
  return typeof url === "string" && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}
