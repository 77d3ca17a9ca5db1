import type { Json } from "../../src/core/data/message.js";

type Body = { readonly [key: string]: Json };

export type Bill = {
  /** Tokens of the prompt. */
  readonly total: number;
  readonly read: number;
  readonly written5m: number;
  readonly written1h: number;
  /** Tokens that were neither read nor written. */
  readonly full: number;
  readonly marks: number;
  readonly blocks: readonly string[];
  readonly body: Body;
  readonly refused?: undefined;
};

export type Refusal = { readonly refused: string; readonly body: Body };

export type ScriptedReply = {
  readonly text?: string;
  readonly calls?: readonly { readonly name: string; readonly input: Json }[];
  readonly outputTokens?: number;
};

export type BillingServer = {
  readonly baseURL: string;
  readonly ledger: readonly (Bill | Refusal)[];
  readonly close: () => Promise<void>;
};

export function startBillingServer(options: {
  readonly reply: (index: number, body: Body) => ScriptedReply | Promise<ScriptedReply>;
  readonly now?: () => number;
  readonly minimumTokens?: number;
  readonly positions?: "runs" | "blocks";
  readonly countTokens?: (text: string) => number;
  readonly refuse?: (body: Body) => string | null;
}): Promise<BillingServer>;

export function billed(bill: Pick<Bill, "full" | "read" | "written5m" | "written1h">): number;

export function beginsWith(request: Pick<Bill, "blocks">, earlier: Pick<Bill, "blocks">): boolean;
