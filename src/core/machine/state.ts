/**
 * The state of a session: the durable program counter of its loop.
 *
 * 1. State is plain JSON, small and total: log positions (`seq`), counters, limits and keys. It holds no message content except the
 *    session's title and the messages of faults.
 * 2. A state and the events that led to it are written in one row. Recovery reads the last row and needs nothing else.
 * 3. The work that should be in flight follows from the state alone (`effects`), and so do the next events (`consequences`).
 *
 * Fields marked as reserved belong to the format (docs/log-format.md); this version does not write them.
 */
import { deepFreeze } from "../data/freeze.js";
import type { Fault, Usage } from "../data/message.js";
import type { ModelSettings } from "../data/model-settings.js";
import type { Reason } from "../data/reasons.js";
import { type BackgroundChild, type Call, isHeldOutside, isParked, openQuestionsOf } from "./call-state.js";
import type { RunLimits } from "./run-limits.js";
import type { SessionInfo } from "./session-info.js";

export {
  asksOutside,
  type BackgroundChild,
  type Call,
  type CallOutcome,
  type CallPolicy,
  type ChildSleep,
  type HeldQuestion,
  isHeldOutside,
  isParked,
  maxOpenQuestions,
  type OpenQuestion,
  openQuestionsOf,
  questionOf,
  type Recover,
  type WaitKind,
} from "./call-state.js";
export type { SessionBinding, SessionInfo } from "./session-info.js";

/** The newest format of logs and states. Each row of a store names the format of its state. */
export const formatVersion = 3;

/**
 * The format in which a session begins. A session moves to a newer format only with the first entry that an older reader would
 * misunderstand, so older versions of Pawl can continue every other session.
 */
export const initialFormat = 2;

/** The oldest format that can be read. Format 1 came before the first release and was never supported. */
export const oldestFormat = 2;

/** An input that is queued. `seq` is the entry that holds its messages. */
export type Queued =
  | {
      /** An input that joins the run under way. */
      readonly kind: "steer";
      readonly seq: number;
    }
  | ({
      /** A run that waits for its turn. */
      readonly kind: "run";
      readonly seq: number;
    } & QueuedRun);

/** A run that is queued. `agent` is the agent that it begins with, if it names one. */
type QueuedRun = {
  readonly runId: string;
  readonly limits: RunLimits;
  readonly agent?: string;
  /** The run replaces the run under way: it is the next run, even after an abort. */
  readonly interrupts?: true;
  /** The usage of the child session whose end is the request. */
  readonly childUsage?: Usage;
};

/** Why a run is stopping early, and until when: an abort, a limit, a failure, or a refusal that stops the run. */
export type Stopping = {
  readonly reason: Reason;
  /** When calls that are still running are abandoned, in epoch milliseconds. */
  readonly until: number;
  /** The length of the grace period, in milliseconds. */
  readonly graceMs: number;
  readonly fault?: Fault;
};

/** The failed attempts of one model call with one model. The retry policy counts them across restarts. */
export type Failing = {
  /** When the first of them began, in epoch milliseconds. */
  readonly since: number;
  /** How many attempts failed. */
  readonly attempts: number;
  /** How many of the failures were empty answers. */
  readonly empty: number;
};

/** The counters of a run. */
export type Counters = {
  /** Model calls that were committed. */
  readonly totalSteps: number;
  /** Failed attempts. */
  readonly errorCount: number;
  /** Compactions. A compaction that did not shrink the conversation counts twice. */
  readonly compactionAttempts: number;
  /** How often a model that reached its output limit was asked to continue. */
  readonly continuations: number;
  /** How often `beforeStop` hooks have continued the run. */
  readonly stopPreventions: number;
  /** Answers that did not fit the requested schema and were sent back. */
  readonly outputRetries: number;
  /** How often the run was handed over to another agent; absent if never. */
  readonly handoffs?: number;
  /**
   * The child sessions that the run has started. A run that the end of a child begins continues the count of the last run. Absent if there
   * are none, or if they are not limited.
   */
  readonly children?: number;
};

