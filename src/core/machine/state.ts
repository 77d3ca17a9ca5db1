/**
 * The state of a session: the durable program counter of its loop.
 *
 * 1. State is plain JSON, small and total: positions in the log (`seq`), counters, limits and keys; never message content.
 * 2. It is written in one row with the events that led to it. Recovery reads the last row; nothing else is needed.
 * 3. What should be in flight follows from it alone (`effects`), and so does what must happen next (`consequences`).
 */
import type { Fault, Usage } from "../data/message.js";
import type { Reason } from "../data/reasons.js";

/** The version of the log's and the state's format. A store row names it. */
export const formatVersion = 2;

/** The oldest format that is still read. Format 1 came before the first release and was never promised. */
export const oldestFormat = 2;

/** What a session is bound to. It is carried on only by an agent of the same name. */
export type SessionInfo = {
  readonly agent: string;
  readonly model: string;
  /** The folder that the agent works in, where there is one. */
  readonly root?: string;
  /** The first words of the first request, for lists. */
  readonly title?: string;
  /** The call of another session that started this one. */
  readonly parent?: { readonly sessionId: string; readonly callKey: string };
  /** The session at the top of a chain of parents. */
  readonly top?: string;
};

/** Bounds of one run. Times are milliseconds. */
export type RunLimits = {
  /** Model calls in a run; 200. */
  readonly maxSteps: number;
  /** Failed attempts of model calls in a run; 20. */
  readonly maxErrors: number;
  /** What happens at `maxSteps`: one more call without tools that sums up (the default), or an end at once. */
  readonly onMaxSteps: "summary" | "stop";
  /** Input and output tokens of a run together, its children's included; not limited unless set. */
  readonly maxTokens?: number;
  /** US dollars, by the prices that are known, its children's included; not limited unless set. */
  readonly maxCostUsd?: number;
  /** From the start of the run, downtime included, waiting for a person excluded; not limited unless set. */
  readonly maxWallClockMs?: number;
  /** Waiting for a person counts for `maxWallClockMs` too; false. */
  readonly wallClockIncludesWaiting?: boolean;
  /** Calls of one step that are run; those above it are blocked, and the model is told. Not limited unless set. */
  readonly maxToolCallsPerStep?: number;
  /**
   * What happens at the third call in a row of the same tool with the same input: the model is told once, and the run stops
   * where it does so again (the default); a person is asked; or nothing.
   */
  readonly onRepeatedCall?: "stop" | "ask" | "ignore";
  /** Calls of a step that run side by side; 8. */
  readonly toolConcurrency: number;
  /** How long what is running may take to settle after an abort; 5 s. */
  readonly abortGraceMs: number;
  /** How often a model that hit its output cap is asked to go on; 2. */
  readonly maxContinuations: number;
  /** How often `beforeStop` may keep a run going; 3. */
  readonly maxStopPreventions: number;
  /** Compactions in a run, one that does not shrink counting double; 20. */
  readonly maxCompactions: number;
  /** An answer without calls is no end: the done tool must be called. */
  readonly requireDoneTool?: boolean;
};

/** An input that waits. `seq` is the entry that holds its messages. */
export type Queued =
  | { readonly kind: "steer"; readonly seq: number }
  | { readonly kind: "run"; readonly seq: number; readonly runId: string; readonly limits: RunLimits };

/** How a call recovers that had started and has no result (REC-4); written on the event that decides to run it. */
export type Recover = "rerun" | "ask" | "fail" | "reconcile";

export type CallPolicy = {
  readonly recover: Recover;
  /** Runs alone among the calls of its step. */
  readonly sequential?: boolean;
  /** Its own grace after an abort, in milliseconds. */
  readonly graceMs?: number;
  /** Its result comes from outside (`session.provideResult`); nothing is executed here. */
  readonly external?: boolean;
};

/** How a call ended. */
export type CallOutcome = "ok" | "error" | "denied" | "blocked" | "skipped" | "not_run" | "aborted" | "interrupted";

