/**
 * The ways in which a payment tool can recover from the death of its process, and the promise of each.
 */
import { setTimeout as wait } from "node:timers/promises";
import { type AnyTool, defineTool } from "pawl";
import { type Booking, slowestMs } from "./bank.js";

export type Way = {
  readonly name: WayName;
  readonly what: string;
  /** Whether the bank books one idempotency key once. */
  readonly honorsKeys: boolean;
  /** The results that a transfer may have; any other is a defect. */
  readonly may: { readonly repeat: boolean; readonly lose: boolean };
};

export type WayName = "keys" | "rerun" | "fail" | "reconcile" | "reconcile-late" | "ask";

export const ways: readonly Way[] = [
  {
    name: "keys",
    what: 'recover: "rerun", the bank honors idempotency keys',
    honorsKeys: true,
    may: { repeat: false, lose: false },
  },
  {
    name: "rerun",
    what: 'recover: "rerun", no keys',
    honorsKeys: false,
    may: { repeat: true, lose: false },
  },
  {
    name: "fail",
    what: 'recover: "fail" (the default), no keys',
    honorsKeys: false,
    may: { repeat: false, lose: true },
  },
  {
    name: "reconcile",
    what: "reconcile asks the bank at once, no keys",
    honorsKeys: false,
    may: { repeat: true, lose: false },
  },
  {
    name: "reconcile-late",
    what: "reconcile waits until the bank must be done, no keys",
    honorsKeys: false,
    may: { repeat: false, lose: false },
  },
  {
    name: "ask",
    what: 'recover: "ask": a person looks at the statement, no keys',
    honorsKeys: false,
    may: { repeat: false, lose: false },
  },
];

export function transferTool(way: WayName, bank: string): AnyTool {
  return defineTool({
    name: "transfer",
    description: "Transfers money from one account to another.",
    input: {
      type: "object",
      properties: { from: { type: "string" }, to: { type: "string" }, cents: { type: "integer", minimum: 1 } },
      required: ["from", "to", "cents"],
      additionalProperties: false,
    },
    recover: recoverOf(way, bank),
    async execute(order, { callKey, idempotencyKey, signal }) {
      const response = await fetch(`${bank}/transfers`, {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": idempotencyKey },
        body: JSON.stringify({ ...order, reference: callKey }),
        signal,
      });
      if (!response.ok) throw new Error(`The bank answered ${response.status}.`);
      return await response.json();
    },
  });
}

function recoverOf(way: WayName, bank: string): NonNullable<AnyTool["recover"]> {
  switch (way) {
    case "keys":
    case "rerun":
      return "rerun";
    case "fail":
    case "ask":
      return way;
    case "reconcile":
    case "reconcile-late":
      return {
        async reconcile({ callKey }) {
          if (way === "reconcile-late") await wait(slowestMs);
          const [booking] = await findBookings(bank, callKey);
          return booking === undefined ? { status: "not_started" } : { status: "finished", output: booking };
        },
      };
  }
}

export async function findBookings(bank: string, reference: string): Promise<readonly Booking[]> {
  const response = await fetch(`${bank}/transfers?${new URLSearchParams({ reference })}`);
  if (!response.ok) throw new Error(`The bank answered ${response.status}.`);
  return (await response.json()) as readonly Booking[];
}
