/**
 * Checks the options of `ctx.sleep` and `ctx.waitFor`.
 */
import { anyValue, checkOptions, numberFrom, type OptionTable } from "../../check-options.js";
import type { Json } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import { findSignalKeyFault } from "../../ports/signal.js";
import type { SleepOptions, WaitForOptions } from "../../ports/tool.js";
import { parseTime, tenYearsMs } from "../lib/parse-time.js";
import { compileAnswer } from "../tools/schema.js";
import type { ValidateAnswer } from "./check-question.js";
import { checkStepName } from "./check-step.js";

const sleepRules: OptionTable<{ readonly ms?: unknown; readonly until?: unknown }> = { ms: anyValue, until: anyValue };

/** When a sleep ends, in epoch milliseconds. @throws PawlError `bad_input` */
export function parseSleep(name: string, options: SleepOptions, now: number): number {
  checkStepName(name);
  checkOptions<{ readonly ms?: unknown; readonly until?: unknown }>("ctx.sleep()", sleepRules, options, {
    code: "bad_input",
  });
  const { ms, until } = options;
  if ((ms === undefined) === (until === undefined)) refuse("ctx.sleep()", "give either `ms` or `until`");
  if (ms !== undefined) {
    if (typeof ms !== "number" || !(ms >= 0 && ms <= tenYearsMs))
      refuse("ctx.sleep()", "`ms` must be a number of milliseconds from 0 to ten years");
    return Math.ceil(now + ms);
  }
  const end = parseTime(until);
  if (end === undefined)
    refuse("ctx.sleep()", "`until` must be epoch milliseconds, a Date, or an ISO 8601 string with a UTC offset");
  if (end > now + tenYearsMs) refuse("ctx.sleep()", "`until` must be within ten years");
  return end;
}

const waitRules: OptionTable<WaitForOptions<unknown>> = {
  key: anyValue,
  schema: anyValue,
  timeoutMs: numberFrom(0, tenYearsMs),
};

/** @throws PawlError `bad_input` */
export function parseWait(
  name: string,
  options: WaitForOptions<unknown>,
): { readonly key: string; readonly schema: Json | undefined; readonly parse: ValidateAnswer | undefined } {
  checkStepName(name);
  checkOptions("ctx.waitFor()", waitRules, options, { code: "bad_input" });
  const { key, schema } = options;
  const fault = findSignalKeyFault(key);
  if (fault !== undefined) refuse("ctx.waitFor()", fault);
  const compiled = schema === undefined ? undefined : compileAnswer(schema);
  return { key, schema: compiled?.jsonSchema as Json | undefined, parse: compiled?.validate };
}

function refuse(where: string, problem: string): never {
  throw new PawlError("bad_input", `Invalid options of ${where}: ${problem}.`);
}
