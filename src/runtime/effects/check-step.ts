/**
 * Checks the name and the options of a tool step.
 */
import { aBoolean, anObject, checkOptions, type OptionTable, timeLimit } from "../../check-options.js";
import { checkRetry } from "../../check-tool.js";
import { PawlError } from "../../errors.js";
import type { StepOptions } from "../../ports/tool.js";

const stepRules: OptionTable<StepOptions> = {
  once: aBoolean,
  retry: anObject,
  timeoutMs: timeLimit,
  cleanup: aBoolean,
};

const asInput = { code: "bad_input" } as const;

/** @throws PawlError `bad_input` */
export function checkStep(name: unknown, run: unknown, options: StepOptions): void {
  checkStepName(name);
  if (typeof run !== "function")
    throw new PawlError("bad_input", `The tool step "${name}" has no function: ctx.step(name, run).`);
  checkOptions("ctx.step()", stepRules, options, asInput);
  if (options.retry !== undefined) checkRetry("ctx.step().retry", options.retry, "bad_input");
}

/** @throws PawlError `bad_input` */
export function checkStepName(name: unknown): asserts name is string {
  if (typeof name === "string" && /^[^\p{C}\p{Zl}\p{Zp}#/]{1,200}$/u.test(name) && name.trim() !== "") return;
  const what =
    typeof name === "string"
      ? `A tool step cannot be named ${JSON.stringify(name.slice(0, 60))}`
      : `A tool step, sleep or wait has a name as its first argument, not a value of type ${typeof name}`;
  throw new PawlError("bad_input", `${what}. Use 1 to 200 printable characters without "#" and "/".`);
}
