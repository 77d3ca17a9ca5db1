/**
 * The questions of tools, and what a person sees of a call's tool steps.
 */
import { isJsonObject } from "../data/is-object.js";
import type { Json } from "../data/message.js";
import type { Call, OpenQuestion } from "../machine/state.js";
import type { CallRecord } from "../transcript/results.js";
import { listFinishedSteps, type QuestionRecord } from "../transcript/tool-steps.js";

export type ToolQuestion = {
  readonly why: "tool";
  readonly question: string;
  readonly questionId: string;
  readonly schema?: { readonly [key: string]: Json };
  readonly url?: string;
  readonly askedAt: number;
  readonly expiresAt?: number;
};

/** The open questions of a call's tool, in the order in which they were asked. */
export function listToolQuestions(open: readonly OpenQuestion[], { steps }: CallRecord): readonly ToolQuestion[] {
  return open.flatMap(({ step, for: wait }) => {
    if (wait !== undefined) return [];
    const asked = steps?.asked.findLast((one) => one.step === step);
    return asked === undefined ? [] : [toToolQuestion(asked)];
  });
}

export function toToolQuestion({ step, message, schema, url, askedAt, expiresAt }: QuestionRecord): ToolQuestion {
  return {
    why: "tool",
    question: message,
    questionId: step,
    ...(isJsonObject(schema) ? { schema } : {}),
    ...(url === undefined ? {} : { url }),
    askedAt,
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}

/** The question for the person. A recovery question says how far the tool came. */
export function formatQuestion(call: Call, record: CallRecord): string | undefined {
  const { question } = record;
  const isRecovery = call.status === "asking" && call.why === "recovery";
  const finished = isRecovery ? listFinishedSteps(record) : undefined;
  if (finished === undefined) return question;
  const text = question ?? "It had started, and its outcome is unknown.";
  return `${text} Finished tool steps, which do not run again: ${finished}.`;
}
