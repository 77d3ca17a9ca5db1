/**
 * What both loops work with: a model, a person, a bank that honors idempotency keys, and a file for the messages of the plain loop.
 * Each writes down what it was asked for in `happened.txt`. KILL_AT names the point at which the process kills itself.
 */
import { randomUUID } from "node:crypto";
import { appendFileSync, closeSync, existsSync, openSync, readFileSync, writeSync } from "node:fs";
import process from "node:process";
import type { Model } from "pawl";

export type Call = { readonly id: string; readonly input: { readonly order: string } };
export type Answer = { readonly role: "assistant"; readonly text: string; readonly calls: readonly Call[] };
export type ChatMessage =
  | { readonly role: "user"; readonly text: string }
  | { readonly role: "tool"; readonly id: string; readonly text: string }
  | Answer;

export type Point = "model" | "answer" | "question" | "before" | "after" | "between" | "save" | "end";

const orders = ["1041", "1042"] as const;
const record = "happened.txt";
const saved = "messages.json";

export function reach(point: Point): void {
  if (process.env.KILL_AT === point) process.kill(process.pid, "SIGKILL");
}

/** Like the model of a provider, it gives its calls new ids in each answer. */
export async function callModel(messages: readonly ChatMessage[]): Promise<Answer> {
  return answerOf(messages.some(({ role }) => role === "tool"));
}

/** The same model, as Pawl reads one. */
export const model: Model = {
  id: "scripted",
  async *stream({ messages }) {
    const { text, calls } = answerOf(messages.some(({ role }) => role === "tool"));
    if (text !== "") yield { kind: "text-delta", id: "text", text };
    for (const { id, input } of calls) yield { kind: "tool-call", id, name: "refund", input: JSON.stringify(input) };
    yield { kind: "done", finishReason: { unified: calls.length > 0 ? "tool-calls" : "stop" }, usage: {} };
  },
};

function answerOf(isDone: boolean): Answer {
  note("model call");
  reach("model");
  const calls = isDone ? [] : orders.map((order) => ({ id: `call_${randomUUID()}`, input: { order } }));
  if (!isDone) reach("answer");
  return { role: "assistant", text: isDone ? "Both orders are refunded." : "", calls };
}

export async function askOwner(_input: unknown): Promise<boolean> {
  note("question");
  reach("question");
  return true;
}

export const bank = {
  /** Books each key once. */
  async refund(order: string, key: string): Promise<string> {
    if (order === orders[0]) reach("before");
    else reach("between");
    const line = `refund ${order} ${key}`;
    if (!readRecord().includes(line)) note(line);
    if (order === orders[0]) reach("after");
    return `Order ${order} is refunded.`;
  },
};

export function readMessages(): ChatMessage[] | null {
  return existsSync(saved) ? JSON.parse(readFileSync(saved, "utf8")) : null;
}

/** What `writeFileSync` does, with a point in the middle: it empties the file, then writes. */
export function writeMessages(messages: readonly ChatMessage[]): void {
  const file = openSync(saved, "w");
  reach("save");
  writeSync(file, JSON.stringify(messages));
  closeSync(file);
}

export function readRecord(): readonly string[] {
  return existsSync(record) ? readFileSync(record, "utf8").trimEnd().split("\n") : [];
}

function note(line: string): void {
  appendFileSync(record, `${line}\n`);
}
