/**
 * Signals, and the sessions' waits for them. Each function runs inside a transaction.
 */
import type { SignalWait } from "../../core/machine/signal-waits.js";
import { maxSignalsOfKey, type Signal } from "../../ports/signal.js";
import type { CommittedWait } from "../../ports/store.js";
import { checksumOf } from "../shared/checksum.js";
import { encodeMessage } from "../shared/encode.js";
import { decodeSignal, encodeSignal } from "../shared/signal-rows.js";
import { createSignalMessage, endOfPrefix, hadPrefix, nameOfWait, waitsOfPage } from "../shared/signals.js";
import type { StoredWait } from "../shared/verify-waits.js";
import { type ByteColumns, decodeColumn, decodeNullableColumn } from "./driver.js";
import type { Database } from "./schema.js";

type WaitRow = ByteColumns<{
  readonly call: string;
  readonly step: string;
  readonly key: string;
  readonly given: string | null;
  readonly expiresAt: number | null;
}>;

/** The waits of a session, in no particular order. */
export function listWaits({ statements }: Database, id: number): readonly StoredWait[] {
  return (statements.waitsOf.all(id) as readonly WaitRow[]).map(({ call, step, key, given, expiresAt }) => ({
    callKey: decodeColumn(call),
    step: decodeColumn(step),
    key: decodeColumn(key),
    given: decodeNullableColumn(given),
    ...(expiresAt === null ? {} : { expiresAt }),
  }));
}

/** Whether a new wait would get a signal at once. */
export function wouldGetSignal(db: Database, id: number, waits: readonly CommittedWait[], at: number): boolean {
  return newWaits(listWaits(db, id), waits).some(
    (wait) => wait.given === undefined && findKept(db, id, wait, at) !== null,
  );
}

/** Ends the waits that are over, and delivers the kept signals to new waits. */
export function changeWaits(db: Database, id: number, waits: readonly CommittedWait[], at: number): void {
  const { statements } = db;
  const current = listWaits(db, id);
  const wanted = new Set(waits.map(nameOfWait));
  for (const wait of current) {
    if (wanted.has(nameOfWait(wait))) continue;
    statements.endWait.run(id, wait.callKey, wait.step);
    // The wait was over before its signal was read, so the next wait of the call gets it.
    if (wait.given !== null) statements.takeBack.run(id, wait.given);
  }
  for (const wait of newWaits(current, waits)) {
    const { key, callKey, step, expiresAt = null } = wait;
    statements.addWait.run(id, callKey, step, key, expiresAt);
    if (wait.given !== undefined) statements.serveWait.run(wait.given, id, callKey, step);
    const kept = wait.given === undefined ? findKept(db, id, wait, at) : null;
    if (kept !== null) deliverSignal(db, id, wait, kept);
  }
}

function newWaits(current: readonly SignalWait[], waits: readonly CommittedWait[]): readonly CommittedWait[] {
  const known = new Set(current.map(nameOfWait));
  return waits.filter((wait) => !known.has(nameOfWait(wait)));
}

type SignalRow = ByteColumns<{
  readonly number: number;
  readonly id: string;
  readonly body: string;
  readonly bodySum: number;
}>;

/** The oldest kept signal for a wait that its call has not had. */
function findKept(db: Database, id: number, { key, callKey, expiresAt }: SignalWait, at: number): Signal | null {
  const until = expiresAt ?? null;
  for (let after = 0; ; ) {
    const page = db.statements.keptSignals.all(key, after, at, until, until) as readonly SignalRow[];
    for (const row of page) {
      after = row.number;
      if (!hasHad(db, id, { key, id: decodeColumn(row.id) }, callKey)) return decodeSignalRow(db, row);
    }
    if (page.length === 0) return null;
  }
}

function decodeSignalRow({ file }: Database, { body, bodySum }: Pick<SignalRow, "body" | "bodySum">): Signal {
  return decodeSignal(decodeColumn(body), bodySum, file);
}

function hasHad({ statements }: Database, id: number, signal: Pick<Signal, "key" | "id">, callKey: string): boolean {
  const prefix = hadPrefix(signal, callKey);
  return statements.hasHad.get(id, prefix, endOfPrefix(prefix)) !== undefined;
}

