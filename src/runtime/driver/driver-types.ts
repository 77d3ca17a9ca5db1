/**
 * What a driver is made of.
 */
import type { Effect } from "../../core/machine/effect.js";
import type { EventBody } from "../../core/machine/event.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import type { State } from "../../core/machine/state.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import type { Cancellation } from "../lib/cancellation.js";
import type { Closing } from "../log/closing.js";
import type { CommittedEntry } from "../log/committed-entry.js";
import type { KnownQuestions } from "../log/open-questions.js";
import type { Subscribers } from "../subscribers/broadcast.js";
import type { RunSignals } from "../subscribers/run-signals.js";
import type { LeaseHold, ProcessMemory, Recorder } from "../work/effect-context.js";
import type { Committer } from "./committer.js";
import type { InboxReads } from "./inbox-reads.js";
import type { LeaseKeeper } from "./lease-keeper.js";
import type { PendingCommit } from "./pending-commit.js";

export type DriverOptions = Omit<Committer, "hold"> & {
  readonly parts: CompiledAgent;
  readonly keeper: LeaseKeeper;
  readonly transcript: Transcript;
  readonly memory: ProcessMemory;
  /** The questions of child sessions that public events show. */
  readonly questions: KnownQuestions;
  readonly subscribers: Subscribers & RunSignals;
  /** The committed state. */
  state: State;
  /** Called after each commit, with its entries in order. */
  readonly onCommitted: (steps: readonly CommittedEntry[]) => void;
  readonly onClosed: (closing: Closing) => void;
  /** Called if an effect settles after the driver has closed. */
  readonly onLate: (event: EventBody) => void;
};

export type Driver = Omit<DriverOptions, "keeper"> &
  InboxReads & {
    readonly hold: LeaseHold;
    /** How effects commit something before they settle. */
    readonly recorder: Recorder;
    /** The effects in flight, by key. */
    readonly jobs: Map<string, Job>;
    /** Checks of messages that are under way; a call may have several. Null if there are none. */
    checks: readonly MessageCheck[] | null;
    /** The effects that a state wants, computed once per state. */
    wanted: { readonly in: State; readonly effects: readonly Effect[] };
    pending: PendingCommit[];
    /** The commits under way, null if there are none. It resolves when the store has answered, also if the driver closes before. */
    flushing: Promise<void> | null;
    closed: boolean;
    /** Why it closed; null before that. */
    closing: Closing | null;
    /** Set during a shutdown. Called when no effect runs any more. */
    draining: (() => void) | null;
    /** Whether the lease is being given back: another process may have it before the store has answered. */
    released: boolean;
  };

export type Job = {
  readonly cancellation: Cancellation;
  readonly sleeps?: true;
  /** What the effect will settle with, if it began before the commit that wants it. */
  readonly early?: Promise<EventBody | undefined>;
  /** It will not settle in this process. */
  isDetached?: true;
};

/** The check of a message that is under way. */
export type MessageCheck = {
  /** The call that the message is about. */
  readonly callKey: string;
  readonly cancellation: Cancellation;
  /** Resolves when the message is about to be committed. */
  readonly done: Promise<void>;
};

/** What the check of a message made of it. */
export type MessageChange = {
  /** The message that is taken in its place. */
  readonly message?: InboxMessage;
  /** The events that are committed in place of those that the message gives. */
  readonly events: (given: readonly EventBody[], state: State) => readonly EventBody[];
};
