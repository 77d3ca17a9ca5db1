/**
 * A simple bank: an HTTP service that books transfers in a ledger on disk. It is slow at times, and finishes a
 * request even if its client is gone, as real services do.
 *
 *     POST /transfers               books one; with `honorsKeys`, once for each `idempotency-key`
 * GET /transfers?reference=… the transfer that was booked under a reference
 */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { createChance } from "./chance.js";
import type { Order } from "./plan.js";

export type Booking = Order & { readonly number: number; readonly reference: string; readonly key: string | null };

/** A request is booked within this time, or never. */
export const slowestMs = 600;

export type Bank = {
  readonly url: string;
  /** Requests whose client died before it had an answer: before the transfer was booked, and after. */
  readonly cutOff: () => { readonly before: number; readonly after: number };
  /** Resolves when nothing is under way. */
  readonly settled: () => Promise<void>;
  readonly close: () => Promise<void>;
};

export type BankOptions = { readonly file: string; readonly honorsKeys: boolean; readonly seed: string };

export async function startBank({ file, honorsKeys, seed }: BankOptions): Promise<Bank> {
  const bookings = [...readLedger(file)];
  const byKey = new Map(bookings.flatMap((booking) => (booking.key === null ? [] : [[booking.key, booking] as const])));
  const ledger = openSync(file, "a");
  const chance = createChance(`${seed}/bank`);
  const cutOff = { before: 0, after: 0 };
  const underWay = new Set<Promise<void>>();

  /** Most requests are quick, some are slow. */
  const delayMs = () => (chance.next() < 0.05 ? chance.between(100, slowestMs - 100) : chance.between(0, 20));

  function book(order: Order & { readonly reference: string }, key: string | null): Booking {
    const known = honorsKeys && key !== null ? byKey.get(key) : undefined;
    if (known !== undefined) return known;
    const { from, to, cents, reference } = order;
    const booking: Booking = { number: bookings.length + 1, from, to, cents, reference, key };
    writeSync(ledger, `${JSON.stringify(booking)}\n`);
    fsyncSync(ledger);
    bookings.push(booking);
    if (key !== null) byKey.set(key, booking);
    return booking;
  }

  async function transfer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let booked = false;
    response.once("close", () => {
      if (!response.writableFinished) cutOff[booked ? "after" : "before"] += 1;
    });
    const order = JSON.parse(await textOf(request)) as Order & { readonly reference: string };
    const key = request.headers["idempotency-key"];
    await wait(delayMs());
    const booking = book(order, typeof key === "string" ? key : null);
    booked = true;
    await wait(chance.between(0, 20));
    reply(response, 201, booking);
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://bank");
    if (url.pathname !== "/transfers") return reply(response, 404, { error: "There is no such page." });
    if (request.method === "POST") return await transfer(request, response);
    const reference = url.searchParams.get("reference");
    reply(
      response,
      200,
      bookings.filter((booking) => booking.reference === reference),
    );
  }

  const server = createServer((request, response) => {
    // If a client was killed in the middle of its request, it has ordered nothing.
    const work = answer(request, response).catch(() => void response.destroy());
    underWay.add(work);
    void work.finally(() => underWay.delete(work));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cutOff: () => ({ ...cutOff }),
    async settled() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      closeSync(ledger);
    },
  };
}

/** The ledger as it is on disk. */
export function readLedger(file: string): readonly Booking[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Booking);
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
