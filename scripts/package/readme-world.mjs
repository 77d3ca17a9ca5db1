/**
 * What the README's program finds around it: a shop, and somebody to tell. Loaded before it; prints what it did with them, as JSON
 * on the last line.
 */
const happened = { refunds: [], told: [] };

globalThis.shop = {
  async refund(order, cents, idempotencyKey) {
    happened.refunds.push({ order, cents, idempotencyKey });
    return `Refunded ${cents} cents for order ${order}.`;
  },
};
globalThis.notifyApprover = async (approvals) => {
  happened.told.push(...approvals);
};
process.on("exit", () => console.log(JSON.stringify(happened)));