type SessionState = {
  /**
   * The number of the format: 3 after the session's first sleep, wait for a signal, child in the background or run whose id its sender chose,
   * otherwise 2.
   */
  readonly v: typeof initialFormat | typeof formatVersion;
  /** The last entry folded into this state. */
  readonly seq: number;
  /** The binding of the session to its agent; null before its first entry. */
  readonly session: SessionInfo | null;
  /** Queued inputs, oldest first. */
  readonly queue: readonly Queued[];
  /** Calls that the machine abandoned. Their results may still arrive late. */
  readonly interrupted: readonly string[];
  /**
   * The part of the log that a process reads before it continues. `readFrom` is its first entry, and `runStartSeq` the start of the run to
   * which that entry belongs. `compactedSeq` is the compaction that replaces everything earlier, and `dataBlob` the session's data then.
   */
  readonly context: {
    /** The first entry to read. */
    readonly readFrom: number;
    /** The entry that started the run to which `readFrom` belongs. */
    readonly runStartSeq?: number;
    /** The entry of the last compaction. */
    readonly compactedSeq?: number;
    /** The blob with the session's data as of the compaction. */
    readonly dataBlob?: string;
  };
  /**
   * The entry of a child session after which it started or stopped waiting for a person, or after which its open questions changed. Present
   * until the parent has been told.
   */
  readonly parentUntold?: number;
  /**
   * The entry in which a person requested a compaction. Present until the next compaction has ended. `dropped` says why the compaction is
   * cancelled.
   */
  readonly compactionAsked?: {
    readonly seq: number;
    /** Why the compaction is cancelled. */
    readonly dropped?: "aborted" | "crash_loop";
  };
  /** The child sessions that work in the background, oldest first. Absent if there are none. */
  readonly background?: readonly BackgroundChild[];
  /** The last entry that redacted content. Anything that a reader derived from earlier entries before that is void. */
  readonly redactedSeq?: number;
  /** Reserved: changes that a person made to the session. */
  readonly changes?: {
    readonly model?: string;
    /** The settings; null means the agent's settings. */
    readonly settings?: ModelSettings | null;
    readonly limits?: Partial<RunLimits>;
  };
  /** Reserved: processes that outlive their calls. */
  readonly processes?: readonly {
    /** The id of the process. */
    readonly processId: string;
    readonly callKey: string;
    /** Its process id on its host. */
    readonly pid: number;
    readonly startedAt: number;
  }[];
};

/** The fields that every state of an active run has. */
export type RunState = SessionState & {
  readonly runId: string;
  readonly startedAt: number;
  /** The entry that started the run. */
  readonly startSeq: number;
  readonly limits: RunLimits;
  /** The current step, from 1. */
  readonly modelCallIndex: number;
  /** The number of attempts of the current step's model call that have begun. A number is never reused, even after a restart. */
  readonly attempt: number;
  /** The counters of the run. */
  readonly counters: Counters;
  readonly usage: Usage;
  /** Restarts since the last progress. */
  readonly restarts: number;
  /** Milliseconds spent waiting for a person, a time or a signal. */
  readonly waitedMs: number;
  /** The model to use: 0 is the agent's model, n is its n-th fallback. The run does not return to an earlier model. */
  readonly fallback: number;
  /** The failed attempts of the current step's model call with the current model; null if there are none. */
  readonly failing: Failing | null;
  /** Compactions since the model's last answer. A compaction that does not shrink the conversation counts twice. */
  readonly compactionsInRow: number;
  /** Present while the run is stopping early. */
  readonly stopping: Stopping | null;
  /** The agent that takes over at the end of this step, and the call that asked for it. */
  readonly handoff?: {
    /** The agent that takes over. */
    readonly to: string;
    readonly callKey: string;
  };
};

/**
 * Why a model is called: for a step; to continue after the output limit; to continue after its provider paused; to remind it to call the
 * done tool; or for the final summary.
 */
export type Purpose = "step" | "continue" | "unpause" | "remind" | "summary";

/** Why a message was cut. `unclear`: its finish reason is unknown. The calls of a cut message are not run. */
export type Cut = "length" | "context" | "content-filter" | "error" | "unclear";

/** No run has begun yet. */
export type Idle = SessionState & { readonly status: "idle" };
/** The next model call or the end of the run is being prepared. */
export type Preparing = RunState & {
  readonly status: "preparing";
} & (
    | {
        /** The next model call. */
        readonly for: "step";
        readonly purpose: Purpose;
      }
    | {
        /** A compaction before the next model call. */
        readonly for: "compaction";
        readonly purpose: Purpose;
      }
    | {
        /** The handoff to another agent. */
        readonly for: "handoff";
        readonly purpose: Exclude<Purpose, "summary">;
      }
    | {
        /** The end of the run. */
        readonly for: "finish";
        readonly reason: Reason;
      }
  );
