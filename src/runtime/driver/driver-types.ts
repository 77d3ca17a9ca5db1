/**
 * The types of a driver.
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
  readonly agent: CompiledAgent;
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
    /** Lets effects commit events before they settle. */
    readonly recorder: Recorder;
    /** The effects in flight, by key. */
    readonly jobs: Map<string, Job>;
    /** The message checks in progress; a call may have several. Null if there are none. */
    checks: readonly MessageCheck[] | null;
    /** The effects that a state wants, computed once per state. */
    wanted: { readonly in: State; readonly effects: readonly Effect[] };
    pending: PendingCommit[];
    /** The commits in progress; null if there are none. Resolves when the store has replied, even if the driver closes before. */
    flushing: Promise<void> | null;
    closed: boolean;
    /** Why it closed; null before that. */
    closing: Closing | null;
    /** Set while draining. Called when no effect is running. */
    draining: (() => void) | null;
    /** Called when the driver begins to drain. Null if nothing listens. */
    onDraining: Set<() => void> | null;
    /** Whether the lease is being released: another process may claim it before the store has replied. */
    released: boolean;
  };

export type Job = {
  readonly cancellation: Cancellation;
  readonly sleeps?: true;
  /** The event that the effect will settle with, if it began before the commit that wants it. */
  readonly early?: Promise<EventBody | undefined>;
  /** Set if the effect will not settle in this process. */
  isDetached?: true;
};

/** A check of a message, in progress. */
export type MessageCheck = {
  /** The call that the message refers to. */
  readonly callKey: string;
  readonly cancellation: Cancellation;
  /** Resolves when the message is about to be committed. */
  readonly done: Promise<void>;
};

/** How a check changes its message. */
export type MessageChange = {
  /** The message that replaces the original. */
  readonly message?: InboxMessage;
  /** Returns the events to commit in place of the message's own. */
  readonly events: (given: readonly EventBody[], state: State) => readonly EventBody[];
};
