/**
 * The payments: for each run a list of steps, for each step the transfers that the model asks for side by side. The
 * plan follows from the seed alone, so every process knows it, and the ledger can be compared with it.
 */
import type { ModelRequest } from "pawl";
import type { ScriptedStep } from "pawl/testing";
import { createChance } from "./chance.js";

export type Order = { readonly from: string; readonly to: string; readonly cents: number };
export type Plan = { readonly seed: string; readonly runs: number; readonly steps: number };

export const accounts = ["anna", "ben", "carla", "dan", "eva", "finn", "greta", "hugo"] as const;
export const openingCents = 1_000_000;
/** Transfers of one step, side by side. */
export const atOnce = 3;

export function sessionsOf({ runs }: Plan): readonly string[] {
  return Array.from({ length: runs }, (_, index) => `order-${String(index + 1).padStart(3, "0")}`);
}

export function ordersOf(sessionId: string, { seed, steps }: Plan): readonly (readonly Order[])[] {
  const chance = createChance(`${seed}/${sessionId}`);
  const account = () => chance.pick(accounts) ?? accounts[0];
  const order = (): Order => ({ from: account(), to: account(), cents: chance.between(1, 9_999) });
  return Array.from({ length: steps }, () => Array.from({ length: atOnce }, order));
}

/** Every transfer of every run, by the key of its call: run, step and position. A run has the name of its session. */
export function expectedOrders(plan: Plan): ReadonlyMap<string, Order> {
  const expected = new Map<string, Order>();
  for (const sessionId of sessionsOf(plan))
    for (const [step, orders] of ordersOf(sessionId, plan).entries())
      for (const [position, order] of orders.entries()) expected.set(`${sessionId}/${step + 1}/${position + 1}`, order);
  return expected;
}

/** A model whose answer follows from the conversation alone: after a kill, it gives the same answer again. */
export function sayNext({ sessionId, messages }: ModelRequest, plan: Plan): ScriptedStep {
  const answered = messages.filter((message) => message.role === "assistant").length;
  const orders = ordersOf(sessionId, plan)[answered];
  if (orders === undefined) return { text: "All transfers are done." };
  return { calls: orders.map((order) => ({ name: "transfer", input: order })) };
}
