/**
 * The store port. Memory, SQLite and PostgreSQL keep these rules; the conformance suite of `pawl/testing` checks them.
 *
 * 1. One writer: only the holder of a session's lease commits. The fence is checked first, then the sequence.
 * 2. A commit is one row: its events and the state after them. When `commit` resolves with `ok`, it is durable.
 * 3. Everyone else posts to the inbox. A message id is accepted once per session, for ever, even after the message was consumed.
 * 4. Only a higher epoch or a release fences, never the clock: a holder whose lease has expired can write until another process claims.
 * 5. The log is gap-free from 1. Reads return exactly what was written, including NUL and lone surrogates; anything else is refused at the
 *    write. Only `redact` changes committed content, and it never changes a number.
 * 6. Reads validate what they find; damage is a `PawlError` with code `store_corrupt`.
 * 7. A signal reaches each wait that is open for its key, and each that begins while it is kept: `waits` of a commit and `signals.send` see
 *    each other's rows, whichever comes first. A store may omit `signals`; callers then get `store_lacks`.
 * 8. The caller passes all times (epoch milliseconds). A store that several machines use may keep lease time itself, with one clock for all
 *    callers: in `claim`, `renew`, `due` and `delete`. Everything else uses the time that is passed in.
 */
import type { Entry, Event } from "../core/machine/event.js";
import type { InboxMessage } from "../core/machine/inbox.js";
import type { SignalWait } from "../core/machine/signal-waits.js";
import type { SessionInfo, State, Status } from "../core/machine/state.js";
import type { SessionOverview } from "../core/view/session-overview.js";
import type { CommittedNotice, NoticeStore } from "./notice-store.js";
import type { ScheduleStore } from "./schedule-store.js";
import type { SignalStore } from "./signal.js";

/** A wait for a signal, as it is passed in a commit. */
export type CommittedWait = SignalWait & {
  /**
   * The id of the message that delivered a signal to this wait, if the session is imported from a store where the wait had already received
   * its signal. The wait then gets no other signal.
   */
  readonly given?: string;
};

/** A process that holds leases. A dead holder on this host can be replaced at once. */
export type Holder = {
  /** The id of the process. */
  readonly id: string;
  /** The name of its host. */
  readonly host: string;
  /** Its process id on the host. */
  readonly pid: number;
  readonly startedAt: number;
  /** Where other processes can reach this one, for example a URL. */
  readonly address?: string;
  /** Identifies one boot of the machine, to distinguish processes of an earlier boot from those of this one. */
  readonly bootId?: string;
};

/** The right to write a session, for a limited time. Only the lease with the highest `epoch` counts. */
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
  /** The length of the lease. A lease that ends later than `now` plus twice its own length is void, because a clock jumped. */
  readonly leaseMs: number;
  /** Returns whether a holder on this host is known to be dead; it is then replaced at once. */
  readonly isDead?: (holder: Holder) => boolean;
};

/** The outcome of a claim. */
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

/** One commit: events, the state after them, and the changes to the inbox and the lease. */
export type Commit = {
  /** The number of the last entry before this commit. */
  readonly expectedSeq: number;
  /** The commit's events, in order; the first gets `expectedSeq` + 1. */
  readonly events: readonly Event[];
  /** The state after the last event. */
  readonly state: State;
  /** The commit's time; the session's `updatedAt`. */
  readonly at: number;
  /** The coarse state of the session after the events. */
  readonly activity: Activity;
  /** When the session needs a driver even without a new message: `dueAt(state)`. */
  readonly dueAt: number | null;
  /** Since when the session has been waiting for an answer from outside: `askedAt(state)`. */
  readonly askedAt: number | null;
  /** Inbox messages that these events account for. They leave the inbox in the same transaction. */
  readonly consume?: readonly string[];
  /** Message ids to mark as taken without a message. If one is already taken, the commit is refused as `duplicate`. */
  readonly record?: readonly string[];
  /**
   * All signals for which the session waits after these events: `signalWaits(state)`. Absent: unchanged.
   *
   * A new wait gets the oldest kept signal with its key that was sent before the wait ends and that its call has not had: as a message, in
   * the same transaction. If the message of a wait that is over is still in the inbox, it is taken back, and the signal is available to the
   * call's next wait. A store without `signals` ignores this.
   */
  readonly waits?: readonly CommittedWait[];
  /** Written for each destination that the store knows, in the same transaction. A store without `notices` ignores this. */
  readonly notices?: readonly CommittedNotice[];
  /**
   * Releases the lease in the same transaction. Refused as `inbox_not_empty` if messages would be left in the inbox, or if a new wait would
   * get a signal at once.
   */
  readonly release?: boolean;
};

