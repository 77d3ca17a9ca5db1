/**
 * What is written to sessions beside commits. Each function is one statement.
 */
import type { ClaimOptions, ClaimResult, Lease, PostResult, ReleaseResult } from "../../ports/store.js";
import { checksumOf } from "../shared/checksum.js";
import { nobodyIsDead } from "../shared/lease.js";
import { activeError, hashOf, isPossibleId, noSessionError } from "../shared/rules.js";
import { checkCommitSum, checkFormat, corrupt, decodeHolder, decodeState } from "../shared/validate.js";
import type { Database } from "./group.js";

type ClaimRow = {
  readonly outcome: "held" | "newer" | "claimed";
  readonly epoch: number | null;
  readonly holder: string | null;
  readonly leftMs: number | null;
  readonly seq: number | null;
  readonly v: number | null;
  readonly state: string | null;
  readonly stateSum: number | null;
};

export async function claim(db: Database, sessionId: string, options: ClaimOptions): Promise<ClaimResult> {
  const { holder, now, leaseMs, isDead = nobodyIsDead } = options;
  const place = { file: db.file, sessionId, seq: 0 };
  const text = JSON.stringify(holder);
  let dead: string | null = null;
  for (;;) {
    const row: ClaimRow | undefined = await first(db, db.statements.claim, [sessionId, text, now, leaseMs, dead]);
    if (row?.outcome === "held" && row.holder !== null) {
      const by = decodeHolder(row.holder, place);
      if (row.holder === dead || !isDead(by)) return { type: "held", holder: by, expiresAt: now + (row.leftMs ?? 0) };
      dead = row.holder;
      continue;
    }
    if (row === undefined) throw corrupt(place, "its row cannot be found");
    return claimed(db, row, { sessionId, epoch: row.epoch ?? 0, holder, expiresAt: now + leaseMs });
  }
}

/** A session whose state is damaged or of a later version is not taken. */
async function claimed(db: Database, row: ClaimRow, lease: Lease): Promise<ClaimResult> {
  const seq = row.seq ?? 0;
  const place = { file: db.file, sessionId: lease.sessionId, seq };
  try {
    if (row.v !== null) checkFormat(row.v, place);
    const state = row.state === null ? null : decodeState(checkCommitSum(row.state, row.stateSum, place), place);
    return { type: "claimed", lease, seq, state };
  } catch (error) {
    if (row.outcome === "claimed") await release(db, lease);
    throw error;
  }
}

/** Returns the sessions whose lease is lost. */
export async function renew(
  { query, statements }: Database,
  leases: readonly Lease[],
  leaseMs: number,
): Promise<readonly string[]> {
  const { rows } = await query(statements.renew, [
    leases.map(({ sessionId }) => sessionId),
    leases.map(({ epoch }) => epoch),
    leases.map(({ holder }) => JSON.stringify(holder)),
    leaseMs,
  ]);
  const held = new Set((rows as readonly { readonly name: string }[]).map(({ name }) => name));
  return leases.map(({ sessionId }) => sessionId).filter((sessionId) => !held.has(sessionId));
}

export async function release(
  db: Database,
  { sessionId, epoch, holder }: Lease,
): Promise<Exclude<ReleaseResult, { type: "busy" }>> {
  const values = [sessionId, epoch, JSON.stringify(holder)];
  const row = await first<{ readonly released: boolean }>(db, db.statements.release, values);
  return { type: row?.released === true ? "released" : "fenced" };
}

/**
 * `body` is the JSON of the whole message.
 * @param isAgain whether the answer to an earlier statement was lost. A message that is there may be the one that was sent then.
 */
export async function post(
  db: Database,
  sessionId: string,
  message: { readonly id: string; readonly at: number; readonly body: string },
  isAgain: boolean,
): Promise<PostResult> {
  const values = [sessionId, message.id, message.at, message.body, checksumOf(message.body), isAgain];
  const row = await first<{ readonly posted: boolean }>(db, db.statements.post, values);
  return { type: row?.posted === true ? "posted" : "duplicate" };
}

export async function putBlob(db: Database, sessionId: string, bytes: Uint8Array): Promise<string> {
  if (!isPossibleId(sessionId)) throw noSessionError(sessionId);
  const hash = hashOf(bytes);
  const row = await first<{ readonly kept: boolean }>(db, db.statements.putBlob, [sessionId, hash, bytes]);
  if (row?.kept !== true) throw noSessionError(sessionId);
  return hash;
}

export async function remove(
  db: Database,
  sessionId: string,
  { force = false }: { readonly force?: boolean },
): Promise<boolean> {
  if (!isPossibleId(sessionId)) return false;
  const row = await first<{ readonly outcome: string }>(db, db.statements.remove, [sessionId, force]);
  if (row?.outcome === "active") throw activeError(sessionId);
  return row?.outcome === "removed";
}

export async function first<Row>(
  { query }: Database,
  text: string,
  values: readonly unknown[],
): Promise<Row | undefined> {
  return (await query(text, values)).rows[0] as Row | undefined;
}
