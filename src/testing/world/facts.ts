/**
 * The facts of a simulation: everything that happened, in a single order. Invariants are checked against them.
 */
import type { ToolOutput } from "../../core/data/message.js";
import type { MessageDelta, ModelRequest } from "../../ports/model.js";
import type { PutRow, SlotFiring } from "../../ports/schedule-store.js";
import type { Commit } from "../../ports/store.js";
import type { StepOptions } from "../../ports/tool.js";

export type Happening =
  /** A process started, stopped, continued or died. */
  | {
      readonly type: "process";
      readonly process: string;
      /** What happened to the process. */
      readonly what: "started" | "killed" | "stopped" | "continued" | "gone";
    }
  /** The clock jumped. */
  | {
      readonly type: "jumped";
      /** By how many milliseconds. */
      readonly ms: number;
    }
  /** In the store: a process claimed the lease. `late`: the request took so long that the time in it had passed. */
  | {
      readonly type: "claimed";
      readonly sessionId: string;
      readonly process: string;
      readonly epoch: number;
      /** Whether the clock had moved since the request was made. */
      readonly late: boolean;
      /** How far the wall clock was ahead of the monotonic clock, in milliseconds. A jump of the clock changes this value. */
      readonly setting: number;
    }
  /** A process learns that it holds the lease. `askedAt` and `setting` are the readings of its clocks at the request. */
  | ({ readonly type: "holding" } & LeaseFact)
  /** A lease was renewed. */
  | ({ readonly type: "renewed" } & LeaseFact)
  /** In the store: a commit was applied. */
  | {
      readonly type: "written";
      readonly sessionId: string;
      readonly process: string;
      readonly epoch: number;
      /** The commit. */
      readonly commit: Commit;
    }
  /** A process learns that its commit is durable. */
  | {
      readonly type: "confirmed";
      readonly sessionId: string;
      readonly process: string;
      readonly epoch: number;
      /** The last entry of the log; null if nothing was written. */
      readonly seq: number | null;
      /** Whether the lease was released in the commit. */
      readonly released: boolean;
    }
  /** A process learns that a write under its lease was not made, or that its outcome is unknown. */
  | {
      readonly type: "refused";
      readonly sessionId: string;
      readonly process: string;
      readonly epoch: number;
      /** Why it was refused. */
      readonly why: string;
    }
  /** A process gets no reply to a request. */
  | {
      readonly type: "unanswered";
      readonly process: string;
      /** The operation that was requested of the store. */
      readonly what: string;
    }
  /** A message was posted. */
  | {
      readonly type: "posted";
      readonly sessionId: string;
      readonly process: string;
      /** The id of the message. */
      readonly id: string;
    }
  /** In the store: signals that need not be kept were removed. */
  | {
      readonly type: "signals_dropped";
      readonly process: string;
      /** Signals that are kept until then at most were removed. The clock may have jumped since the request was made. */
      readonly until: number;
      /** False if there may be more of them, because one request removes only so many. */
      readonly isAll: boolean;
    }
  /** In the store: a signal was sent. */
  | {
      readonly type: "signalled";
      readonly process: string;
      readonly key: string;
      /** The id of the signal. */
      readonly id: string;
      /** When it was sent, by the clock of the sender. */
      readonly sentAt: number;
      /** Until when the store keeps the signal for a wait that starts later. */
      readonly keptUntil: number;
      /** False if the store had it already. */
      readonly isNew: boolean;
      /** The sessions whose waits got it. */
      readonly sessions: readonly string[];
    }
  /** In the store: a schedule or a delayed message was put. */
  | {
      readonly type: "schedule_put";
      readonly process: string;
      /** The row as it was put. */
      readonly row: PutRow;
    }
  /** In the store: a schedule or a delayed message was fired. */
  | {
      readonly type: "schedule_fired";
      readonly process: string;
      /** The slot, and what was posted. */
      readonly fire: SlotFiring;
    }
  /** In the store: a schedule or a delayed message was removed. */
  | {
      readonly type: "schedule_removed";
      readonly process: string;
      /** The id of the schedule or of the delayed message. */
      readonly id: string;
    }
  /** A model was called. */
  | {
      readonly type: "model_called";
      readonly sessionId: string;
      readonly process: string;
      /** The agent that the model belongs to, in worlds that know it. */
      readonly agent?: string;
      /** The request that was sent to the model. */
      readonly request: ModelRequest;
    }
  /** A model is asked for a summary. */
  | {
      readonly type: "summary_asked";
      readonly sessionId: string;
      readonly process: string;
      readonly runId: string;
    }
  /** The message that the model intends in an attempt, part by part, whatever becomes of the stream. */
  | {
      readonly type: "model_meant";
      readonly sessionId: string;
      readonly attempt: string;
      /** The parts of the message. */
      readonly parts: readonly string[];
    }
  /** A delta was streamed. */
  | {
      readonly type: "delta";
      readonly sessionId: string;
      readonly process: string;
      /** The delta. */
      readonly delta: MessageDelta;
    }
  /** An observer of a process is notified of an event. */
  | {
      readonly type: "told";
      readonly sessionId: string;
      readonly process: string;
      /** The event. */
      readonly event: string;
      readonly seq: number;
    }
  /** A tool was started. */
  | {
      readonly type: "tool_started";
      readonly sessionId: string;
      readonly process: string;
      readonly callKey: string;
      /** The name of the tool. */
      readonly tool: string;
      /** The agent that the tool belongs to, in worlds that know it. */
      readonly agent?: string;
      readonly attempt: number;
      readonly input: unknown;
      /** The tool heeds its abort signal. */
      readonly heeds?: true;
    }
  /** The function of a tool step is called. `step`: its name, with a count if the name occurred before. */
  | ({
      readonly type: "step_started";
      /** The step may run only once. */
      readonly once?: true;
      /** The step may start after an abort. */
      readonly cleanup?: true;
      /** The process retries the step. */
      readonly again?: true;
    } & StepIdentity)
  /** A tool continues with the value or the error of its step, or with the answer to its question. */
  | ({
      readonly type: "step_given";
      /** The outcome of the step. */
      readonly given: StepOutcome;
    } & StepIdentity)
  /** A guard has checked the complete answer of an attempt. */
  | {
      readonly type: "guard_said";
      readonly sessionId: string;
      readonly process: string;
      readonly attempt: string;
      /** Whether the guard lets the answer pass. */
      readonly passes: boolean;
    }
  /** The signal of a call that heeds it was aborted: the run stops, the call has timed out, or its process has given up. */
  | {
      readonly type: "tool_signalled";
      readonly sessionId: string;
      readonly process: string;
      readonly callKey: string;
    }
  /** A call took effect in the world. */
  | {
      readonly type: "tool_acted";
      readonly sessionId: string;
      readonly callKey: string;
      /** The name of the tool. */
      readonly tool: string;
      readonly input: number;
    }
  /** A call settled: with the output of its tool, or with the outcome that the world reports. Null: it failed. */
  | {
      readonly type: "tool_settled";
      readonly sessionId: string;
      readonly process: string;
      readonly callKey: string;
      readonly output: ToolOutput | null;
    }
  /** A program requested something. */
  | {
      readonly type: "asked";
      readonly process: string;
      /** The number of the request. */
      readonly id: number;
      /** The request. */
      readonly what: string;
    }
  /** A program got what it had requested. */
  | {
      readonly type: "got";
      readonly process: string;
      /** The number of the request. */
      readonly id: number;
      /** The outcome of the request. */
      readonly outcome: string;
    };