function deliverSignal(
  { statements }: Database,
  id: number,
  wait: Pick<SignalWait, "callKey" | "step">,
  signal: Signal,
): void {
  const message = createSignalMessage(signal, wait);
  const body = encodeMessage(message);
  statements.take.run(id, message.id, message.at, body, checksumOf(body));
  statements.serveWait.run(message.id, id, wait.callKey, wait.step);
}

/** Adds a signal. `pending`: it was already in the store, and has not reached all waits yet. */
export function addSignal({ statements }: Database, signal: Signal): "new" | "known" | "pending" | "full" {
  const { key, id, at, keptUntil } = signal;
  const known = statements.signal.get(key, id) as
    | { readonly number: number; readonly pending: number; readonly keptUntil: number }
    | undefined;
  if (known?.pending === 1) return "pending";
  if (known !== undefined && known.keptUntil > at) return "known";
  if (known !== undefined) statements.dropSignal.run(known.number);
  const { count } = statements.countSignals.get(key, at) as { readonly count: number };
  if (count >= maxSignalsOfKey) return "full";
  const body = encodeSignal(signal);
  statements.addSignal.run(key, id, at, keptUntil, body, checksumOf(body));
  return "new";
}

/** The progress of the oldest pending signal of a key. */
export type ServedPage = {
  readonly id: string;
  /** The sessions of this page that received the signal. */
  readonly sessions: readonly string[];
  /** Where the next page begins; null if the signal has reached all waits. */
  readonly after: WaitPosition | null;
};

/** The number of a signal, and the last wait that it has reached. */
export type WaitPosition = {
  readonly signal: number;
  readonly session: number;
  readonly call: string;
  readonly step: string;
};

/**
 * Delivers the oldest pending signal of a key to a page of the waits that are open for it. Null if there is none.
 *
 * @param from where this signal's page begins; a position of another signal is ignored
 */
export function servePage(db: Database, key: string, from: WaitPosition | null): ServedPage | null {
  const { statements } = db;
  const row = statements.pendingSignal.get(key) as SignalRow | undefined;
  if (row === undefined) return null;
  const signal = decodeSignalRow(db, row);
  const after = from?.signal === row.number ? from : { session: -1, call: "", step: "" };
  type OpenWait = ByteColumns<{
    readonly session: number;
    readonly call: string;
    readonly step: string;
    readonly name: string;
  }>;
  const page = statements.openWaits.all(
    key,
    signal.at,
    after.session,
    after.call,
    after.step,
    waitsOfPage,
  ) as readonly OpenWait[];
  const sessions = new Set<string>();
  for (const { session, name, ...wait } of page) {
    const [callKey, step] = [decodeColumn(wait.call), decodeColumn(wait.step)];
    // Two waits of one call get two different signals, and a page may be served again.
    if (hasHad(db, session, signal, callKey)) continue;
    deliverSignal(db, session, { callKey, step }, signal);
    sessions.add(decodeColumn(name));
  }
  const last = page.length < waitsOfPage ? undefined : page.at(-1);
  if (last === undefined) statements.settleSignal.run(row.number);
  const next = last && {
    signal: row.number,
    session: last.session,
    call: decodeColumn(last.call),
    step: decodeColumn(last.step),
  };
  return { id: signal.id, sessions: [...sessions], after: next ?? null };
}

export function listSignals(
  db: Database,
  now: number,
  { after, limit }: { readonly after?: Pick<Signal, "key" | "id">; readonly limit: number },
): readonly Signal[] {
  const { key, id } = after ?? { key: "", id: "" };
  const rows = db.statements.signalList.all(now, key, key, id, limit) as readonly ByteColumns<{
    readonly body: string;
    readonly bodySum: number;
  }>[];
  return rows.map((row) => decodeSignalRow(db, row));
}

export function dropSignals({ statements }: Database, now: number, limit: number): number {
  const rows = statements.expiredSignals.all(now, limit) as readonly { readonly number: number }[];
  for (const { number } of rows) statements.dropSignal.run(number);
  return rows.length;
}
