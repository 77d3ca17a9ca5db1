/**
 * The result of a campaign: compares the ledger on disk with the orders, and with the results that the runs got.
 */
import type { Store } from "pawl";
import { type Booking, readLedger } from "./bank.js";
import { accounts, expectedOrders, type Order, openingCents, type Plan, sessionsOf } from "./plan.js";

export type Findings = {
  readonly runs: number;
  readonly completed: number;
  readonly ordered: number;
  readonly bookedOnce: number;
  /** Booked more than once. */
  readonly repeated: number;
  /** Ordered, and not booked. */
  readonly lost: number;
  /** Booked, and never ordered, or not as ordered. */
  readonly foreign: number;
  /** Every account has the balance that follows if each order is booked once. */
  readonly balances: boolean;
  /** How often a run was carried on after a kill. */
  readonly restarts: number;
  /** Calls whose outcome was reported to the model as unknown: the booked ones, and the others. */
  readonly unknown: { readonly booked: number; readonly notBooked: number };
  /** Questions to a person, by the answer. */
  readonly asked: { readonly rerun: number; readonly result: number };
  /** Calls that were reported to the model as done, but were not booked. */
  readonly falselyDone: number;
  /** Damage that the store finds in its file. */
  readonly damage: number;
};

export async function audit(store: Store, ledger: string, plan: Plan): Promise<Findings> {
  const expected = expectedOrders(plan);
  const bookings = readLedger(ledger);
  const booked = new Map<string, number>();
  for (const { reference } of bookings) booked.set(reference, (booked.get(reference) ?? 0) + 1);
  const count = (keys: Iterable<string>, holds: (times: number) => boolean) =>
    [...keys].filter((key) => holds(booked.get(key) ?? 0)).length;
  const { done, interrupted, ...told } = await readLogs(store, plan);
  return {
    runs: plan.runs,
    ordered: expected.size,
    bookedOnce: count(expected.keys(), (times) => times === 1),
    repeated: count(expected.keys(), (times) => times > 1),
    lost: count(expected.keys(), (times) => times === 0),
    foreign: bookings.filter((booking) => !isAsOrdered(booking, expected.get(booking.reference))).length,
    balances: isSame(balancesOf(bookings), balancesOf([...expected.values()])),
    ...told,
    unknown: {
      booked: count(interrupted, (times) => times > 0),
      notBooked: count(interrupted, (times) => times === 0),
    },
    falselyDone: count(done, (times) => times === 0),
    damage: (await store.verify()).length,
  };
}

async function readLogs(store: Store, plan: Plan) {
  const done: string[] = [];
  const interrupted: string[] = [];
  const asked = { rerun: 0, result: 0 };
  let completed = 0;
  let restarts = 0;
  for (const sessionId of sessionsOf(plan)) {
    if ((await store.load(sessionId))?.state.status === "completed") completed += 1;
    for (const { event } of await store.read(sessionId)) {
      if (event.type === "restarted") restarts += 1;
      if (event.type === "tool_finished" && event.outcome === "ok") done.push(event.callKey);
      if (event.type === "tool_finished" && event.outcome === "interrupted") interrupted.push(event.callKey);
      if (event.type === "answered" && event.answer.type === "rerun") asked.rerun += 1;
      if (event.type === "answered" && event.answer.type === "result") asked.result += 1;
    }
  }
  return { done, interrupted, asked, completed, restarts };
}

function balancesOf(orders: readonly Order[]): ReadonlyMap<string, number> {
  const balances = new Map<string, number>(accounts.map((account) => [account, openingCents]));
  const add = (account: string, cents: number) => balances.set(account, (balances.get(account) ?? 0) + cents);
  for (const { from, to, cents } of orders) {
    add(from, -cents);
    add(to, cents);
  }
  return balances;
}

function isAsOrdered(booking: Booking, order: Order | undefined): boolean {
  return booking.from === order?.from && booking.to === order.to && booking.cents === order.cents;
}

function isSame(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): boolean {
  return one.size === other.size && [...one].every(([account, cents]) => other.get(account) === cents);
}
