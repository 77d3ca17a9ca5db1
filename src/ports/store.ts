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

/** A process that holds leases. A dead holder on this host can be replaced at once. */
export type Holder = {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly startedAt: number;
  /** Where other processes reach this one, for example a URL. */
  readonly address?: string;
  /** Names one boot of the machine, so that a process of an earlier boot is told apart from one of this boot. */
  readonly bootId?: string;
};

export type Lease = {
  readonly sessionId: string;
  readonly epoch: number;
  readonly holder: Holder;
  readonly expiresAt: number;
};

export type ClaimOptions = {
  readonly holder: Holder;
  readonly now: number;
  /** The length of the lease. A lease that ends later than `now` + twice its own length is void: a clock jumped. */
  readonly leaseMs: number;
  /** Tells whether a holder on this host is known to be dead; it is then replaced at once. */
  readonly isDead?: (holder: Holder) => boolean;
};

export type ClaimResult =
  | { readonly type: "claimed"; readonly lease: Lease; readonly seq: number; readonly state: State | null }
  | { readonly type: "held"; readonly holder: Holder; readonly expiresAt: number };

/** The coarse state of a session, kept outside its log. Stores write it only when it changes. */
export type Activity = "resting" | "active" | "waiting";

export type Commit = {
  readonly expectedSeq: number;
  /** Events of one commit, in order; the first gets `expectedSeq` + 1. */
  readonly events: readonly Event[];
  readonly state: State;
  /** The commit's time; the session's `updatedAt`. */
  readonly at: number;
  readonly activity: Activity;
  /** When the session needs a driver even if nobody posts: `dueAt(state)`. */
  readonly dueAt: number | null;
  /** Since when the session waits for an answer from outside: `askedAt(state)`. */
  readonly askedAt: number | null;
  /** Inbox messages that these events account for; they leave the inbox in the same transaction. */
  readonly consume?: readonly string[];
  /** Message ids to mark as taken without a message. If an id is taken already, the commit is refused as `duplicate`. */
  readonly record?: readonly string[];
  /** Gives the lease back in the same transaction; refused as `inbox_not_empty` if messages would be left in the inbox. */
  readonly release?: boolean;
};

export type CommitResult =
  | { readonly type: "ok"; readonly seq: number }
  /** Nothing was written; try again. */
  | { readonly type: "busy" }
  /** Another commit came first: the log ends at `seq`, not at `expectedSeq`. */
  | { readonly type: "conflict"; readonly seq: number }
  /** The lease is gone: another holder claimed the session, or the lease was released. */
  | { readonly type: "fenced" }
  | { readonly type: "duplicate"; readonly id: string }
  | { readonly type: "inbox_not_empty" };

export type ReleaseResult = { readonly type: "released" } | { readonly type: "fenced" } | { readonly type: "busy" };

export type PostResult = { readonly type: "posted" } | { readonly type: "duplicate" };

/** One session as lists show it. Times are epoch milliseconds. */
export type SessionSummary = {
  readonly sessionId: string;
  /** Null if the log is empty, or if a later version of Pawl wrote it. */
  readonly info: SessionInfo | null;
  /** `idle` if the log is empty. */
  readonly status: Status;
  readonly activity: Activity;
  /** The number of the last entry; 0 if the log is empty. */
  readonly seq: number;
  readonly createdAt: number;
  /** The time of the last commit with events; `createdAt` before the first. */
  readonly updatedAt: number;
  /** The number of messages in the inbox. */
  readonly inbox: number;
  /** The holder of the lease, also if the lease has run out; null if nobody holds the session. */
  readonly holder: Holder | null;
};

/** Filters and one page of a list. The order is newest first by `updatedAt`, then by id. A filter that is left out lets all pass. */
export type ListOptions = {
  readonly status?: readonly Status[];
  /** Only sessions of the agent with this name. */
  readonly agent?: string;
  /** Only sessions that this session started; null: only sessions without a parent. */
  readonly parent?: string | null;
  /** Only sessions whose agent works in this folder (`SessionInfo.root`). */
  readonly root?: string;
  /** At most this many; not limited unless set. */
  readonly limit?: number;
  /** Only sessions after this position in the order. */
  readonly after?: { readonly updatedAt: number; readonly sessionId: string };
};

