/**
 * The store port. Memory, SQLite and PostgreSQL keep these rules; the conformance suite of `pawl/testing` checks them.
 *
 * 1. One writer: only the holder of a session's lease commits. Checks go fence first, then sequence.
 * 2. A commit is one row: its events and the state after them. When `commit` resolves with `ok`, it is durable.
 * 3. Everyone else posts to the inbox. A message's id is taken once per session, for ever: also after it was consumed.
 * 4. Only a higher epoch or a release fences, never the clock: a holder whose lease ran out writes until another claims.
 * 5. The log is gap-free from 1. What comes back is what went in, NUL and lone surrogates too, or was refused.
 * 6. Reads validate what they find; damage is a `PawlError` with code `store_corrupt`.
 * 7. Times are handed in (epoch milliseconds); a store has no clock of its own.
 */
import type { Entry, Event } from "../core/machine/event.js";
import type { InboxMessage } from "../core/machine/inbox.js";
import type { SessionInfo, State, Status } from "../core/machine/state.js";

/** A process that holds leases. A dead holder on this host can be replaced at once (REC-9). */
export type Holder = { readonly id: string; readonly host: string; readonly pid: number; readonly startedAt: number };

export type Lease = {
  readonly sessionId: string;
  readonly epoch: number;
  readonly holder: Holder;
  readonly expiresAt: number;
};

export type ClaimOptions = {
  readonly holder: Holder;
  readonly now: number;
  /** The length of the lease. One that is recorded to end later than `now` + twice its own length is void (a clock jumped). */
  readonly leaseMs: number;
  /** Tells whether a holder on this host is known to be dead; it is then replaced at once. */
  readonly isDead?: (holder: Holder) => boolean;
};

export type ClaimResult =
  | { readonly type: "claimed"; readonly lease: Lease; readonly seq: number; readonly state: State | null }
  | { readonly type: "held"; readonly holder: Holder; readonly expiresAt: number };

/** What the session's own row says of it, coarsely; it is written only when it changes. */
export type Activity = "resting" | "active" | "waiting";

export type Commit = {
  readonly expectedSeq: number;
  /** Events of one commit, in order; the first gets `expectedSeq` + 1. */
  readonly events: readonly Event[];
  readonly state: State;
  /** The commit's time; the session's `updatedAt`. */
  readonly at: number;
  readonly activity: Activity;
  /** When the session wants a driver though nobody posts: `dueAt(state)`. */
  readonly dueAt: number | null;
  /** Since when somebody outside is asked: `askedAt(state)`. */
  readonly askedAt: number | null;
  /** Inbox messages that these events account for; they leave the inbox in the same transaction. */
  readonly consume?: readonly string[];
  /** Message ids that are taken from here on without having been posted. One that is taken already makes the commit `duplicate`. */
  readonly record?: readonly string[];
  /** Gives the lease back in the same transaction; refused as `inbox_not_empty` while messages are left that are not consumed. */
  readonly release?: boolean;
};

export type CommitResult =
  | { readonly type: "ok"; readonly seq: number }
  /** Nothing was written; try again. */
  | { readonly type: "busy" }
  /** Another wrote first: the expected sequence is not the present one. */
  | { readonly type: "conflict"; readonly seq: number }
  /** The lease is gone: another claimed, or it was released. */
  | { readonly type: "fenced" }
  | { readonly type: "duplicate"; readonly id: string }
  | { readonly type: "inbox_not_empty" };

export type ReleaseResult = { readonly type: "released" } | { readonly type: "fenced" } | { readonly type: "busy" };

export type PostResult = { readonly type: "posted" } | { readonly type: "duplicate" };

export type SessionSummary = {
  readonly sessionId: string;
  readonly info: SessionInfo | null;
  readonly status: Status;
  readonly activity: Activity;
  readonly seq: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly inbox: number;
  readonly holder: Holder | null;
};

export type ListOptions = {
  readonly status?: readonly Status[];
  /** Newest first by `updatedAt`, then by id. */
  readonly limit?: number;
  /** Only what is after this one in that order. */
  readonly after?: { readonly updatedAt: number; readonly sessionId: string };
};

/** A session in which somebody outside is asked. */
export type AskingSession = {
  readonly sessionId: string;
  readonly askedAt: number;
  /** Null where a later version wrote it. */
  readonly state: State | null;
  /** Messages in its inbox. */
  readonly inbox: number;
};

export type AskingOptions = {
  /** Those that ask for the longest first, by `askedAt`, then by id. */
  readonly limit?: number;
  /** Only what is after this one in that order. */
  readonly after?: { readonly askedAt: number; readonly sessionId: string };
};

export type Problem = { readonly sessionId: string | null; readonly what: string };

/**
 * What changed: a session's log or inbox; either or both where `in` is left out. A hint: it may come late or twice, and is never
 * the only way to learn of it.
 */
export type Change = { readonly sessionId: string; readonly in?: "log" | "inbox" };

export interface Store {
  /** Takes the lease of a session, with the next epoch; creates the session's row where there is none. */
  claim(sessionId: string, options: ClaimOptions): Promise<ClaimResult>;
  /** Extends leases that are still held; returns the ids of those that are not. */
  renew(leases: readonly Lease[], now: number, leaseMs: number): Promise<readonly string[]>;
  /** Gives a lease up, whatever is in the inbox: a holder that stops takes nothing more, and the session is due for others. */
  release(lease: Lease): Promise<ReleaseResult>;
  commit(lease: Lease, commit: Commit): Promise<CommitResult>;
  /** The last row; null where the session has none. */
  load(sessionId: string): Promise<{ readonly seq: number; readonly state: State } | null>;
  /** The last row at or before entry `seq`; null if there is none. */
  loadAt(sessionId: string, seq: number): Promise<{ readonly seq: number; readonly state: State } | null>;
  /** Entries after `after` (0: all), in order, at most `limit`; whole rows of the log may exceed it. */
  read(sessionId: string, after?: number, limit?: number): Promise<readonly Entry[]>;
  /** Adds a message to the inbox, with neither lease nor sequence; creates the session's row where there is none. */
  post(sessionId: string, message: InboxMessage): Promise<PostResult>;
  /** Messages that were not consumed, in the order of their posting. */
  inbox(sessionId: string): Promise<readonly InboxMessage[]>;
  list(options?: ListOptions): Promise<readonly SessionSummary[]>;
  /** Sessions in which somebody outside is asked. A page costs the same however many sessions there are. */
  asking(options?: AskingOptions): Promise<readonly AskingSession[]>;
  /** Sessions that nobody holds, and that have an inbox or a due time that has passed; the longest due first. */
  due(now: number, limit: number, isDead?: (holder: Holder) => boolean): Promise<readonly string[]>;
  /** Calls back when a session's log or inbox changes, by this process or another; returns the way to stop. */
  watch(listener: (change: Change) => void): () => void;
  /** Keeps bytes for a session under their SHA-256 (hex). */
  putBlob(sessionId: string, bytes: Uint8Array): Promise<string>;
  getBlob(sessionId: string, hash: string): Promise<Uint8Array | null>;
  /** Removes a session, its log, inbox and blobs. Refused while it is held or a run is active (`session_active`), unless `force`. */
  delete(sessionId: string, options: { readonly now: number; readonly force?: boolean }): Promise<boolean>;
  /** Looks for damage: gaps, rows that do not parse, blobs that do not match their hash. */
  verify(sessionId?: string): Promise<readonly Problem[]>;
  close(): Promise<void>;
}
