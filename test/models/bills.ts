/**
 * What a billing server charged for each request.
 */
import type { Bill, BillingServer } from "../../bench/economy/billing-server.mjs";

/** @throws Error if the server refused a request */
export function bills({ ledger }: BillingServer): readonly Bill[] {
  return ledger.map((entry) => {
    if (entry.refused !== undefined) throw new Error(`The server refused a request: ${entry.refused}`);
    return entry;
  });
}
