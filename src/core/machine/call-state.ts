/**
 * One tool call in the state of a session: its status, and what follows from it.
 */

/** How a call recovers if it had started and has no result. Recorded by the event that decides to run the call. */
export type Recover = "rerun" | "ask" | "fail" | "reconcile";

/** How a call runs, is retried and recovers. Recorded when the call is decided. */
export type CallPolicy = {
  /** What happens if the call had started and has no result. */
  readonly recover: Recover;
  /** Whether the call runs alone among the calls of its step. */
  readonly sequential?: boolean;
  /** Milliseconds that this call may take to settle after an abort, instead of the run's `abortGraceMs`. */
  readonly graceMs?: number;
  /** Its result comes from outside (`session.provideResult`); nothing is executed here. */
  readonly external?: boolean;
  /** The provider runs the call once it is approved; nothing is executed here. */
  readonly provider?: boolean;
  /** All side effects of the tool are in its steps, so the call may be suspended between steps and run again. */
  readonly durable?: boolean;
  /** How failures are retried: with a maximum number of attempts, and delays that double from `baseMs` to `maxMs`. */
  readonly retry?: {
    /** The maximum number of attempts, including the first. */
    readonly attempts: number;
    /** The delay before the second attempt, in milliseconds. */
    readonly baseMs: number;
    /** The maximum delay, in milliseconds. */
    readonly maxMs: number;
  };
  /** The agent that the call hands the session over to; nothing is executed. */
  readonly handoff?: string;
};

/** How a call ended. */
export type CallOutcome = "ok" | "error" | "denied" | "blocked" | "skipped" | "not_run" | "aborted" | "interrupted";

type CallIdentity = {
  /** `runId`/`modelCallIndex`/position: the identity of the call everywhere. Positions count from 1. */
  readonly callKey: string;
  readonly name: string;
  /** The entry that holds the call's current input: the model's message, a decision or an answer. */
  readonly inputSeq: number;
  /** The SHA-256 of the canonical input, if a person is asked. */
  readonly inputHash?: string;
};

/** A question that a tool asked: the name of its tool step, and when it expires (epoch milliseconds). */
export type OpenQuestion = {
  /** The name of the tool step that asks. */
  readonly step: string;
  readonly expiresAt?: number;
  /** What ends the wait instead of a person: only its time, or a signal with this `key`. */
  readonly for?: WaitKind;
  /** The key of the signal. */
  readonly key?: string;
};

/** What a tool may wait for, other than people. */
export type WaitKind = "time" | "signal";

/** A question that was asked at `askedAt` (epoch milliseconds) while its tool keeps running. */
export type HeldQuestion = OpenQuestion & { readonly askedAt: number };

/** The maximum number of open questions per call. */
export const maxOpenQuestions = 16;

/** The child session of a call, and the child's last report. */
type ChildReport = {
  readonly childId?: string;
  /** Since when the child waits for a person, in epoch milliseconds. Absent if it does not. */
  readonly askedAt?: number;
  /** Present if the child sleeps or waits for a signal. */
  readonly asleep?: ChildSleep;
  /** The child's entry that the report is about. */
  readonly childSeq?: number;
};

/** How long a child session sleeps. */
export type ChildSleep = {
  /** When its first sleep or wait ends, in epoch milliseconds. Absent if it waits only for signals, without an end. */
  readonly until?: number;
};

/** The failures of a call. */
type Failures = {
  /** How many attempts have failed and were retried. */
  readonly failures?: number;
};

