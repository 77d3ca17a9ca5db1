/**
 * One tool call in the state of a session: where it stands, and what follows from that.
 */

/** How a call recovers if it had started and has no result. The event that decides to run the call records it. */
export type Recover = "rerun" | "ask" | "fail" | "reconcile";

/** How a call runs, is tried again and recovers. It is recorded when the call is decided. */
export type CallPolicy = {
  /** What happens if the call had started and has no result. */
  readonly recover: Recover;
  /** Runs alone among the calls of its step. */
  readonly sequential?: boolean;
  /** How long this call may take to settle after an abort, in milliseconds, instead of the run's `abortGraceMs`. */
  readonly graceMs?: number;
  /** Its result comes from outside (`session.provideResult`); nothing is executed here. */
  readonly external?: boolean;
  /** The provider runs the call once it is approved; nothing is executed here. */
  readonly provider?: boolean;
  /** All effects of the tool are in its steps: the call may be let go between them, and run again. */
  readonly durable?: boolean;
  /** How failures are tried again: at most so many attempts, with waits that double from `baseMs` to `maxMs`. */
  readonly retry?: {
    /** The most attempts, the first included. */
    readonly attempts: number;
    /** The wait before the second attempt, in milliseconds. */
    readonly baseMs: number;
    /** The longest wait, in milliseconds. */
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
  /** The entry that holds the call's present input: the model's message, a decision or an answer. */
  readonly inputSeq: number;
  /** SHA-256 of the canonical input, if a person is asked. */
  readonly inputHash?: string;
};

/** A question that a tool asked: the name of its tool step, and when it expires (epoch milliseconds). */
export type OpenQuestion = {
  /** The name of the tool step that asks. */
  readonly step: string;
  readonly expiresAt?: number;
  /** What ends the wait instead of a person: its time alone, or a signal with this `key`. */
  readonly for?: WaitKind;
  /** The key of the signal. */
  readonly key?: string;
};

/** What a tool may wait for besides people. */
export type WaitKind = "time" | "signal";

/** A question that was asked at `askedAt` (epoch milliseconds), and whose tool goes on running. */
export type HeldQuestion = OpenQuestion & { readonly askedAt: number };

/** How many questions of one call may be open at once. */
export const maxOpenQuestions = 16;

/** The child session of a call, and what it reported last. */
type ChildReport = {
  readonly childId?: string;
  /** Since when the child waits for a person, in epoch milliseconds. Absent: it does not. */
  readonly askedAt?: number;
  /** The child sleeps or waits for a signal. Absent: it does not. */
  readonly asleep?: ChildSleep;
  /** The entry of the child that the report is about. */
  readonly childSeq?: number;
};

/** How long a child session sleeps. */
export type ChildSleep = {
  /** When its first sleep or wait ends, in epoch milliseconds. Absent: it waits for signals alone, and for ever. */
  readonly until?: number;
};

/** How many attempts of a call have failed and were tried again. */
type Failures = {
  /** How many attempts have failed and were tried again. */
  readonly failures?: number;
};

/** One tool call as data. Only `running` calls are in doubt after a crash. */
export type Call = CallIdentity &
  (
    | {
        /** The call is checked: its arguments, hooks and the policy. */
        readonly status: "deciding";
        /** A person changed the input. If the call asks again, the time to answer goes on. */
        readonly edited?: {
          /** How the call would run. */
          readonly policy: CallPolicy;
          readonly expiresAt?: number;
        };
      }
    /** A person is asked. */
    | {
        readonly status: "asking";
        /** `provider`: the provider asks whether it may run the call. `tool`: the tool asks, while it runs. */
        readonly why: "policy" | "recovery" | "provider" | "tool";
        readonly policy: CallPolicy;
        readonly attempt: number;
        /** Epoch milliseconds. From `expiresAt` on, no answer counts. */
        readonly askedAt: number;
        readonly expiresAt?: number;
        /** The questions of the tool that are not answered yet. The call runs again when there is none. */
        readonly open?: readonly OpenQuestion[];
        /** How many attempts have failed and were tried again. */
        readonly failures?: number;
      }
    /** The call may run, and waits for its turn. */
    | ({
        readonly status: "ready";
        readonly policy: CallPolicy;
        readonly attempt: number;
        /** The last attempt failed, and the call waits for a slot for its next one. */
        readonly lastFailed?: true;
      } & Failures)
    /** An attempt failed. The call takes no slot until `until` (epoch milliseconds), at most `ms` from its failure. */
    | {
        readonly status: "retrying";
        readonly policy: CallPolicy;
        readonly attempt: number;
        /** How many attempts have failed and were tried again. */
        readonly failures: number;
        /** When the next attempt starts, in epoch milliseconds. */
        readonly until: number;
        /** The length of the wait, in milliseconds. */
        readonly ms: number;
      }
    /** The call runs. */
    | ({
        readonly status: "running";
        readonly policy: CallPolicy;
        readonly attempt: number;
        /** Questions to a person that are open while the call runs: its process waits for the answers. */
        readonly held?: readonly HeldQuestion[];
      } & ChildReport &
        Failures)
    /** It is found out what became of the call. */
    | { readonly status: "reconciling"; readonly policy: CallPolicy; readonly attempt: number }
    /** The call waits for a child session. */
    | ({
        readonly status: "waiting";
        /** What the call waits for. */
        readonly on: "child";
        readonly policy: CallPolicy;
        /** The part of the run's `maxTokens` that is kept for the child. */
        readonly reservedTokens?: number;
        /** The part of the run's `maxCostUsd` that is kept for the child, in US dollars. */
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

/**
 * This process can do nothing for the call while all slots are taken: a call that is still ready waits for a child's
 * slot.
 */
export function isHeldOutside({ status }: Call): boolean {
  return status === "waiting" || status === "asking" || status === "ready" || status === "done";
}

/** A person must answer this call or its child session, or a caller must provide its result. */
export function asksOutside(call: Call): call is Call & { readonly askedAt: number } {
  if (call.status === "asking") return !isParked(call);
  return call.status === "waiting" && call.askedAt !== undefined;
}

/** The tool, or the child session, sleeps or waits for signals. No process holds it, and no person is asked. */
export function isParked(call: Call): boolean {
  if (call.status === "waiting") return call.on === "child" && call.asleep !== undefined;
  return call.status === "asking" && call.open !== undefined && call.open.every((one) => one.for !== undefined);
}

/** The questions of a tool that are open; undefined if there is none. */
export function openQuestionsOf(call: Call): readonly OpenQuestion[] | undefined {
  if (call.status === "asking") return call.open;
  return call.status === "running" ? call.held : undefined;
}

/** The open question of a tool by its id; undefined if it is not open. */
export function questionOf(call: Call, questionId: string): OpenQuestion | undefined {
  return openQuestionsOf(call)?.find(({ step }) => step === questionId);
}

/** The key that identifies a call. Positions count from 1. */
export function callKeyOf(runId: string, modelCallIndex: number, position: number): string {
  return `${runId}/${modelCallIndex}/${position}`;
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
