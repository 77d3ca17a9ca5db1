/**
 * The log's tool steps of a call and the questions of its tool, which a tool that runs again receives.
 */
import type { Fault, Json } from "../data/message.js";
import type { Entry, EventOf } from "../machine/event.js";
import type { WaitKind } from "../machine/state.js";
import type { ValueBlob } from "../machine/tool-step-events.js";

/** A finished tool step, or an answered question. */
export type StepRecord = {
  /** The name of the step, with a count if the name is repeated. */
  readonly step: string;
} & (
  | {
      /** The step returned a value. */
      readonly outcome: "ok";
      /** The value; absent if it is in a blob. */
      readonly value?: Json;
      /** The blob with the value, if it is large. */
      readonly valueBlob?: ValueBlob;
    }
  | {
      /** The step failed. */
      readonly outcome: "error";
      readonly fault: Fault;
    }
  | {
      /** The step was a question, which is settled. */
      readonly outcome: "answered";
      /** The outcome of the question. */
      readonly answer: QuestionAnswer;
    }
);

/** The outcome of a question. */
export type QuestionAnswer =
  /** A person answered. */
  | {
      readonly type: "answered";
      /** The person's answer. */
      readonly value: Json;
      readonly by?: string;
    }
  /** A person declined to answer. */
  | { readonly type: "declined"; readonly note?: string }
  /** No answer came in time. */
  | { readonly type: "expired" };

/** A question, sleep or wait as it began. */
export type QuestionRecord = {
  readonly step: string;
  /** The question for the person. */
  readonly message: string;
  /** The JSON Schema that the answer must fit. */
  readonly schema?: Json;
  /** A page where the question is settled. */
  readonly url?: string;
  /** Epoch milliseconds. */
  readonly askedAt: number;
  readonly expiresAt?: number;
  /** Set if its process waits for the answer. A tool that runs again does not receive this answer. */
  readonly held?: true;
  /** Set if no person is asked: the tool sleeps, or waits for a signal. */
  readonly for?: WaitKind;
  /** The key of the signal. */
  readonly key?: string;
};

/** The log's records of a call's tool steps. The lists are mutable, because a call may have a thousand steps. */
export type CallSteps = {
  /** In log order, which is also the order in which a tool that runs again receives them. */
  readonly done: StepRecord[];
  /** Steps that may run only once and have begun. */
  readonly started: string[];
  /** The questions, answered or not. */
  readonly asked: QuestionRecord[];
};

/** A call of the current step. */
type WithSteps = { steps?: CallSteps };

type StepEntry = Entry & {
  readonly event: EventOf<"tool_step_started" | "tool_step_finished" | "tool_asked" | "answered" | "timer_fired">;
};

/** Adds what an entry says about tool steps to the record of a call. Mutates the record. */
export function recordToolStep(call: WithSteps, { event }: Pick<StepEntry, "event">): void {
  call.steps ??= { done: [], started: [], asked: [] };
  const { done, started, asked } = call.steps;
  switch (event.type) {
    case "tool_step_started":
      started.push(event.step);
      break;
    case "tool_step_finished":
      done.push(toStepRecord(event));
      break;
    case "tool_asked":
      asked.push(toQuestionRecord(event));
      break;
    case "answered":
    case "timer_fired": {
      const { questionId: step = "" } = event;
      if (asked.findLast((record) => record.step === step)?.held !== true)
        done.push({ step, outcome: "answered", answer: toQuestionAnswer(event) });
      break;
    }
  }
}

/**
 * Prepares a retry of the call: steps that failed run again, other steps are kept. A step in doubt is also kept, because it may have taken
 * effect and may run only once.
 */
export function forgetFailedSteps({ steps }: WithSteps): void {
  if (steps === undefined) return;
  const failed = new Set(steps.done.flatMap((record) => (hasFailed(record) ? [record.step] : [])));
  if (failed.size === 0) return;
  filterInPlace(steps.done, ({ step }) => !failed.has(step));
  filterInPlace(steps.started, (step) => !failed.has(step));
}

function hasFailed(record: StepRecord): boolean {
  return record.outcome === "error" && record.fault.code !== "step_in_doubt";
}

function filterInPlace<Item>(list: Item[], shouldKeep: (item: Item) => boolean): void {
  list.splice(0, list.length, ...list.filter(shouldKeep));
}

function toStepRecord({ step, outcome, value, valueBlob, fault }: EventOf<"tool_step_finished">): StepRecord {
  if (outcome === "error")
    return { step, outcome, fault: fault ?? { code: "step_failed", message: "", retryable: false } };
  return {
    step,
    outcome,
    ...(value === undefined ? {} : { value }),
    ...(valueBlob === undefined ? {} : { valueBlob }),
  };
}

function toQuestionRecord(event: EventOf<"tool_asked">): QuestionRecord {
  const { step, message, schema, url, expiresAt, held, at, for: wait, key } = event;
  return {
    step,
    message,
    ...(schema === undefined ? {} : { schema }),
    ...(url === undefined ? {} : { url }),
    askedAt: at,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(held === true ? { held } : {}),
    ...(wait === undefined ? {} : { for: wait }),
    ...(key === undefined ? {} : { key }),
  };
}

/** The tool's view of an answer, or of the end of its question. */
export function toQuestionAnswer(event: EventOf<"answered" | "timer_fired">): QuestionAnswer {
  if (event.type === "timer_fired") return { type: "expired" };
  const { answer, by } = event;
  if (answer.type === "reply") return { type: "answered", value: answer.value, ...(by === undefined ? {} : { by }) };
  const note = "note" in answer ? answer.note : undefined;
  return { type: "declined", ...(note === undefined ? {} : { note }) };
}

/** The names of a call's successful steps, to show a person or a model how far the call came. */
export function listFinishedSteps({ steps }: WithSteps): string | undefined {
  const names = (steps?.done ?? []).flatMap(({ step, outcome }) => (outcome === "error" ? [] : [step]));
  if (names.length === 0) return undefined;
  const shown = names.slice(0, maxNames).join(", ");
  return names.length > maxNames ? `${shown} and ${names.length - maxNames} more` : shown;
}

const maxNames = 20;
