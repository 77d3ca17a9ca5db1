/**
 * Signals in PostgreSQL, and the sessions' waits for them. See the rules in signal-functions.ts.
 */
import type { SignalWait } from "../../core/machine/signal-waits.js";
import type { Signal, SignalStore } from "../../ports/signal.js";
import { checksumOf } from "../shared/checksum.js";
import { encodeMessage } from "../shared/encode.js";
import { checkId } from "../shared/rules.js";
import { decodeSignal, encodeSignal } from "../shared/signal-rows.js";
import { createSignalMessage } from "../shared/signals.js";
import type { StoredWait } from "../shared/verify-waits.js";
import type { AppendOutcome, Database } from "./statements.js";

/** A message that delivers a signal to a wait, as the functions take it. */
type Gift = {
  readonly signal: string;
  readonly session: string;
  readonly call: string;
  readonly step: string;
  readonly id: string;
  readonly at: number;
  readonly body: string;
  readonly sum: number;
};

type SignalText = { readonly body: string; readonly sum: number };
type WaitKey = { readonly session: string; readonly call: string; readonly step: string };

function createGift(file: string, number: string, { body, sum }: SignalText, wait: WaitKey): Gift {
  const signal = decodeSignal(body, sum, file);
  const message = createSignalMessage(signal, { callKey: wait.call, step: wait.step });
  const text = encodeMessage(message);
  const { session, call, step } = wait;
  return { signal: number, session, call, step, id: message.id, at: message.at, body: text, sum: checksumOf(text) };
}

/** @param row the parameters of `append` */
export async function appendWaiting(
  { query, statements, storeName }: Database,
  row: readonly unknown[],
  waits: readonly SignalWait[],
): Promise<AppendOutcome> {
  let gifts: readonly Gift[] = [];
  for (;;) {
    const { rows } = await query(statements.appendWaiting, [...row, JSON.stringify(waits), JSON.stringify(gifts)]);
    const [outcome] = rows as readonly AppendOutcome[];
    if (outcome?.outcome !== "needs") return outcome ?? { outcome: "nothing", tail: null, message: null };
    type Missing = WaitKey & SignalText & { readonly signal: string };
    const missing = JSON.parse(outcome.message ?? "[]") as readonly Missing[];
    gifts = [...gifts, ...missing.map((one) => createGift(storeName, one.signal, one, one))];
  }
}

type Served = {
  readonly id: string;
  readonly given: readonly { readonly sessionId: string; readonly id: string }[];
  /** The signal, and the last wait that it has reached. Null if it has reached all waits. */
  readonly after: (WaitKey & { readonly signal: string }) | null;
};

/** Delivers the oldest pending signal of a key to a page of waits. Null if there is none. */
async function serveSignal(
  { query, statements, storeName }: Database,
  key: string,
  from: Served["after"],
): Promise<Served | null> {
  let gifts: readonly Gift[] = [];
  for (;;) {
    const cursor = [from?.signal ?? null, from?.session ?? null, from?.call ?? null, from?.step ?? null];
    const { rows } = await query(statements.serveSignal, [key, ...cursor, JSON.stringify(gifts)]);
    const [row] = rows as readonly { readonly outcome: string; readonly detail: string | null }[];
    if (row?.outcome === "none") return null;
    const detail = JSON.parse(row?.detail ?? "{}");
    if (row?.outcome !== "needs") return detail as Served;
    const { signal, waits, ...text } = detail as SignalText & {
      readonly signal: string;
      readonly waits: readonly WaitKey[];
    };
    gifts = [...gifts, ...waits.map((wait) => createGift(storeName, signal, text, wait))];
  }
}

export type SignalAccess = {
  /** @param work may take effect twice, if a reply is lost */
  readonly run: <Result>(work: (isRetry: boolean) => Promise<Result>) => Promise<Result>;
  /** Reports a message in a session's inbox. */
  readonly notify: (change: { readonly sessionId: string; readonly key: string }) => void;
};

export function createSignalStore(db: Database, { run, notify }: SignalAccess): SignalStore {
  const { statements } = db;
  const query = async <Row>(text: string, values: readonly unknown[]) =>
    (await db.query(text, [...values])).rows as readonly Row[];
  return {
    async send(signal) {
      checkId("message", signal.id);
      const { id, key, at, keptUntil } = signal;
      const body = encodeSignal(signal);
      const values = [key, id, at, keptUntil, body, checksumOf(body)];
      const added = await run(async (isRetry) => {
        const [row] = await query<{ readonly added: string }>(statements.addSignal, values);
        // If a reply was lost, the existing signal is this one.
        return row?.added === "pending" && isRetry ? "new" : row?.added;
      });
      if (added === "full") return { type: "full" };
      if (added === "known") return { type: "ok", isNew: false, sessions: [] };
      const sessions = new Set<string>();
      // Earlier signals that have not reached all waits come first, so that each wait gets the oldest.
      for (let from: Served["after"] = null, isServed = false; !isServed; ) {
        const position: Served["after"] = from;
        const page = await run((): Promise<Served | null> => serveSignal(db, key, position));
        for (const given of page?.given ?? []) {
          if (page?.id === id) sessions.add(given.sessionId);
          notify({ sessionId: given.sessionId, key: given.id });
        }
        from = page?.after ?? null;
        isServed = page === null || (page.id === id && page.after === null);
      }
      return { type: "ok", isNew: added === "new", sessions: [...sessions] };
    },
    list: (now, { after, limit }) =>
      run(async () => {
        const rows = await query<{ readonly body: string; readonly bodySum: number }>(statements.signalList, [
          now,
          after?.key ?? "",
          after?.id ?? "",
          limit,
        ]);
        return rows.map((row): Signal => decodeSignal(row.body, row.bodySum, db.storeName));
      }),
    drop: (now, limit) =>
      run(async () => {
        const [row] = await query<{ readonly count: number }>(statements.dropSignals, [now, limit]);
        return row?.count ?? 0;
      }),
  };
}

/** The waits of a session, in no particular order. */
export async function listWaits({ query, statements }: Database, session: string): Promise<readonly StoredWait[]> {
  type Row = Omit<StoredWait, "expiresAt"> & { readonly expiresAt: number | null };
  const { rows } = await query(statements.waitsOf, [session]);
  return (rows as readonly Row[]).map(({ expiresAt, ...wait }) => ({
    ...wait,
    ...(expiresAt === null ? {} : { expiresAt }),
  }));
}
