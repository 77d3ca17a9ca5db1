/**
 * `pawl/store`: the types of a store, for authors of stores.
 */
export type { Entry, Event, InboxMessage, State } from "./core/index.js";
export type { CommittedNotice, DestinationRow, NoticeChange, NoticeRow, NoticeStore } from "./ports/notice-store.js";
export type {
  PostedRun,
  PutResult,
  PutRow,
  ScheduleRow,
  ScheduleStore,
  SlotFiring,
  SlotRow,
} from "./ports/schedule-store.js";
export type { Signal, SignalResult, SignalStore } from "./ports/signal.js";
export type {
  Activity,
  AskingOptions,
  AskingSession,
  ClaimOptions,
  ClaimResult,
  Commit,
  CommitResult,
  CommittedWait,
  Holder,
  Lease,
  ListOptions,
  MessageIdsOptions,
  PostResult,
  Redaction,
  ReleaseResult,
  SessionSummary,
  StateAt,
  Store,
  StoreChange,
  StoreProblem,
} from "./ports/store.js";
