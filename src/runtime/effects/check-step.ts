/**
 * What a tool may say of a step: its name and its options.
 */
import {
  aFunction,
  anObject,
  checkOptions,
  numberFrom,
  type OptionTable,
  timeLimit,
  trueOrFalse,
  wholeNumber,
} from "../../check-options.js";
import { PawlError } from "../../errors.js";
import type { StepOptions, ToolRetry } from "../../ports/tool.js";

const stepRules: OptionTable<StepOptions> = {
  once: trueOrFalse,
  retry: anObject,
  timeoutMs: timeLimit,
  cleanup: trueOrFalse,
};

const retryRules: OptionTable<ToolRetry> = {
  attempts: wholeNumber(1, "tries"),
  backoff: anObject,
  when: aFunction,
};

const backoffRules: OptionTable<NonNullable<ToolRetry["backoff"]>> = { baseMs: numberFrom(0), maxMs: numberFrom(0) };

const asInput = { code: "bad_input" } as const;

/** @throws PawlError `bad_input` */
export function checkStep(name: unknown, run: unknown, options: StepOptions): void {
  checkStepName(name);
  if (typeof run !== "function")
    throw new PawlError("bad_input", `The tool step "${name}" has no function: ctx.step(name, run).`);
  checkOptions("ctx.step()", stepRules, options, asInput);
  const { retry } = options;
  if (retry === undefined) return;
  checkOptions("ctx.step().retry", retryRules, retry, asInput);
  if (retry.backoff !== undefined) checkOptions("ctx.step().retry.backoff", backoffRules, retry.backoff, asInput);
}

/** @throws PawlError `bad_input` */
export function checkStepName(name: unknown): asserts name is string {
  if (typeof name === "string" && /^[^\p{C}\p{Zl}\p{Zp}#/]{1,200}$/u.test(name) && name.trim() !== "") return;
  const shown = typeof name === "string" ? JSON.stringify(name.slice(0, 60)) : String(typeof name);
  throw new PawlError(
    "bad_input",
    `A tool step cannot be named ${shown}. Use 1 to 200 printable characters without "#" and "/".`,
  );
}
