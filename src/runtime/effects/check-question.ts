/**
 * Checks the questions of tools, and whether an answer matches.
 */
import { anyValue, checkOptions, numberFrom, type OptionTable } from "../../check-options.js";
import type { Json } from "../../core/data/message.js";
import type { WaitKind } from "../../core/machine/state.js";
import type { QuestionAnswer } from "../../core/transcript/tool-steps.js";
import { PawlError } from "../../errors.js";
import type { Answered, Question } from "../../ports/tool.js";
import { type CompiledInput, compileAnswer } from "../tools/schema.js";
import { StepError } from "../tools/step-error.js";
import { checkStepName } from "./check-step.js";

/** A question in the form in which it is committed. */
export type PreparedQuestion = {
  readonly message: string;
  readonly schema?: Json;
  readonly url?: string;
  readonly expiresInMs?: number;
  /** When the question expires, in epoch milliseconds, instead of `expiresInMs`. */
  readonly expiresAt?: number;
  /** Set if no person is asked: the tool sleeps, or waits for a signal. */
  readonly for?: WaitKind;
  /** The key of the signal. */
  readonly key?: string;
};

export type ValidateAnswer = CompiledInput["validate"];

const questionRules: OptionTable<Question<unknown>> = {
  message: anyValue,
  name: anyValue,
  schema: anyValue,
  url: anyValue,
  expiresInMs: numberFrom(1),
};

const maxMessageCharacters = 10_000;
const maxUrlCharacters = 2_000;
const maxSchemaCharacters = 64 * 1024;

/** @throws PawlError `bad_input` */
export function prepareQuestion(given: Question<unknown>): {
  readonly question: PreparedQuestion;
  readonly parse: ValidateAnswer | undefined;
} {
  checkOptions("ctx.ask()", questionRules, given, { code: "bad_input" });
  const { message, name, schema, url, expiresInMs } = given;
  if (name !== undefined) checkStepName(name);
  if (typeof message !== "string" || message.trim() === "" || message.length > maxMessageCharacters)
    refuseQuestion(`message must be a string of 1 to ${maxMessageCharacters} characters`);
  if (url !== undefined && !(typeof url === "string" && url.length <= maxUrlCharacters && /^https?:\/\//i.test(url)))
    refuseQuestion(`url must be an http(s) URL of at most ${maxUrlCharacters} characters`);
  const compiled = schema === undefined ? undefined : compileAnswer(schema);
  if (compiled !== undefined && JSON.stringify(compiled.jsonSchema).length > maxSchemaCharacters)
    refuseQuestion(`schema takes more than ${maxSchemaCharacters} characters of JSON`);
  return {
    question: {
      message,
      ...(compiled === undefined ? {} : { schema: compiled.jsonSchema as Json }),
      ...(url === undefined ? {} : { url }),
      ...(expiresInMs === undefined ? {} : { expiresInMs }),
    },
    parse: compiled?.validate,
  };
}

function refuseQuestion(problem: string): never {
  throw new PawlError("bad_input", `The question cannot be asked: ${problem}.`);
}

/** Parses the answer with the tool's own schema. @throws StepError `step_failed` if it does not match */
export async function checkQuestionAnswer(
  step: string,
  answer: QuestionAnswer,
  parse: ValidateAnswer | undefined,
): Promise<Answered<unknown>> {
  if (answer.type !== "answered" || parse === undefined) return answer;
  const result = await parse(answer.value);
  if (result.ok) return { ...answer, value: result.value };
  const issues = result.issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  throw new StepError(
    "step_failed",
    step,
    `The answer to "${step}" does not match the tool's schema: ${issues.join("; ")}`,
  );
}
