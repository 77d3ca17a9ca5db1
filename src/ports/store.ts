/**
 * The store port. Memory, SQLite and PostgreSQL keep these rules; the conformance suite of `pawl/testing` checks them.
 *
 * 1. One writer: only the holder of a session's lease commits. Checks go fence first, then sequence.
 * 2. A commit is one row: its events and the state after them. When `commit` resolves with `ok`, it is durable.
 * 3. Everyone else posts to the inbox. A message's id is taken once per session, for ever: also after it was consumed.
 * 4. Only a higher epoch or a release fences, never the clock: a holder whose lease ran out writes until another claims.
 * 5. The log is gap-free from 1. What comes back is what went in, NUL and lone surrogates too, or was refused. Only `redact` changes
 *    what was committed, and never a number.
 * 6. Reads validate what they find; damage is a `PawlError` with code `store_corrupt`.
 * 7. A signal reaches each wait that is open for its key, and each that begins while it is kept: `waits` of a commit and `signals.send`
 *    see each other's rows, whichever comes first. A store may omit `signals`; callers then get `store_lacks`.
 * 8. Times are handed in (epoch milliseconds). A store of several machines may keep the time of leases itself, by one clock for all
 *    callers: in `claim`, `renew`, `due` and `delete`. Everything else goes by the time that is handed in.
 */
import type { Entry, Event } from "../core/machine/event.js";
import type { InboxMessage } from "../core/machine/inbox.js";
import type { SignalWait } from "../core/machine/signal-waits.js";
import type { SessionInfo, State, Status } from "../core/machine/state.js";
import type { SessionOverview } from "../core/view/session-overview.js";
import type { CommittedNotice, NoticeStore } from "./notice-store.js";
import type { ScheduleStore } from "./schedule-store.js";
import type { SignalStore } from "./signal.js";

/** A wait for a signal, as a commit names it. */
export type CommittedWait = SignalWait & {
  /**
   * The id of the message by which the wait has got its signal already, in the store from which the session is imported. The
   * wait gets no other signal then.
   */
  readonly given?: string;
};

/** A process that holds leases. A dead holder on this host can be replaced at once. */
export type Holder = {
  /** The id of the process. */
  readonly id: string;
  /** The name of its host. */
  readonly host: string;
  /** Its number on the host. */
  readonly pid: number;
  readonly startedAt: number;
  /** Where other processes reach this one, for example a URL. */
  readonly address?: string;
  /** Names one boot of the machine, so that a process of an earlier boot is told apart from one of this boot. */
  readonly bootId?: string;
};

/** The right to write a session, for a while. Only the lease with the highest `epoch` counts. */
export type Lease = {
  readonly sessionId: string;
  readonly epoch: number;
  /** The process that holds it. */
  readonly holder: Holder;
  /** When it ends unless it is renewed, in epoch milliseconds. */
  readonly expiresAt: number;
};

/** Who claims a session, when and for how long. */
export type ClaimOptions = {
  /** The process that claims. */
  readonly holder: Holder;
  /** The present time, in epoch milliseconds. */
  readonly now: number;
  /** The length of the lease. A lease that ends later than `now` + twice its own length is void: a clock jumped. */
  readonly leaseMs: number;
  /** Tells whether a holder on this host is known to be dead; it is then replaced at once. */
  readonly isDead?: (holder: Holder) => boolean;
};

/** Whether the caller holds the session now. */
export type ClaimResult =
  /** The caller holds the session now. */
  | {
      readonly type: "claimed";
      /** The lease. */
      readonly lease: Lease;
      readonly seq: number;
      /** The state after the last entry; null if the log is empty. */
      readonly state: State | null;
    }
  /** Another process holds it. */
  | { readonly type: "held"; readonly holder: Holder; readonly expiresAt: number };

/** The coarse state of a session, kept outside its log. Stores write it only when it changes. */
export type Activity = "resting" | "active" | "waiting";

/** What one commit writes: events, the state after them, and what becomes of the inbox and the lease. */
export type Commit = {
  /** The number of the last entry before this commit. */
  readonly expectedSeq: number;
  /** Events of one commit, in order; the first gets `expectedSeq` + 1. */
  readonly events: readonly Event[];
  /** The state after the last of the events. */
  readonly state: State;
  /** The commit's time; the session's `updatedAt`. */
  readonly at: number;
  /** The coarse state of the session after them. */
  readonly activity: Activity;
  /** When the session needs a driver even if nobody posts: `dueAt(state)`. */
  readonly dueAt: number | null;
  /** Since when the session waits for an answer from outside: `askedAt(state)`. */
  readonly askedAt: number | null;
  /** Inbox messages that these events account for; they leave the inbox in the same transaction. */
  readonly consume?: readonly string[];
  /** Message ids to mark as taken without a message. If an id is taken already, the commit is refused as `duplicate`. */
  readonly record?: readonly string[];
  /**
   * All signals for which the session waits after these events: `signalWaits(state)`. Absent: the same as before.
   *
   * A wait that is new gets the oldest kept signal with its key that was sent before the wait ends and that its call has not had: as a
   * message, in the same transaction. If the message of a wait that is over is still in the inbox, it is taken back, and the signal is
   * there for the next wait of the call. A store without `signals` ignores this.
   */
  readonly waits?: readonly CommittedWait[];
  /**
   * Written for each destination that the store knows, in the same transaction. A store without `notices` ignores this.
   */
  readonly notices?: readonly CommittedNotice[];
  /**
   * Gives the lease back in the same transaction; refused as `inbox_not_empty` if messages would be left in the inbox, or if a new wait
   * would get a signal at once.
   */
  readonly release?: boolean;
};

