/**
 * Writes to sessions, other than commits. Each function is one statement.
 */
import { formatVersion } from "../../core/machine/state.js";
import type { ClaimOptions, ClaimResult, Lease, PostResult, ReleaseResult } from "../../ports/store.js";
import { checksumOf } from "../shared/checksum.js";
import { checkFormat, corruptError, decodeHolder, decodeState, verifyCommitChecksum } from "../shared/decode.js";
import { assumeAlive } from "../shared/lease.js";
import { hashBlob, isValidId, noSessionError, sessionActiveError } from "../shared/rules.js";
import type { Database } from "./statements.js";

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

/** @param isRetry whether the reply to an earlier statement was lost, so that the caller may hold the session without knowing it */
export async function claim(
  db: Database,
  sessionId: string,
  options: ClaimOptions,
  isRetry: boolean,
): Promise<ClaimResult> {
  const { holder, now, leaseMs, isDead = assumeAlive } = options;
  const position = { file: db.storeName, sessionId, seq: 0 };
  const text = JSON.stringify(holder);
  let deadHolder: string | null = null;
  for (;;) {
    const row: ClaimRow | undefined = await queryFirst(db, db.statements.claim, [
      sessionId,
      text,
      now,
      leaseMs,
      deadHolder,
      formatVersion,
    ]);
    if (row?.outcome === "held" && row.holder !== null) {
      const currentHolder = decodeHolder(row.holder, position);
      const isOwn = isRetry && row.holder === text;
      if (row.holder === deadHolder || !(isOwn || isDead(currentHolder)))
        return { type: "held", holder: currentHolder, expiresAt: now + (row.leftMs ?? 0) };
      deadHolder = row.holder;
      continue;
    }
    if (row === undefined) throw corruptError(position, "its row cannot be found");
    return finishClaim(db, row, { sessionId, epoch: row.epoch ?? 0, holder, expiresAt: now + leaseMs });
  }
}

/** Completes a claim. A session whose state is damaged or of a later version is released again. */
async function finishClaim(db: Database, row: ClaimRow, lease: Lease): Promise<ClaimResult> {
  const seq = row.seq ?? 0;
  const position = { file: db.storeName, sessionId: lease.sessionId, seq };
  try {
    if (row.v !== null) checkFormat(row.v, position);
    const state =
      row.state === null ? null : decodeState(verifyCommitChecksum(row.state, row.stateSum, position), position);
    return { type: "claimed", lease, seq, state };
  } catch (error) {
    if (row.outcome === "claimed") await release(db, lease);
    throw error;
  }
}

/** Extends leases. Returns the sessions whose lease is lost. */
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
  const row = await queryFirst<{ readonly released: boolean }>(db, db.statements.release, values);
  return { type: row?.released === true ? "released" : "fenced" };
}

/**
 * Posts a message. `body` is the JSON of the whole message.
 * @param isRetry whether the reply to an earlier statement was lost, so that an existing message may be the one that was sent then
 */
export async function post(
  db: Database,
  sessionId: string,
  message: { readonly id: string; readonly at: number; readonly body: string },
  isRetry: boolean,
): Promise<PostResult> {
  const values = [sessionId, message.id, message.at, message.body, checksumOf(message.body), isRetry];
  const row = await queryFirst<{ readonly posted: boolean }>(db, db.statements.post, values);
  return { type: row?.posted === true ? "posted" : "duplicate" };
}

export async function putBlob(db: Database, sessionId: string, bytes: Uint8Array): Promise<string> {
  if (!isValidId(sessionId)) throw noSessionError(sessionId);
  const hash = hashBlob(bytes);
  const row = await queryFirst<{ readonly kept: boolean }>(db, db.statements.putBlob, [sessionId, hash, bytes]);
  if (row?.kept !== true) throw noSessionError(sessionId);
  return hash;
}

/** @param isRetry whether the reply to an earlier statement was lost, which may have deleted the session */
export async function deleteSession(
  db: Database,
  sessionId: string,
  { force = false }: { readonly force?: boolean },
  isRetry: boolean,
): Promise<boolean> {
  if (!isValidId(sessionId)) return false;
  const row = await queryFirst<{ readonly outcome: string }>(db, db.statements.remove, [sessionId, force]);
  if (row?.outcome === "active") throw sessionActiveError(sessionId);
  return row?.outcome === "removed" || isRetry;
}

export async function queryFirst<Row>(
  { query }: Database,
  text: string,
  values: readonly unknown[],
): Promise<Row | undefined> {
  return (await query(text, values)).rows[0] as Row | undefined;
}
