import type { Json } from "../../src/core/data/message.js";
import type { BillingServer, ScriptedReply } from "./billing-server.mjs";

type Body = { readonly [key: string]: Json };

/** `search` is the arguments of a call of the search tool. */
export type OpenAiReply = ScriptedReply & { readonly search?: Json };

export function startOpenAiServer(options: {
  readonly reply: (index: number, body: Body) => OpenAiReply | Promise<OpenAiReply>;
  readonly now?: () => number;
  readonly countTokens?: (text: string) => number;
  readonly isBefore56?: boolean;
  readonly refuse?: (body: Body) => string | null;
}): Promise<BillingServer>;