type CallIdentity = {
  /** `runId`/`modelCallIndex`/position: the identity of the call everywhere. Positions count from 1. */
  readonly callKey: string;
  readonly name: string;
  /** The entry that holds its present input: the model's message, a decision or an answer. */
  readonly inputSeq: number;
  /** SHA-256 of the canonical input, where somebody is asked. */
  readonly inputHash?: string;
};

/** One tool call as data. Only `running` calls are in doubt after a crash. */
export type Call = CallIdentity &
  (
    | {
        readonly status: "deciding";
        /** A person changed the input; the time to answer goes on where it is asked about again. */
        readonly edited?: { readonly policy: CallPolicy; readonly expiresAt?: number };
      }
    | {
        readonly status: "asking";
        readonly why: "policy" | "recovery";
        readonly policy: CallPolicy;
        readonly attempt: number;
        /** Epoch milliseconds; from `expiresAt` on nobody can answer any more. */
        readonly askedAt: number;
        readonly expiresAt?: number;
      }
    | { readonly status: "ready"; readonly policy: CallPolicy; readonly attempt: number }
    | { readonly status: "running"; readonly policy: CallPolicy; readonly attempt: number }
    | { readonly status: "reconciling"; readonly policy: CallPolicy; readonly attempt: number }
    | {
        readonly status: "waiting";
        readonly on: "child";
        readonly policy: CallPolicy;
        readonly childId?: string;
        readonly reservedTokens?: number;
        readonly reservedCostUsd?: number;
      }
    | { readonly status: "waiting"; readonly on: "external"; readonly policy: CallPolicy; readonly askedAt: number }
    /** Its end is settled without running it (again); its result follows in the same commit. `because` is the entry that says why. */
    | { readonly status: "settling"; readonly outcome: CallOutcome; readonly causeSeq: number }
    | { readonly status: "done"; readonly outcome: CallOutcome }
  );

/** A run that is ending before its time: an abort, a limit, a failure, a refusal that stops. */
export type Stopping = {
  readonly reason: Reason;
  /** When what is still running is given up, epoch milliseconds, and the length of that wait. */
  readonly until: number;
  readonly graceMs: number;
  readonly fault?: Fault;
};

/** Failed attempts of one model call with one model: what a retry policy looks at, across restarts too. */
export type Failing = {
  /** When the first of them began, epoch milliseconds. */
  readonly since: number;
  readonly attempts: number;
  /** How many of them were answers with nothing in them (FIN-5). */
  readonly empty: number;
};

export type Counters = {
  /** Model calls that were committed. */
  readonly totalSteps: number;
  /** Failed attempts. */
  readonly errorCount: number;
  readonly compactionAttempts: number;
  readonly continuations: number;
  readonly stopPreventions: number;
  /** Answers that did not have the shape that was asked for, and were sent back. */
  readonly outputRetries: number;
};

type SessionState = {
  readonly v: typeof formatVersion;
  /** The last entry folded into this state. */
  readonly seq: number;
  readonly session: SessionInfo | null;
  readonly queue: readonly Queued[];
  /** Calls whose outcome was given up, and may still come in late. */
  readonly interrupted: readonly string[];
  /** What is read of the log by who carries on: the first entry, the start of its run, and the compaction that stands for the rest. */
  readonly context: { readonly readFrom: number; readonly runStartSeq?: number; readonly compactedSeq?: number };
};

export type RunState = SessionState & {
  readonly runId: string;
  readonly startedAt: number;
  /** The entry that started the run. */
  readonly startSeq: number;
  readonly limits: RunLimits;
  /** The step under way, from 1. */
  readonly modelCallIndex: number;
  /** Attempts of that step's model call which were begun. A number is never used twice, across restarts too. */
  readonly attempt: number;
  readonly counters: Counters;
  readonly usage: Usage;
  /** Restarts since the last progress. */
  readonly restarts: number;
  /** Milliseconds spent waiting for a person. */
  readonly waitedMs: number;
  /** The model to use: 0 is the agent's, n its n-th fallback. A model that was given up stays so for the rest of the run. */
  readonly fallback: number;
  /** What has failed of the present step's model call with the present model; null where nothing has. */
  readonly failing: Failing | null;
  /** Compactions since the last answer of a model, one that does not shrink counting double. */
  readonly compactionsInRow: number;
  readonly stopping: Stopping | null;
};

