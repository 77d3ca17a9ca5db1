/** What is around the code in the guide and in docs/comparison.md: a program's own, by the names that the pages give it. */

/// <reference path="./agent.d.ts" />
/// <reference path="./express.d.ts" />

import type Assert from "node:assert/strict";
import type { join as Join } from "node:path";
import type { anthropic as Anthropic } from "@ai-sdk/anthropic";
import type { openai as OpenAi } from "@ai-sdk/openai";
import type { AbstractChat, Tool as AiTool, UIMessage } from "ai";
import type { Agent, AnyTool, Message, Model, Schedules, Session, Store, ToolContext, UserMessage } from "pawl";
import type { EvalCase } from "pawl/evals";
import type { Server } from "pawl/server";
import type { McpCredentials, McpPins, McpTransport } from "pawl/tools/mcp";
import type { expect as Expect, test as Test } from "vitest";
import type { z } from "zod";
import type * as Shop from "../../examples/while-loop/shop.js";

declare global {
  // Of other packages, where a block leaves out how they are imported.
  const anthropic: typeof Anthropic;
  const openai: typeof OpenAi;
  const assert: typeof Assert;
  const join: typeof Join;
  const test: typeof Test;
  const expect: typeof Expect;

  const agent: Agent;
  const session: Session;
  const model: Model;
  const cheapModel: Model;
  const local: Model;
  const myModel: Model;
  const small: Model;
  const middle: Model;
  const large: Model;
  const tools: readonly AnyTool[];
  const search: AnyTool;
  const clock: AnyTool;
  const store: Store;
  const server: Server;
  const schedules: Schedules;
  const leakedKey: string;
  const shopSecret: string;
  const bankToken: string;
  function openMine(): Promise<Store>;
  const transport: McpTransport;
  const pins: McpPins;

  // A page's chat, and what it is asked.
  const chat: Pick<AbstractChat<UIMessage>, "sendMessage">;
  const question: { callKey: string; inputHash?: string; questionId?: string };

  const id: string;
  const sessionId: string;
  const callKey: string;
  const inputHash: string;
  const url: string;
  const secret: string;

  const mailer: { send(mail: { to: string; text: string; idempotencyKey: string }): Promise<string> };
  const shop: {
    refund(order: string, cents: number, options: { idempotencyKey: string; signal: AbortSignal }): Promise<string>;
    findRefund(idempotencyKey: string): Promise<string | undefined>;
    ordersOf(customer: string): Promise<readonly { readonly id: string; readonly total: number }[]>;
    charge(order: string, idempotencyKey: string): Promise<string>;
  };
  function walk(folder: string, signal: AbortSignal): AsyncIterable<string>;
  const ledger: { readonly size: number; clear(): void };
  function chargesIn(folder: string): number;
  function runCommand(
    command: string,
  ): Promise<{ stdout: string; stderr: string; outcome: { type: "exit"; exitCode: number } }>;
  function currentBranch(): string;
  function isOpen(): boolean;
  function tellsSecrets(text: string): boolean;
  function show(...what: readonly unknown[]): void;
  function log(what: unknown): void;
  function meter(what: unknown): void;
  function time(what: unknown): void;
  function collect(what: unknown): void;
  function count(what: string): void;
  function bill(modelId: string, usage: unknown): number;
  const mySearchClient: unknown;
  function connect(): Promise<{ readonly forecast: (town: string) => Promise<string> }>;
  function disconnect(): Promise<void>;
  function forecastTool(client: unknown): AnyTool;
  // What a tool with steps has at hand.
  const step: ToolContext["step"];
  const articles: readonly string[];
  function lookUpPrice(article: string): Promise<number>;
  function charge(price: number, idempotencyKey: string): Promise<{ readonly chargeId: string }>;
  function sendMail(text: string, idempotencyKey?: string): Promise<void>;
  function readPayment(
    order: string,
  ): Promise<{ readonly cents: number; readonly paidAt: string; readonly card: string }>;
  function readBill(): Promise<{ readonly amount: number; readonly accounts: readonly string[] }>;
  function transfer(amount: number, account: string, idempotencyKey: string): Promise<string>;
  const chargeInput: z.ZodObject<{ cents: z.ZodNumber }>;
  const theirCharge: AiTool<{ cents: number }, string>;
  const report: z.ZodObject<{ title: z.ZodString }>;
  const note: UserMessage;

  // Of docs/guide/while-loop.md.
  const callModel: typeof Shop.callModel;
  const askOwner: typeof Shop.askOwner;
  const bank: typeof Shop.bank;
  const readMessages: typeof Shop.readMessages;
  const writeMessages: typeof Shop.writeMessages;

  // Of docs/comparison.md.
  const ctx: ToolContext;
  const order: string;
  const input: { readonly type: "object" };
  function fetchPage(): Promise<string>;
  const aliases: { readonly [name: string]: string };
  const article: string;
  const billing: Agent;
  const researcher: Agent;
  const findings: { readonly type: "object" };
  const models: { readonly fast: Model };
  function lastTurn(messages: readonly Message[]): readonly Message[];
  const messages: readonly { readonly role: "user"; readonly content: string }[];
  const root: string;
  const systemPrompt: string;
  function redact(text: string): string;
  const credentials: McpCredentials;
  const client: { readonly id: string; readonly secret: string };
  const cases: readonly EvalCase[];
}
