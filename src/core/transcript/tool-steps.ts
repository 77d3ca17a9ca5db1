/**
 * The tool steps of a call and the questions of its tool, from the log: what a tool that runs again is given.
 */
import type { Fault, Json } from "../data/message.js";
import type { Entry, EventOf } from "../machine/event.js";
import type { WaitKind } from "../machine/state.js";
import type { ValueBlob } from "../machine/tool-step-events.js";

/** A tool step that is over, or a question that is answered. */
export type StepRecord = {
  /** The name of the step, with a count if the name came before. */
  readonly step: string;
} & (
  | {
      /** The step gave a value. */
      readonly outcome: "ok";
      /** The value; absent if a blob has it. */
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
      /** The step was a question, and it is over. */
      readonly outcome: "answered";
      /** What became of the question. */
      readonly answer: QuestionAnswer;
    }
);

/** What became of a question. */
export type QuestionAnswer =
  /** A person answered. */
  | {
      readonly type: "answered";
      /** What the person answered. */
      readonly value: Json;
      readonly by?: string;
    }
  /** A person does not want to answer. */
  | { readonly type: "declined"; readonly note?: string }
  /** Nobody answered in time. */
  | { readonly type: "expired" };

/** A question as it was asked, or a sleep or wait as it began. */
export type QuestionRecord = {
  readonly step: string;
  /** What the person is asked. */
  readonly message: string;
  /** The JSON Schema that the answer must fit. */
  readonly schema?: Json;
  /** A page where the question is settled. */
  readonly url?: string;
  /** Epoch milliseconds. */
  readonly askedAt: number;
  readonly expiresAt?: number;
  /** Its process waits for the answer: a tool that runs again is not given it. */
  readonly held?: true;
  /** No person is asked: the tool sleeps, or waits for a signal. */
  readonly for?: WaitKind;
  /** The key of the signal. */
  readonly key?: string;
};

/** What the log says of a call's tool steps. The lists grow: a call may have a thousand steps. */
export type CallSteps = {
  /** In the order of the log, which is the order in which a tool that runs again is given them. */
  readonly done: StepRecord[];
  /** Steps that may run once only, and have begun. */
  readonly started: string[];
  /** The questions, answered or not. */
  readonly asked: QuestionRecord[];
};

/** A call of the present step. */
type WithSteps = { steps?: CallSteps };

type StepEntry = Entry & {
  readonly event: EventOf<"tool_step_started" | "tool_step_finished" | "tool_asked" | "answered" | "timer_fired">;
};

/** Mutates the record of a call: adds what an entry says of its tool steps. */
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
 * The call is tried again: steps that failed run again, the others are kept. A step in doubt is kept, too: it may have
 * taken effect, and it may run once only.
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

/** What the tool is told of an answer, or of the end of its question. */
export function toQuestionAnswer(event: EventOf<"answered" | "timer_fired">): QuestionAnswer {
  if (event.type === "timer_fired") return { type: "expired" };
  const { answer, by } = event;
  if (answer.type === "reply") return { type: "answered", value: answer.value, ...(by === undefined ? {} : { by }) };
  const note = "note" in answer ? answer.note : undefined;
  return { type: "declined", ...(note === undefined ? {} : { note }) };
}

/** The names of the steps of a call that ended well, for a person or a model that wonders how far it came. */
export function listFinishedSteps({ steps }: WithSteps): string | undefined {
  const names = (steps?.done ?? []).flatMap(({ step, outcome }) => (outcome === "error" ? [] : [step]));
  if (names.length === 0) return undefined;
  const shown = names.slice(0, maxNames).join(", ");
  return names.length > maxNames ? `${shown} and ${names.length - maxNames} more` : shown;
}

const maxNames = 20;