/** The outcome of a commit. All outcomes but `ok` wrote nothing. */
export type CommitResult =
  /** It is durable. */
  | { readonly type: "ok"; readonly seq: number }
  /** Nothing was written; retry. */
  | { readonly type: "busy" }
  /** Another commit came first: the log ends at `seq`, not at `expectedSeq`. */
  | { readonly type: "conflict"; readonly seq: number }
  /** The lease is gone: another holder claimed the session, or the lease was released. */
  | { readonly type: "fenced" }
  /** A message id is already taken. Nothing was written. */
  | {
      readonly type: "duplicate";
      /** The message id that is already taken. */
      readonly id: string;
    }
  /** The lease cannot be released, because messages would be left. Nothing was written. */
  | { readonly type: "inbox_not_empty" };

/** Removes content from a session: the entries that record the removal, and the changes that it makes. */
export type Redaction = {
  /** Writes the entries that record the redaction, without `release`. */
  readonly commit: Commit;
  /** Entries that replace those of the same number, in ascending order. */
  readonly entries: readonly Entry[];
  /** Returns a stored state without the content; the same object if it contains none of it. Called with each stored state. */
  readonly state: (state: State) => State;
  /** Whether a blob of the session is to be removed. Called with each blob. */
  readonly removes: (hash: string, bytes: Uint8Array) => boolean;
};

/** The outcome of a release. */
export type ReleaseResult =
  /** The lease was released. */
  | { readonly type: "released" }
  /** The lease was already gone. */
  | { readonly type: "fenced" }
  /** Nothing was written; retry. */
  | { readonly type: "busy" };

/** The outcome of a post. */
export type PostResult =
  /** The message is in the inbox. */
  | { readonly type: "posted" }
  /** A message with this id was accepted before. */
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
  /** When the session was created, in epoch milliseconds. */
  readonly createdAt: number;
  /** The time of the last commit with events; `createdAt` before the first. */
  readonly updatedAt: number;
  /** The number of messages in the inbox. */
  readonly inbox: number;
  /** The holder of the lease, even if the lease has expired; null if the session is not held. */
  readonly holder: Holder | null;
  /** The newest run, the open questions, and whether there are child sessions. Present only if `ListOptions.overview` is set. */
  readonly overview?: SessionOverview & {
    /** Whether the session started other sessions. */
    readonly hasChildren: boolean;
  };
};