/** What became of a commit. All but `ok` wrote nothing. */
export type CommitResult =
  /** It is durable. */
  | { readonly type: "ok"; readonly seq: number }
  /** Nothing was written; try again. */
  | { readonly type: "busy" }
  /** Another commit came first: the log ends at `seq`, not at `expectedSeq`. */
  | { readonly type: "conflict"; readonly seq: number }
  /** The lease is gone: another holder claimed the session, or the lease was released. */
  | { readonly type: "fenced" }
  /** A message id is taken already. Nothing was written. */
  | {
      readonly type: "duplicate";
      /** The message id that is taken already. */
      readonly id: string;
    }
  /** The lease cannot be given back: messages would be left. Nothing was written. */
  | { readonly type: "inbox_not_empty" };

/** What takes content out of a session: the entries that say so, and what is different in the session from then on. */
export type Redaction = {
  /** Writes the entries that record the redaction, without `release`. */
  readonly commit: Commit;
  /** Entries that replace those of the same number, in ascending order. */
  readonly entries: readonly Entry[];
  /** Returns a kept state without the content; the same object if it has none of it. It is called with each state that is kept. */
  readonly state: (state: State) => State;
  /** Whether a blob of the session is removed. It is called with each blob. */
  readonly removes: (hash: string, bytes: Uint8Array) => boolean;
};

/** Whether a lease was given back. */
export type ReleaseResult =
  /** The lease is given back. */
  | { readonly type: "released" }
  /** The lease was gone already. */
  | { readonly type: "fenced" }
  /** Nothing was written; try again. */
  | { readonly type: "busy" };

/** Whether a message is in the inbox. */
export type PostResult =
  /** The message is in the inbox. */
  | { readonly type: "posted" }
  /** A message with this id was taken before. */
  | { readonly type: "duplicate" };

/** One session as lists show it. Times are epoch milliseconds. */
export type SessionSummary = {
  readonly sessionId: string;
  /** Null if the log is empty, or if a later version of Pawl wrote it. */
  readonly info: SessionInfo | null;
  /** `idle` if the log is empty. */
  readonly status: Status;
  /** The coarse state of the session. */
  readonly activity: Activity;
  /** The number of the last entry; 0 if the log is empty. */
  readonly seq: number;
  /** When the session was made, in epoch milliseconds. */
  readonly createdAt: number;
  /** The time of the last commit with events; `createdAt` before the first. */
  readonly updatedAt: number;
  /** The number of messages in the inbox. */
  readonly inbox: number;
  /** The holder of the lease, also if the lease has run out; null if nobody holds the session. */
  readonly holder: Holder | null;
  /** The newest run, the open questions and whether there are child sessions. Present only if `ListOptions.overview` is set. */
  readonly overview?: SessionOverview & {
    /** Whether the session started other sessions. */
    readonly hasChildren: boolean;
  };
};

