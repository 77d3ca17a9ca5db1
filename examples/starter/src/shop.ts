/**
 * The world outside the agent: a shop with two orders, which writes its refunds to a file. Put your own services here.
 */
import { appendFile, readFile } from "node:fs/promises";

export type Shop = ReturnType<typeof createShop>;

const orders: Readonly<Record<string, string>> = {
  "1041": "a teapot for 2900 cents, arrived broken",
  "1042": "two cups for 1800 cents, on the way",
};

export function createShop(refundsFile = "refunds.txt") {
  return {
    async findOrder(order: string): Promise<string> {
      const found = orders[order];
      if (found === undefined) throw new Error(`There is no order ${order}.`);
      return `Order ${order}: ${found}.`;
    },

    /** Pays once for each key, however often it is called: a good payment service does the same. */
    async refund(order: string, cents: number, key: string): Promise<string> {
      const refunds = await readFile(refundsFile, "utf8").catch(() => "");
      if (!refunds.includes(`(${key})`)) await appendFile(refundsFile, `${cents} cents for order ${order} (${key})\n`);
      return `Refunded ${cents} cents for order ${order}.`;
    },
  };
}