/** What a tool receives: the value, or the code of the `StepError`. */
export type StepOutcome =
  | {
      /** The value. */
      readonly value: unknown;
    }
  | {
      /** The code of the error. */
      readonly error: string;
    };

type StepIdentity = {
  readonly sessionId: string;
  readonly process: string;
  readonly callKey: string;
  /** The attempt of the call. */
  readonly attempt: number;
  readonly step: string;
};

type LeaseFact = {
  readonly sessionId: string;
  readonly process: string;
  readonly epoch: number;
  readonly askedAt: number;
  /** How far the wall clock was ahead of the monotonic clock, in milliseconds. */
  readonly setting: number;
};

/** `line`: the fact's position, from 0. `at`: milliseconds since the beginning, whatever the wall clock said. */
export type Fact = Happening & {
  /** The position among the facts, from 0. */
  readonly line: number;
  readonly at: number;
};

export type FactOf<Type extends Fact["type"]> = Extract<Fact, { readonly type: Type }>;

/** Creates the fact that the function of a step is called. @param tries the number of this attempt, from 1 */
export function createStepStarted(identity: StepIdentity, { once, cleanup }: StepOptions, tries: number): Happening {
  return {
    type: "step_started",
    ...identity,
    ...(once === true ? { once } : {}),
    ...(cleanup === true ? { cleanup } : {}),
    ...(tries > 1 ? { again: true } : {}),
  };
}

/** Whether a fact belongs to this session, or to no session: to a process, the clock or a person. */
export function concernsSession(fact: Fact, sessionId: string): boolean {
  return !("sessionId" in fact) || fact.sessionId === sessionId;
}