/** Filters and one page of a list. The order is newest first by `updatedAt`, then by id. A filter that is left out lets all pass. */
export type ListOptions = {
  /** Only sessions with one of these states. */
  readonly status?: readonly Status[];
  /** Only sessions of the agent with this name. */
  readonly agent?: string;
  /** Only sessions that this session started; null: only sessions without a parent. */
  readonly parent?: string | null;
  /** Only sessions whose agent works in this folder (`SessionInfo.root`). */
  readonly root?: string;
  /** Only sessions with this text in their id or their title, in upper or lower case. */
  readonly text?: string;
  /** Whether each summary includes its `overview`. Costs one query for a page, however long the logs are. Default: false. */
  readonly overview?: boolean;
  /** At most this many; not limited unless set. */
  readonly limit?: number;
  /** Only sessions after this position in the order. */
  readonly after?: {
    /** The `updatedAt` of the last session before. */
    readonly updatedAt: number;
    readonly sessionId: string;
  };
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

/** One page of the sessions that wait for an answer. */
export type AskingOptions = {
  /** At most this many, those that have waited longest first: by `askedAt`, then by id. */
  readonly limit?: number;
  /** Only sessions after this position in the order. */
  readonly after?: { readonly askedAt: number; readonly sessionId: string };
};

/** One page of the ids of messages. */
export type MessageIdsOptions = {
  /** At most this many. */
  readonly limit: number;
  /** Only ids after this one. */
  readonly after?: string;
};

/** A state, and the number of the entry that it follows. */
export type StateAt = { readonly seq: number; readonly state: State };

/** One damage that `Store.verify` found. */
export type StoreProblem = {
  readonly sessionId: string | null;
  /** What is damaged. */
  readonly what: string;
};

/**
 * A change of a session's log or inbox; without `in`, of either or both. It may arrive late or twice. A `gap` says that the
 * store was cut off from what others write: any session may have changed, so a listener looks at all that it knows.
 * Whether a listener can rely on changes alone: `Store.tellsAllChanges`.
 */
export type StoreChange =
  | {
      readonly sessionId: string;
      /** Where the change is. */
      readonly in?: "log" | "inbox";
      readonly gap?: never;
    }
  | {
      /** Changes may have been missed. */
      readonly gap: true;
      readonly sessionId?: never;
      readonly in?: never;
    };

/** Keeps sessions: their logs, inboxes and blobs. */
export interface Store {
  /** Takes the lease of a session, with the next epoch. Creates the session's row if none exists. */
  claim(sessionId: string, options: ClaimOptions): Promise<ClaimResult>;
  /** Extends the leases that are still held; returns the ids of the sessions whose lease is lost. */
  renew(leases: readonly Lease[], now: number, leaseMs: number): Promise<readonly string[]>;
  /** Gives a lease up, whatever is in the inbox: a holder that stops takes no more messages, and the session is due for others. */
  release(lease: Lease): Promise<ReleaseResult>;
  /** Writes one row under the lease: all of it or nothing. */
  commit(lease: Lease, commit: Commit): Promise<CommitResult>;
  /**
   * Replaces content of a session under its lease, and removes blobs: all of it or nothing, in one transaction with the commit that
   * records it. When it resolves with `ok`, no read gives the former content, and the store has overwritten it as far as it can.
   * The documentation of a store says what may be left, for example in backups.
   */
  redact(lease: Lease, redaction: Redaction): Promise<CommitResult>;
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
  /**
   * The ids of all messages that were ever taken in this session, consumed ones too: in the order of their bytes, those after `after`,
   * at most `limit`. A copy of a session needs them, because an id is taken for ever.
   */
  messageIds(sessionId: string, options: MessageIdsOptions): Promise<readonly string[]>;
  /** Lists sessions, the newest first. */
  list(options?: ListOptions): Promise<readonly SessionSummary[]>;
  /** What `list` says of this session; null if there is no such session. Costs the same however long the log is. */
  describe(sessionId: string): Promise<SessionSummary | null>;
  /** Sessions that wait for an answer from outside. A page costs the same however many sessions there are. */
  asking(options?: AskingOptions): Promise<readonly AskingSession[]>;
  /** Sessions that nobody holds and that have a message in the inbox or a due time that has passed; the longest due first. */
  due(now: number, limit: number, isDead?: (holder: Holder) => boolean): Promise<readonly string[]>;
  /**
   * Calls back when a session's log or inbox changes, by this process or another; returns a function that stops it. When the
   * store is closed, the listeners are told of a gap, so that they learn it at their next look.
   */
  watch(listener: (change: StoreChange) => void): () => void;
  /**
   * True: each commit and each message that comes while somebody watches is told in a bounded time, or a gap is. Then nobody
   * needs a timer to follow a session. Otherwise a change is a hint that may be missed, and followers look at their session
   * now and then. A store that wraps another one, and keeps changes back, must not say true. Default: false.
   */
  readonly tellsAllChanges?: boolean;
  /** Keeps bytes for a session under their SHA-256 (hex), and returns it. */
  putBlob(sessionId: string, bytes: Uint8Array): Promise<string>;
  /** The bytes of a blob; null if the session has none of this hash. */
  getBlob(sessionId: string, hash: string): Promise<Uint8Array | null>;
  /** Removes a session, its log, inbox and blobs. Unless `force`, it is refused as `session_active` while held or while a run is active. */
  delete(
    sessionId: string,
    options: {
      /** The present time, in epoch milliseconds. */
      readonly now: number;
      /** Whether to delete it although it is held or a run is active. Default: false. */
      readonly force?: boolean;
    },
  ): Promise<boolean>;
  /** Signals for waiting tools. Without it, tools can sleep but cannot wait for signals. */
  readonly signals?: SignalStore;
  /** Schedules and delayed messages. Nothing fires them yet: they are reserved for the scheduler. */
  readonly schedules?: ScheduleStore;
  /** Notices that are to be delivered. Without it, workers deliver none. */
  readonly notices?: NoticeStore;
  /** Looks for damage: gaps, rows that do not parse, blobs that do not match their hash. */
  verify(sessionId?: string): Promise<readonly StoreProblem[]>;
  /** Ends the work of the store. What is asked of it afterwards is refused as `store_closed`. */
  close(): Promise<void>;
}
