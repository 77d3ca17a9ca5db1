/**
 * The state of a session: the durable program counter of its loop.
 *
 * 1. State is plain JSON, small and total: positions in the log (`seq`), counters, limits and keys. It holds no message
 *    content except the session's title and the messages of faults.
 * 2. State and the events that led to it are written in one row. Recovery reads the last row and needs nothing else.
 * 3. What should be in flight follows from the state alone (`effects`), and so does what must happen next
 *    (`consequences`).
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
  callKeyOf,
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
 * The format in which a session begins. A session moves on to a newer format with the first entry that an older reader
 * would misunderstand, and not before: so older versions of Pawl can carry on every other session.
 */
export const initialFormat = 2;

/** The oldest format that is still read. Format 1 came before the first release and was never promised. */
export const oldestFormat = 2;

/** An input that waits to be taken. `seq` is the entry that holds its messages. */
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

/** `agent`: the one that the run begins with, if it names one. */
type QueuedRun = {
  readonly runId: string;
  readonly limits: RunLimits;
  readonly agent?: string;
  /** It takes the place of the run under way: it is the next one, also after an abort. */
  readonly interrupts?: true;
  /** What the child session used whose end is the request. */
  readonly childUsage?: Usage;
};

/** Why and until when a run is stopping early: an abort, a limit, a failure, or a refusal that stops the run. */
export type Stopping = {
  readonly reason: Reason;
  /** When calls that are still running are given up (epoch milliseconds), and the length of that wait. */
  readonly until: number;
  /** The length of that wait, in milliseconds. */
  readonly graceMs: number;
  readonly fault?: Fault;
};

/** Failed attempts of one model call with one model. The retry policy counts them, also across restarts. */
export type Failing = {
  /** When the first of them began, epoch milliseconds. */
  readonly since: number;
  /** How many attempts failed. */
  readonly attempts: number;
  /** How many of them were empty answers. */
  readonly empty: number;
};

/** What a run has counted. */
export type Counters = {
  /** Model calls that were committed. */
  readonly totalSteps: number;
  /** Failed attempts. */
  readonly errorCount: number;
  /** Compactions. One that did not shrink the conversation counts twice. */
  readonly compactionAttempts: number;
  /** How often a model that reached its output limit was asked to go on. */
  readonly continuations: number;
  /** How often `beforeStop` hooks have kept the run going. */
  readonly stopPreventions: number;
  /** Answers that did not have the requested shape and were sent back. */
  readonly outputRetries: number;
  /** How often the run was handed over to another agent; absent if never. */
  readonly handoffs?: number;
  /** The child sessions that the run has started; absent if there are none, or if they are not limited. */
  readonly children?: number;
};

type SessionState = {
  /** The number of the format: 3 from the session's first sleep, wait for a signal or child in the background on. */
  readonly v: typeof initialFormat | typeof formatVersion;
  /** The last entry folded into this state. */
  readonly seq: number;
  /** What the session is bound to; null before its first entry. */
  readonly session: SessionInfo | null;
  /** Inputs that wait to be taken, oldest first. */
  readonly queue: readonly Queued[];
  /** Calls that the machine gave up. Their results may still arrive late. */
  readonly interrupted: readonly string[];
  /**
   * What a process reads of the log before it carries on: from which entry, the start of the run that this entry
   * belongs to, and the compaction that stands for everything before, with the blob of the session's data as of then.
   */
  readonly context: {
    /** The first entry that is read. */
    readonly readFrom: number;
    /** The entry that started the run to which `readFrom` belongs. */
    readonly runStartSeq?: number;
    /** The entry of the last compaction. */
    readonly compactedSeq?: number;
    /** The blob with the session's data as of the compaction. */
    readonly dataBlob?: string;
  };
  /**
   * The entry of a child session after which it began or ceased to wait for a person, or after which other questions
   * were open. Present until the parent was told.
   */
  readonly parentUntold?: number;
  /**
   * A person asked for a compaction, in this entry. Present until the next compaction has ended. `dropped`: why it is not
   * made any more.
   */
  readonly compactionAsked?: {
    readonly seq: number;
    /** Why it is not made. */
    readonly dropped?: "aborted" | "crash_loop";
  };
  /** The child sessions that work in the background, oldest first. Absent if there are none. */
  readonly background?: readonly BackgroundChild[];
  /** The last entry that redacted content. What a reader made of the entries before it earlier is void. */
  readonly redactedSeq?: number;
  /** Reserved: what a person changed for the session. */
  readonly changes?: {
    readonly model?: string;
    /** The settings; null: those of the agent. */
    readonly settings?: ModelSettings | null;
    readonly limits?: Partial<RunLimits>;
  };
  /** Reserved: processes that outlive their calls. */
  readonly processes?: readonly {
    /** The id of the process. */
    readonly processId: string;
    readonly callKey: string;
    /** Its number on its host. */
    readonly pid: number;
    readonly startedAt: number;
  }[];
};