/** A session that waits for an answer from outside. */
export type AskingSession = {
  readonly sessionId: string;
  readonly askedAt: number;
  /** Null if a later version of Pawl wrote it. */
  readonly state: State | null;
  /** The number of messages in the inbox. */
  readonly inbox: number;
};

export type AskingOptions = {
  /** At most this many, those that have waited longest first: by `askedAt`, then by id. */
  readonly limit?: number;
  /** Only sessions after this position in the order. */
  readonly after?: { readonly askedAt: number; readonly sessionId: string };
};

/** A state, and the number of the entry that it follows. */
export type StateAt = { readonly seq: number; readonly state: State };

export type Problem = { readonly sessionId: string | null; readonly what: string };

/**
 * A change of a session's log or inbox; without `in`, of either or both. A change is a hint: it may arrive late or twice, and a
 * listener must never rely on it alone.
 */
export type Change = { readonly sessionId: string; readonly in?: "log" | "inbox" };

export interface Store {
  /** Takes the lease of a session, with the next epoch. Creates the session's row if none exists. */
  claim(sessionId: string, options: ClaimOptions): Promise<ClaimResult>;
  /** Extends the leases that are still held; returns the ids of the sessions whose lease is lost. */
  renew(leases: readonly Lease[], now: number, leaseMs: number): Promise<readonly string[]>;
  /** Gives a lease up, whatever is in the inbox: a holder that stops takes no more messages, and the session is due for others. */
  release(lease: Lease): Promise<ReleaseResult>;
  commit(lease: Lease, commit: Commit): Promise<CommitResult>;
  /** The last row; null if the log is empty. */
  load(sessionId: string): Promise<StateAt | null>;
  /**
   * A row at or before entry `seq`: the caller folds the entries between onto its state. A store may keep only some of
   * the states, but none that it finds is more than 64 entries older than the last row at or before `seq`.
   * Null only if no such row exists. From the last entry on, it is the last row.
   */
  loadAt(sessionId: string, seq: number): Promise<StateAt | null>;
  /** Entries after `after` (0: all), in order, at most `limit` (default: all). Fewer than `limit` come only at the end of the log. */
  read(sessionId: string, after?: number, limit?: number): Promise<readonly Entry[]>;
  /** Adds a message to the inbox; needs neither lease nor sequence. Creates the session's row if none exists. */
  post(sessionId: string, message: InboxMessage): Promise<PostResult>;
  /** Messages that were not consumed, in the order in which they were posted. */
  inbox(sessionId: string): Promise<readonly InboxMessage[]>;
  list(options?: ListOptions): Promise<readonly SessionSummary[]>;
  /** What `list` says of this session; null if there is no such session. Costs the same however long the log is. */
  describe(sessionId: string): Promise<SessionSummary | null>;
  /** Sessions that wait for an answer from outside. A page costs the same however many sessions there are. */
  asking(options?: AskingOptions): Promise<readonly AskingSession[]>;
  /** Sessions that nobody holds and that have a message in the inbox or a due time that has passed; the longest due first. */
  due(now: number, limit: number, isDead?: (holder: Holder) => boolean): Promise<readonly string[]>;
  /** Calls back when a session's log or inbox changes, by this process or another; returns a function that stops it. */
  watch(listener: (change: Change) => void): () => void;
  /** Keeps bytes for a session under their SHA-256 (hex), and returns it. */
  putBlob(sessionId: string, bytes: Uint8Array): Promise<string>;
  getBlob(sessionId: string, hash: string): Promise<Uint8Array | null>;
  /** Removes a session, its log, inbox and blobs. Unless `force`, it is refused as `session_active` while held or while a run is active. */
  delete(sessionId: string, options: { readonly now: number; readonly force?: boolean }): Promise<boolean>;
  /** Looks for damage: gaps, rows that do not parse, blobs that do not match their hash. */
  verify(sessionId?: string): Promise<readonly Problem[]>;
  close(): Promise<void>;
}