/** One tool call as data. Only `running` calls are in doubt after a crash. */
export type Call = CallIdentity &
  (
    | {
        /** The call is being checked: its arguments, hooks and the policy. */
        readonly status: "deciding";
        /** Set if a person changed the input. If the call asks again, the original expiry still applies. */
        readonly edited?: {
          /** How the call would run. */
          readonly policy: CallPolicy;
          readonly expiresAt?: number;
        };
      }
    /** A person is asked. */
    | {
        readonly status: "asking";
        /** `provider`: the provider asks for permission to run the call. `tool`: the running tool asks. */
        readonly why: "policy" | "recovery" | "provider" | "tool";
        readonly policy: CallPolicy;
        readonly attempt: number;
        /** Epoch milliseconds. Answers at or after `expiresAt` do not count. */
        readonly askedAt: number;
        readonly expiresAt?: number;
        /** The tool's questions that are not answered yet. The call runs again when none is left. */
        readonly open?: readonly OpenQuestion[];
        /** How many attempts have failed and were retried. */
        readonly failures?: number;
      }
    /** The call may run, and waits for its turn. */
    | ({
        readonly status: "ready";
        readonly policy: CallPolicy;
        readonly attempt: number;
        /** Set if the last attempt failed, and the call waits for a slot for the next one. */
        readonly lastFailed?: true;
      } & Failures)
    /** An attempt failed. The call takes no slot until `until` (epoch milliseconds), which is at most `ms` after the failure. */
    | {
        readonly status: "retrying";
        readonly policy: CallPolicy;
        readonly attempt: number;
        /** How many attempts have failed and were retried. */
        readonly failures: number;
        /** When the next attempt starts, in epoch milliseconds. */
        readonly until: number;
        /** The length of the delay, in milliseconds. */
        readonly ms: number;
      }
    /** The call runs. */
    | ({
        readonly status: "running";
        readonly policy: CallPolicy;
        readonly attempt: number;
        /** Questions to a person that are open while the call runs. Its process waits for the answers. */
        readonly held?: readonly HeldQuestion[];
      } & ChildReport &
        Failures)
    /** The outcome of the call is being found out. */
    | { readonly status: "reconciling"; readonly policy: CallPolicy; readonly attempt: number }
    /** The call waits for a child session. */
    | ({
        readonly status: "waiting";
        /** What the call waits for. */
        readonly on: "child";
        readonly policy: CallPolicy;
        /** The part of the run's `maxTokens` that is reserved for the child. */
        readonly reservedTokens?: number;
        /** The part of the run's `maxCostUsd` that is reserved for the child, in US dollars. */
        readonly reservedCostUsd?: number;
      } & ChildReport)
    /** The call waits for a result from outside. */
    | {
        readonly status: "waiting";
        /** What the call waits for. */
        readonly on: "external";
        readonly policy: CallPolicy;
        readonly askedAt: number;
      }
    /** The call ends without being run (again). Its result follows in the same commit; entry `causeSeq` says why. */
    | {
        readonly status: "settling";
        readonly outcome: CallOutcome;
        /** The entry from which the text of its result follows. */
        readonly causeSeq: number;
      }
    /** The call has its result. */
    | { readonly status: "done"; readonly outcome: CallOutcome }
  );

/** Whether this process can do nothing for the call while all slots are taken. A call that is still ready waits for a child's slot. */
export function isHeldOutside({ status }: Call): boolean {
  return status === "waiting" || status === "asking" || status === "ready" || status === "done";
}

/** Whether a person must answer this call or its child session, or a caller must provide its result. */
export function asksOutside(call: Call): call is Call & { readonly askedAt: number } {
  if (call.status === "asking") return !isParked(call);
  return call.status === "waiting" && call.askedAt !== undefined;
}

/** Whether the tool or the child session sleeps or waits for signals. No process holds it, and no person is asked. */
export function isParked(call: Call): boolean {
  if (call.status === "waiting") return call.on === "child" && call.asleep !== undefined;
  return call.status === "asking" && call.open !== undefined && call.open.every((one) => one.for !== undefined);
}

/** The open questions of a tool; undefined if there are none. */
export function openQuestionsOf(call: Call): readonly OpenQuestion[] | undefined {
  if (call.status === "asking") return call.open;
  return call.status === "running" ? call.held : undefined;
}

/** The open question with this id; undefined if it is not open. */
export function questionOf(call: Call, questionId: string): OpenQuestion | undefined {
  return openQuestionsOf(call)?.find(({ step }) => step === questionId);
}

/** A child session that the session does not wait for. It reports when its run ends. */
export type BackgroundChild = {
  /** The call that started it. */
  readonly callKey: string;
  /** The name of the tool. */
  readonly name: string;
  readonly childId: string;
  /** The child has ended before the entry that its call started it. */
  readonly ended?: true;
  /** The parts of the session's budgets that are kept for the child until it reports. */
  readonly reservedTokens?: number;
  /** The same for US dollars. */
  readonly reservedCostUsd?: number;
};