/** A model is being called, or the next attempt is waiting. */
export type ModelRunning = RunState & {
  readonly status: "model_running";
  readonly purpose: Purpose;
  /** The model sees the log up to this entry, the same in each attempt. */
  readonly contextSeq: number;
  /** The name of the model chosen for this call. Removed when the retry policy gives that model up. */
  readonly model?: string;
  /** The delay before the next attempt; null if there is none. */
  readonly backoff: {
    /** When the next attempt starts, in epoch milliseconds. */
    readonly until: number;
    /** The length of the delay, in milliseconds. */
    readonly ms: number;
  } | null;
};
/** Calls of a step are being decided, are running, or wait for something other than a person. */
export type ToolRunning = RunState & {
  readonly status: "tool_running";
  /** The calls of the step, in order. */
  readonly calls: readonly Call[];
  /** Why the message of the step was cut, so that its calls are not run; null if it is complete. */
  readonly cut: Cut | null;
  /** The entry of the call that signalled done. */
  readonly doneSeq: number | null;
  /** Set if the provider has not finished its turn and waits for the results of these calls. */
  readonly paused?: boolean;
  /** Since when every open call has been sleeping or waiting for a signal, in epoch milliseconds. The run's clock is stopped. */
  readonly parkedSince?: number;
};
/** Every open call waits for a person or for a result from outside. */
export type AwaitingHuman = RunState & {
  readonly status: "awaiting_human";
  /** The calls of the step, in order. */
  readonly calls: readonly Call[];
  /** When the wait began, in epoch milliseconds. */
  readonly since: number;
  /** Why the message of the step was cut; null if it is complete. */
  readonly cut: Cut | null;
  /** The entry of the result that signalled done; null if there is none. */
  readonly doneSeq: number | null;
  /** Set if the provider paused the message and is to continue it. */
  readonly paused?: boolean;
};
type Ended = RunState & {
  readonly reason: Reason;
  /** Set until the parent session has been notified of the end. */
  readonly parentNotificationPending?: boolean;
  /** Set until the `afterRun` hooks have been called. */
  readonly afterRunHooksPending?: boolean;
};
/** The run produced an answer, or a limit ended it as planned. */
export type Completed = Ended & { readonly status: "completed" };
/** The run failed. */
export type Failed = Ended & { readonly status: "failed"; readonly fault?: Fault };
/** A person or a program aborted the run. */
export type Aborted = Ended & { readonly status: "aborted" };

/** The state of a session after an entry of its log. */
export type State = Idle | Preparing | ModelRunning | ToolRunning | AwaitingHuman | Completed | Failed | Aborted;
/** A state with an active run. */
export type ActiveState = Preparing | ModelRunning | ToolRunning | AwaitingHuman;
/** A state after a run. */
export type TerminalState = Completed | Failed | Aborted;
/** The name of a state. */
export type Status = State["status"];

/** A session with an empty log. */
export const initialState: Idle = deepFreeze({
  v: initialFormat,
  seq: 0,
  session: null,
  status: "idle",
  queue: [],
  interrupted: [],
  context: { readFrom: 1 },
});

/** The number of restarts without progress at which a run fails (rule 16 of docs/architecture.md). */
export const maxRestarts = 5;

/** Whether no run is active. */
export function isResting(state: State): state is Idle | TerminalState {
  return state.status === "idle" || isTerminal(state);
}

/** Whether a run has ended and no other run is active. */
export function isTerminal(state: State): state is TerminalState {
  return state.status === "completed" || state.status === "failed" || state.status === "aborted";
}

/** The coarse state of a session, as stores record it. */
export function activityOf(state: State): "resting" | "active" | "waiting" {
  if (isResting(state)) return "resting";
  return isWaiting(state) ? "waiting" : "active";
}

/** Whether an active run cannot continue before a person or another session answers, a time comes or a signal arrives. */
export function isWaiting(state: State): boolean {
  if (state.status === "awaiting_human") return true;
  return (
    state.status === "tool_running" &&
    state.stopping === null &&
    state.calls.some((call) => call.status === "waiting" || isParked(call)) &&
    state.calls.every(isHeldOutside)
  );
}

/** Whether every open call sleeps or waits for a signal: no person is asked, and no work is in flight, here or in a child. */
export function isAsleep(state: State): state is ToolRunning & { readonly parkedSince: number } {
  return state.status === "tool_running" && state.parkedSince !== undefined;
}

/** Whether the run is suspended: it waits for a person, or it sleeps or waits for a signal for longer than `shortWaitMs`. */
export function isSuspended(state: State): state is AwaitingHuman | ToolRunning {
  if (state.status === "awaiting_human") return true;
  return isAsleep(state) && (earliestEnd(state) ?? Number.POSITIVE_INFINITY) > state.parkedSince + shortWaitMs;
}

/** When the first of a run's sleeps and waits ends, in epoch milliseconds; undefined if none has an end. */
export function earliestEnd({ calls }: ToolRunning): number | undefined {
  const ends = calls.flatMap((call) =>
    call.status === "waiting" && call.on === "child"
      ? (call.asleep?.until ?? [])
      : (openQuestionsOf(call) ?? []).flatMap(({ expiresAt }) => expiresAt ?? []),
  );
  return ends.length === 0 ? undefined : Math.min(...ends);
}

/**
 * A sleep or wait up to this length stays with its process and its lease, because releasing the session and claiming it again costs more.
 */
export const shortWaitMs = 5_000;

/** Whether the state has tool calls. */
export function hasCalls(state: State): state is ToolRunning | AwaitingHuman {
  return state.status === "tool_running" || state.status === "awaiting_human";
}

/** The call with this key in the current step; undefined if there is none. */
export function callOf(state: State, callKey: string): Call | undefined {
  return hasCalls(state) ? state.calls.find((call) => call.callKey === callKey) : undefined;
}
