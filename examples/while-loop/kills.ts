/**
 * Where the processes are killed, and what had happened when they had been started again and reached their end: how often the model
 * was called, a person was asked, and money was sent. Two of each are needed.
 */
import type { Point } from "./shop.js";

export type Counts = { readonly modelCalls: number; readonly questions: number; readonly refunds: number };

/** Null: it could not go on. */
export type Kill = { readonly point: Point; readonly plain: Counts | null; readonly durable: Counts };

export const kills: readonly Kill[] = [
  { point: "model", plain: counts(3, 2, 2), durable: counts(3, 2, 2) },
  { point: "answer", plain: counts(3, 2, 2), durable: counts(3, 2, 2) },
  { point: "question", plain: counts(3, 3, 2), durable: counts(2, 3, 2) },
  { point: "before", plain: counts(3, 3, 2), durable: counts(2, 2, 2) },
  { point: "after", plain: counts(3, 3, 3), durable: counts(2, 2, 2) },
  { point: "between", plain: counts(3, 4, 3), durable: counts(2, 2, 2) },
  { point: "save", plain: null, durable: counts(2, 2, 2) },
  { point: "end", plain: counts(3, 2, 2), durable: counts(2, 2, 2) },
];

function counts(modelCalls: number, questions: number, refunds: number): Counts {
  return { modelCalls, questions, refunds };
}
