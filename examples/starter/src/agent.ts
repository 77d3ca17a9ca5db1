/**
 * The agent and its tools.
 */
import { type AgentOptions, createAgent, defineTool } from "pawl";
import { chooseModel } from "pawl/models";
import { openSqliteStore } from "pawl/sqlite";
import { z } from "zod";
import { createShop, type Shop } from "./shop.js";

/** Takes everything outside the agent as options, so that a test can replace it. */
export function createShopAgent({ shop, ...options }: { readonly shop: Shop } & Pick<AgentOptions, "model" | "store">) {
  const order = z.string().regex(/^\d+$/).describe("The number of the order.");

  const findOrder = defineTool({
    name: "find_order",
    description: "Finds an order: what was bought, its price in cents, and where it is.",
    input: z.object({ order }),
    readOnly: true, // runs without a question, and again after a crash
    execute: ({ order }) => shop.findOrder(order),
  });

  const refund = defineTool({
    name: "refund",
    description: "Refunds money for an order.",
    input: z.object({ order, cents: z.int().positive() }),
    needsApproval: true, // or, for example: ({ cents }) => cents > 2_000
    recover: "rerun", // if the process dies during the call: the shop pays once for each key
    execute: ({ order, cents }, { idempotencyKey }) => shop.refund(order, cents, idempotencyKey),
  });

  return createAgent({
    name: "shop",
    systemPrompt: "You help the staff of a shop. Find an order before you refund it.",
    tools: [findOrder, refund],
    ...options,
  });
}

/** The agent of `npm start` and `npm run page`. */
export default async function openAgent() {
  const { model, why } = await chooseModel(); // a key in the environment, a model on this machine, or the demo model
  console.log(why);
  return createShopAgent({ shop: createShop(), model, store: await openSqliteStore({ path: "sessions.db" }) });
}