/** Why a model is called: a step, going on after the output cap, a reminder that the done tool is owed, the last summary. */
export type Purpose = "step" | "continue" | "remind" | "summary";

/** Why a message is no base for running its calls (FIN-2). */
export type Cut = "length" | "context" | "content-filter" | "error";

export type Idle = SessionState & { readonly status: "idle" };
export type Preparing = RunState & {
  readonly status: "preparing";
} & (
    | { readonly for: "step"; readonly purpose: Purpose }
    | { readonly for: "compaction"; readonly purpose: Purpose }
    | { readonly for: "finish"; readonly reason: Reason }
  );
export type ModelRunning = RunState & {
  readonly status: "model_running";
  readonly purpose: Purpose;
  /** The model sees the log up to this entry, in each attempt. */
  readonly contextSeq: number;
  /** A wait before the next attempt: its end (epoch milliseconds) and its length. */
  readonly backoff: { readonly until: number; readonly ms: number } | null;
};
export type ToolRunning = RunState & {
  readonly status: "tool_running";
  readonly calls: readonly Call[];
  /** The message was cut, so its calls are not run. */
  readonly cut: Cut | null;
  /** The entry of a call that signalled done. */
  readonly doneSeq: number | null;
};
export type AwaitingHuman = RunState & {
  readonly status: "awaiting_human";
  readonly calls: readonly Call[];
  readonly since: number;
  readonly cut: Cut | null;
  readonly doneSeq: number | null;
};
type Ended = RunState & {
  readonly reason: Reason;
  /** The session that asked for the run does not know of its end yet. */
  readonly parentNotificationPending?: boolean;
  /** Hooks are still to be called. */
  readonly afterRunHooksPending?: boolean;
};
export type Completed = Ended & { readonly status: "completed" };
export type Failed = Ended & { readonly status: "failed"; readonly fault?: Fault };
export type Aborted = Ended & { readonly status: "aborted" };

export type State = Idle | Preparing | ModelRunning | ToolRunning | AwaitingHuman | Completed | Failed | Aborted;
export type ActiveState = Preparing | ModelRunning | ToolRunning | AwaitingHuman;
export type TerminalState = Completed | Failed | Aborted;
export type Status = State["status"];

/** A session of which nothing is recorded yet. */
export const initialState: Idle = {
  v: formatVersion,
  seq: 0,
  session: null,
  status: "idle",
  queue: [],
  interrupted: [],
  context: { readFrom: 1 },
};

/** Restarts without progress that a run survives (rule 16). */
export const maxRestarts = 5;

export function isResting(state: State): state is Idle | TerminalState {
  return state.status === "idle" || isTerminal(state);
}

export function isTerminal(state: State): state is TerminalState {
  return state.status === "completed" || state.status === "failed" || state.status === "aborted";
}

/** A run is under way, and nothing can go on before somebody outside answers. */
export function isWaiting(state: State): boolean {
  if (state.status === "awaiting_human") return true;
  return (
    state.status === "tool_running" &&
    state.stopping === null &&
    state.calls.some((call) => call.status === "waiting") &&
    state.calls.every(isHeldOutside)
  );
}

/** Nothing can be done for this call here, once the slots are given out: a call that is still ready waits for a child's slot. */
export function isHeldOutside({ status }: Call): boolean {
  return status === "waiting" || status === "asking" || status === "ready" || status === "done";
}

/** Somebody outside is to answer this call, or to give its result. */
export function asksOutside(call: Call): call is Extract<Call, { readonly askedAt: number }> {
  return call.status === "asking" || (call.status === "waiting" && call.on === "external");
}

export function hasCalls(state: State): state is ToolRunning | AwaitingHuman {
  return state.status === "tool_running" || state.status === "awaiting_human";
}

/** The call of this key in the step under way; undefined if it has none. */
export function callOf(state: State, callKey: string): Call | undefined {
  return hasCalls(state) ? state.calls.find((call) => call.callKey === callKey) : undefined;
}

/** The identity of a call. Positions count from 1. */
export function callKeyOf(runId: string, modelCallIndex: number, position: number): string {
  return `${runId}/${modelCallIndex}/${position}`;
}
