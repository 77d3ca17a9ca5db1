/**
 * What happened in a simulation, in the one order in which it did. Invariants are checked against this.
 */
import type { ToolOutput } from "../../core/data/message.js";
import type { MessageDelta, ModelRequest } from "../../ports/model.js";
import type { Commit } from "../../ports/store.js";
import type { StepOptions } from "../../ports/tool.js";

export type Happening =
  /** A process started, stopped, went on or died. */
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
  /** In the store: somebody took the lease. `late`: the request was under way for so long that the time it named had passed. */
  | {
      readonly type: "claimed";
      readonly sessionId: string;
      readonly process: string;
      readonly epoch: number;
      /** Whether the answer came after the lease was over. */
      readonly late: boolean;
      /** The number of the setting. */
      readonly setting: number;
    }
  /** A process learns that it holds the lease, as asked for by its clocks: `setting` is how far apart they were. */
  | ({ readonly type: "holding" } & LeaseFact)
  /** A lease was renewed. */
  | ({ readonly type: "renewed" } & LeaseFact)
  /** In the store: a commit was applied. */
  | {
      readonly type: "written";
      readonly sessionId: string;
      readonly process: string;
      readonly epoch: number;
      /** What is to be committed. */
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
      /** Whether the lease was given back with it. */
      readonly released: boolean;
    }
  /** A process learns that a write under its lease was not made, or that nobody knows. */
  | {
      readonly type: "refused";
      readonly sessionId: string;
      readonly process: string;
      readonly epoch: number;
      /** Why it was refused. */
      readonly why: string;
    }
  /** A process gets no answer to a request. */
  | {
      readonly type: "unanswered";
      readonly process: string;
      /** What was asked of the store. */
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
  /** A model was called. */
  | {
      readonly type: "model_called";
      readonly sessionId: string;
      readonly process: string;
      /** The agent whose model it is, in worlds that know. */
      readonly agent?: string;
      /** What the model was sent. */
      readonly request: ModelRequest;
    }
  /** A model is asked for a summary. */
  | {
      readonly type: "summary_asked";
      readonly sessionId: string;
      readonly process: string;
      readonly runId: string;
    }
  /** What the model means to say in an attempt, part by part, whatever comes of the stream. */
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
  /** An observer of a process is told of an event. */
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
      /** The agent whose tool it is, in worlds that know. */
      readonly agent?: string;
      readonly attempt: number;
      readonly input: unknown;
      /** It looks at its signal. */
      readonly heeds?: true;
    }
  /** The function of a tool step is called. `step`: its name, with a count if the name came before. */
  | ({
      readonly type: "step_started";
      /** It may run once only. */
      readonly once?: true;
      /** It may begin after an abort. */
      readonly cleanup?: true;
      /** The process tries it again. */
      readonly again?: true;
    } & StepIdentity)
  /** A tool goes on with what its step gave or threw, or with the answer to its question. */
  | ({
      readonly type: "step_given";
      /** What the step gave. */
      readonly given: StepOutcome;
    } & StepIdentity)
  /** A guard has looked at the whole answer of an attempt. */
  | {
      readonly type: "guard_said";
      readonly sessionId: string;
      readonly process: string;
      readonly attempt: string;
      /** Whether the result counts. */
      readonly passes: boolean;
    }
  /** The signal of a call that looks at it was aborted: the run stops, its time is over, or its process gave up. */
  | {
      readonly type: "tool_signalled";
      readonly sessionId: string;
      readonly process: string;
      readonly callKey: string;
    }
  /** The world changed. */
  | {
      readonly type: "tool_acted";
      readonly sessionId: string;
      readonly callKey: string;
      /** The name of the tool. */
      readonly tool: string;
      readonly input: number;
    }
  /** What a tool gave, or what the world says became of its call. */
  | {
      readonly type: "tool_settled";
      readonly sessionId: string;
      readonly process: string;
      readonly callKey: string;
      readonly output: ToolOutput | null;
    }
  /** A program asked for something. */
  | {
      readonly type: "asked";
      readonly process: string;
      /** The number of the request. */
      readonly id: number;
      /** What was asked. */
      readonly what: string;
    }
  /** A program got what it had asked for. */
  | {
      readonly type: "got";
      readonly process: string;
      /** The number of the request. */
      readonly id: number;
      /** What came of it. */
      readonly outcome: string;
    };

/** What a tool is given: the value, or the code of the StepError. */
export type StepOutcome =
  | {
      /** The value. */
      readonly value: unknown;
    }
  | {
      /** The message of the error. */
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
  /** The number of the setting. */
  readonly setting: number;
};

/** `line`: its place among the facts, from 0. `at`: milliseconds since the beginning, whatever the wall clock said. */
export type Fact = Happening & {
  /** The line of the history. */
  readonly line: number;
  readonly at: number;
};

export type FactOf<Type extends Fact["type"]> = Extract<Fact, { readonly type: Type }>;

/** The function of a step is called. @param tries which try this is, from 1 */
export function createStepStarted(identity: StepIdentity, { once, cleanup }: StepOptions, tries: number): Happening {
  return {
    type: "step_started",
    ...identity,
    ...(once === true ? { once } : {}),
    ...(cleanup === true ? { cleanup } : {}),
    ...(tries > 1 ? { again: true } : {}),
  };
}

/** Whether a fact is of this session, or of no session: of a process, the clock or a person. */
export function concernsSession(fact: Fact, sessionId: string): boolean {
  return !("sessionId" in fact) || fact.sessionId === sessionId;
}