/** Filters and one page of a list, sorted newest first by `updatedAt`, then by id. Filters that are left out match every session. */
export type ListOptions = {
  /** Only sessions in one of these states. */
  readonly status?: readonly Status[];
  /** Only sessions of the agent with this name. */
  readonly agent?: string;
  /** Only sessions that this session started; null: only sessions without a parent. */
  readonly parent?: string | null;
  /** Only sessions whose agent works in this folder (`SessionInfo.root`). */
  readonly root?: string;
  /** Only sessions whose id or title contains this text, ignoring case. */
  readonly text?: string;
  /** Whether each summary includes its `overview`. Costs one query per page, however long the logs are. Default: false. */
  readonly overview?: boolean;
  /** The maximum number of sessions. Default: no limit. */
  readonly limit?: number;
  /** Only sessions after this position in the order. */
  readonly after?: {
    /** The `updatedAt` of the last session of the previous page. */
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
  /** The maximum number of sessions, those that have waited longest first: by `askedAt`, then by id. */
  readonly limit?: number;
  /** Only sessions after this position in the order. */
  readonly after?: { readonly askedAt: number; readonly sessionId: string };
};

/** One page of message ids. */
export type MessageIdsOptions = {
  /** The maximum number of ids. */
  readonly limit: number;
  /** Only ids after this one. */
  readonly after?: string;
};

/** A state, and the number of the entry that it follows. */
export type StateAt = { readonly seq: number; readonly state: State };

/** A problem that `Store.verify` found. */
export type StoreProblem = {
  readonly sessionId: string | null;
  /** A description of the damage. */
  readonly what: string;
};

/**
 * A change to a session's log or inbox; without `in`, to either or both. It may arrive late or twice. A `gap` means that the store lost its
 * connection to the changes of other writers: any session may have changed, so a listener checks all sessions that it knows.
 * `Store.tellsAllChanges` says whether a listener can rely on changes alone.
 */
export type StoreChange =
  | {
      readonly sessionId: string;
      /** Where the change was made. */
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
  /**
   * Releases a lease, whatever is in the inbox. A holder that stops takes no more messages, and the session becomes due for other
   * processes.
   */
  release(lease: Lease): Promise<ReleaseResult>;
  /** Writes one row under the lease, atomically. */
  commit(lease: Lease, commit: Commit): Promise<CommitResult>;
  /**
   * Replaces content of a session under its lease and removes blobs, in one transaction with the commit that records this. When it resolves
   * with `ok`, no read returns the former content, and the store has overwritten it as far as it can. The documentation of a store says
   * what may be left, for example in backups.
   */
  redact(lease: Lease, redaction: Redaction): Promise<CommitResult>;
  /** The last row; null if the log is empty. */
  load(sessionId: string): Promise<StateAt | null>;
  /**
   * A row at or before entry `seq`, onto whose state the caller folds the entries between. A store may keep only some of the states, but
   * the state that it returns is at most 64 entries older than the last row at or before `seq`. Null only if no such row exists. For the
   * last entry or later, this is the last row.
   */
  loadAt(sessionId: string, seq: number): Promise<StateAt | null>;
  /**
   * Entries after `after` (0: all), in order, at most `limit` (default: all). Fewer than `limit` are returned only at the end of the log.
   */
  read(sessionId: string, after?: number, limit?: number): Promise<readonly Entry[]>;
  /** Adds a message to the inbox, without a lease or a sequence number. Creates the session's row if none exists. */
  post(sessionId: string, message: InboxMessage): Promise<PostResult>;
  /** The messages that have not been consumed, in the order in which they were posted. */
  inbox(sessionId: string): Promise<readonly InboxMessage[]>;
  /**
   * The ids of all messages ever accepted in this session, including consumed ones: in byte order, those after `after`, at most `limit`. A
   * copy of a session needs them, because an id is taken for ever.
   */
  messageIds(sessionId: string, options: MessageIdsOptions): Promise<readonly string[]>;
  /** Lists sessions, the newest first. */
  list(options?: ListOptions): Promise<readonly SessionSummary[]>;
  /** The session's entry in `list`; null if the session does not exist. The cost does not depend on the length of the log. */
  describe(sessionId: string): Promise<SessionSummary | null>;
  /** The sessions that wait for an answer from outside. The cost of a page does not depend on the number of sessions. */
  asking(options?: AskingOptions): Promise<readonly AskingSession[]>;
  /** Sessions that are not held and have a message in the inbox or a due time that has passed; the longest due first. */
  due(now: number, limit: number, isDead?: (holder: Holder) => boolean): Promise<readonly string[]>;
  /**
   * Calls back when a session's log or inbox changes, in this process or another. Returns a function that stops the calls. When the store
   * is closed, the listeners get a gap, so that they notice at their next read.
   */
  watch(listener: (change: StoreChange) => void): () => void;
  /**
   * True: while at least one listener watches, each commit, message and deletion is reported in a bounded time, or a gap is. Followers of a
   * session then need no timer. Otherwise a change is only a hint that may be missed, and followers also poll their session. A store that
   * wraps another one and holds changes back must not set this to true. Default: false.
   */
  readonly tellsAllChanges?: boolean;
  /** Stores bytes for a session under their SHA-256, and returns it in hexadecimal. */
  putBlob(sessionId: string, bytes: Uint8Array): Promise<string>;
  /** The bytes of a blob; null if the session has no blob with this hash. */
  getBlob(sessionId: string, hash: string): Promise<Uint8Array | null>;
  /**
   * Deletes a session with its log, inbox and blobs. Unless `force` is set, this is refused as `session_active` while the session is held
   * or a run is active. No other session is notified: `deleteSession` also reports to a parent that waits for the session.
   */
  delete(
    sessionId: string,
    options: {
      /** The present time, in epoch milliseconds. */
      readonly now: number;
      /** Whether to delete the session even if it is held or a run is active. Default: false. */
      readonly force?: boolean;
    },
  ): Promise<boolean>;
  /** Signals for waiting tools. Without them, tools can sleep but cannot wait for signals. */
  readonly signals?: SignalStore;
  /** Schedules and delayed messages, which workers fire. Callers get `store_lacks` if a store omits this. */
  readonly schedules?: ScheduleStore;
  /** Notices to be delivered. Without them, workers deliver none. */
  readonly notices?: NoticeStore;
  /** Checks for damage: gaps, rows that do not parse, blobs that do not match their hash. */
  verify(sessionId?: string): Promise<readonly StoreProblem[]>;
  /** Closes the store. Calls made afterwards are refused as `store_closed`. */
  close(): Promise<void>;
}