/** What every state of a run under way has. */
export type RunState = SessionState & {
  readonly runId: string;
  readonly startedAt: number;
  /** The entry that started the run. */
  readonly startSeq: number;
  readonly limits: RunLimits;
  /** The step under way, from 1. */
  readonly modelCallIndex: number;
  /** Attempts of that step's model call that have begun. No number is used twice, not even after a restart. */
  readonly attempt: number;
  /** What the run has counted. */
  readonly counters: Counters;
  readonly usage: Usage;
  /** Restarts since the last progress. */
  readonly restarts: number;
  /** Milliseconds spent waiting for a person, a time or a signal. */
  readonly waitedMs: number;
  /** The model to use: 0 is the agent's, n its n-th fallback. The run does not go back to an earlier model. */
  readonly fallback: number;
  /** The failed attempts of the present step's model call with the present model; null if there is none. */
  readonly failing: Failing | null;
  /** Compactions since the last answer of a model. A compaction that does not shrink the conversation counts twice. */
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
 * Why a model is called: for a step; to go on after the output cap; to go on after its provider paused; to remind it to
 * call the done tool; for the last summary.
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
/** A model is called, or the next attempt waits. */
export type ModelRunning = RunState & {
  readonly status: "model_running";
  readonly purpose: Purpose;
  /** The model sees the log up to this entry, the same in each attempt. */
  readonly contextSeq: number;
  /** The model that was chosen by name for this call. Gone when its retry policy gives it up. */
  readonly model?: string;
  /** A wait before the next attempt: its end (epoch milliseconds) and its length. */
  readonly backoff: {
    /** When the next attempt starts, in epoch milliseconds. */
    readonly until: number;
    /** The length of the wait, in milliseconds. */
    readonly ms: number;
  } | null;
};
/** Calls of a step are decided, run or wait for something that is no person. */
export type ToolRunning = RunState & {
  readonly status: "tool_running";
  /** The calls of the step, in order. */
  readonly calls: readonly Call[];
  /** The message was cut, so its calls are not run. */
  readonly cut: Cut | null;
  /** The entry of the call that signalled done. */
  readonly doneSeq: number | null;
  /** The provider has not finished its turn: it waits for the results of these calls. */
  readonly paused?: boolean;
  /** Since when every open call sleeps or waits for a signal, in epoch milliseconds. The run's clock stands still. */
  readonly parkedSince?: number;
};
/** Every open call waits for a person or for a result from outside. */
export type AwaitingHuman = RunState & {
  readonly status: "awaiting_human";
  /** The calls of the step, in order. */
  readonly calls: readonly Call[];
  /** When the wait began, epoch milliseconds. */
  readonly since: number;
  /** Why the message of the step was cut; null if it is whole. */
  readonly cut: Cut | null;
  /** The entry of the result that said that the run is done; null if there is none. */
  readonly doneSeq: number | null;
  /** The provider paused the message, and is to go on with it. */
  readonly paused?: boolean;
};
type Ended = RunState & {
  readonly reason: Reason;
  /** The parent session has not been notified of the end yet. */
  readonly parentNotificationPending?: boolean;
  /** The `afterRun` hooks have not been called yet. */
  readonly afterRunHooksPending?: boolean;
};
/** The run gave an answer, or a limit ended it as planned. */
export type Completed = Ended & { readonly status: "completed" };
/** The run failed. */
export type Failed = Ended & { readonly status: "failed"; readonly fault?: Fault };
/** A person or a program aborted the run. */
export type Aborted = Ended & { readonly status: "aborted" };

/** The state of a session after an entry of its log. */
export type State = Idle | Preparing | ModelRunning | ToolRunning | AwaitingHuman | Completed | Failed | Aborted;
/** A state with a run under way. */
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

/** A run fails at this many restarts without progress (rule 16 of docs/architecture.md). */
export const maxRestarts = 5;

/** Whether no run is under way. */
export function isResting(state: State): state is Idle | TerminalState {
  return state.status === "idle" || isTerminal(state);
}

/** Whether a run has ended, and no other one is under way. */
export function isTerminal(state: State): state is TerminalState {
  return state.status === "completed" || state.status === "failed" || state.status === "aborted";
}

/** The coarse state of a session, as stores keep it. */
export function activityOf(state: State): "resting" | "active" | "waiting" {
  if (isResting(state)) return "resting";
  return isWaiting(state) ? "waiting" : "active";
}

/** A run is under way and cannot go on before a person or another session answers, a time comes or a signal arrives. */
export function isWaiting(state: State): boolean {
  if (state.status === "awaiting_human") return true;
  return (
    state.status === "tool_running" &&
    state.stopping === null &&
    state.calls.some((call) => call.status === "waiting" || isParked(call)) &&
    state.calls.every(isHeldOutside)
  );
}

/** Every open call sleeps or waits for a signal: nobody is asked, and no work is in flight, here or in a child. */
export function isAsleep(state: State): state is ToolRunning & { readonly parkedSince: number } {
  return state.status === "tool_running" && state.parkedSince !== undefined;
}

/**
 * Whether the run stops for now: it waits for a person, or it sleeps or waits for a signal, and that for longer than
 * `shortWaitMs`.
 */
export function isSuspended(state: State): state is AwaitingHuman | ToolRunning {
  if (state.status === "awaiting_human") return true;
  return isAsleep(state) && (earliestEnd(state) ?? Number.POSITIVE_INFINITY) > state.parkedSince + shortWaitMs;
}

/** When the first of the sleeps and waits of a run ends, in epoch milliseconds; undefined if none ends by itself. */
export function earliestEnd({ calls }: ToolRunning): number | undefined {
  const ends = calls.flatMap((call) =>
    call.status === "waiting" && call.on === "child"
      ? (call.asleep?.until ?? [])
      : (openQuestionsOf(call) ?? []).flatMap(({ expiresAt }) => expiresAt ?? []),
  );
  return ends.length === 0 ? undefined : Math.min(...ends);
}

/**
 * A sleep or wait that ends within this time stays with its process and its lease: giving the session back and claiming it
 * again costs more.
 */
export const shortWaitMs = 5_000;

/** Whether the state has tool calls. */
export function hasCalls(state: State): state is ToolRunning | AwaitingHuman {
  return state.status === "tool_running" || state.status === "awaiting_human";
}

/** The call of this key in the step under way; undefined if there is none. */
export function callOf(state: State, callKey: string): Call | undefined {
  return hasCalls(state) ? state.calls.find((call) => call.callKey === callKey) : undefined;
}
