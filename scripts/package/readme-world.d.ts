/** The types of what the README's program finds around it. */
import type { PendingApproval } from "pawl";

declare global {
  const shop: {
    refund(order: string, cents: number, idempotencyKey: string): Promise<string>;
  };
  function notifyApprover(approvals: readonly PendingApproval[]): Promise<void>;
}
